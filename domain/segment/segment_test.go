package segment_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"svc/domain/segment"
)

// TestASegmentDefinitionNamesItsProblems reads definitions with one problem each.
func TestASegmentDefinitionNamesItsProblems(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"all":[`, segment.MaxSegmentDepth+1) + `{"field":"tag","op":"exists"}` + strings.Repeat(`]}`, segment.MaxSegmentDepth+1)
	many := `{"all":[` + strings.Repeat(`{"field":"tag","op":"exists"},`, segment.MaxSegmentConditions) + `{"field":"tag","op":"exists"}]}`
	for definition, field := range map[string]string{
		`7`:                                      "definition",
		`null`:                                   "definition",
		`{}`:                                     "definition",
		`{"all":[]}`:                             "definition",
		`{"all":{}}`:                             "definition.all",
		`{"none":[],"any":[{"field":"tag"}]}`:    "definition.none",
		`{"any":["x"]}`:                          "definition.any[0]",
		`{"any":[{}]}`:                           "definition.any[0].field",
		`{"any":[{"field":"shoe","op":"eq"}]}`:   "definition.any[0].field",
		`{"any":[{"field":"trait.","op":"eq"}]}`: "definition.any[0].field",
		`{"all":[{"field":"tag","op":"gt"}]}`:    "definition.all[0].op",
		`{"all":[{"field":"tag","op":"eq"}]}`:    "definition.all[0].value",
		`{"all":[{"field":"tag","op":"eq","value":"a","valeu":1}]}`:                              "definition.all[0].valeu",
		`{"all":[{"field":"tag","op":"eq","value":"a","event":{}}]}`:                             "definition.all[0].event",
		`{"all":[{"field":"stage","op":"eq","value":"king"}]}`:                                   "definition.all[0].value",
		`{"all":[{"field":"revenue.status","op":"in","value":["none","rich"]}]}`:                 "definition.all[0].value",
		`{"all":[{"field":"sessions","op":"gt","value":"many"}]}`:                                "definition.all[0].value",
		`{"all":[{"field":"last_seen_at","op":"gt","value":"noon"}]}`:                            "definition.all[0].value",
		`{"all":[{"field":"last_seen_at","op":"within_days","value":0}]}`:                        "definition.all[0].value",
		`{"all":[{"field":"trait.plan","op":"in","value":[]}]}`:                                  "definition.all[0].value",
		`{"all":[{"field":"trait.plan","op":"exists","value":"yes"}]}`:                           "definition.all[0].value",
		`{"all":[{"field":"tag","op":"semver_gt","value":"1.0.0"}]}`:                             "definition.all[0].op",
		`{"all":[{"field":"trait.app","op":"gte","value":"2.0.0"}]}`:                             "definition.all[0].value",
		`{"all":[{"field":"trait.app","op":"semver_gte","value":"latest"}]}`:                     "definition.all[0].value",
		`{"all":[{"field":"trait.app","op":"semver_gte","value":2.1}]}`:                          "definition.all[0].value",
		`{"all":[{"field":"property.app","op":"semver_neq"}]}`:                                   "definition.all[0].value",
		`{"all":[{"field":"property.app","op":"semver_eq","value":["1.0.0"]}]}`:                  "definition.all[0].value",
		`{"all":[{"field":"did_event","op":"gte","value":1}]}`:                                   "definition.all[0].event",
		`{"all":[{"field":"did_event","op":"gte","value":1,"event":{"name":""}}]}`:               "definition.all[0].event.name",
		`{"all":[{"field":"did_event","op":"exists","event":{"name":"x","count":0}}]}`:           "definition.all[0].event.count",
		`{"all":[{"field":"did_event","op":"gte","value":4,"event":{"name":"x","count":3}}]}`:    "definition.all[0].value",
		`{"all":[{"field":"tag","op":"exists"},{"any":[{"field":"tag","op":"eq","value":{}}]}]}`: "definition.all[1].any[0].value",
		deep: "definition" + strings.Repeat(".all[0]", segment.MaxSegmentDepth),
		many: "definition",
	} {
		group, problems := segment.ParseSegmentDefinition(json.RawMessage(definition))
		if group != nil || len(problems) == 0 || problems[0].Field != field || problems[0].Code != "invalid_definition" {
			t.Errorf("%s: %+v, want a problem of %s", definition, problems, field)
		}
	}
}

// TestASegmentDefinitionIsKept parses a definition that was encoded.
func TestASegmentDefinitionIsKept(t *testing.T) {
	t.Parallel()
	const definition = `{"all":[{"field":"trait.plan","op":"in","value":["pro",3,true]},{"any":[{"field":"did_event","op":"within_days","value":7,"event":{"name":"order","count":2}},{"field":"tag","op":"exists"}]}]}`
	group, problems := segment.ParseSegmentDefinition(json.RawMessage(definition))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	written, err := json.Marshal(group)
	if err != nil || string(written) != definition {
		t.Errorf("%s, %v", written, err)
	}
	var read segment.Group
	if err := json.Unmarshal(written, &read); err != nil || !reflect.DeepEqual(&read, group) {
		t.Errorf("%+v, %v", read, err)
	}
}

// TestASegmentTellsNoneWhatIsMasked checks which definitions use data that is masked for callers without
// people.pii.read.
func TestASegmentTellsNoneWhatIsMasked(t *testing.T) {
	t.Parallel()
	for condition, personal := range map[string]bool{
		`{"field":"trait.email","op":"eq","value":"x"}`:               true,
		`{"field":"trait.Phone_Number","op":"gt","value":3}`:          true,
		`{"field":"trait.email","op":"exists"}`:                       false,
		`{"field":"trait.plan","op":"eq","value":"pro"}`:              false,
		`{"field":"trait.plan","op":"contains","value":"pr"}`:         true,
		`{"field":"trait.contact","op":"in","value":["a@b.example"]}`: true,
		`{"field":"tag","op":"eq","value":"a@b.example"}`:             true,
		`{"field":"country","op":"contains","value":"D"}`:             false,
	} {
		group, problems := segment.ParseSegmentDefinition(json.RawMessage(fmt.Sprintf(`{"any":[{"all":[%s]}]}`, condition)))
		if len(problems) > 0 || group.Personal() != personal {
			t.Errorf("%s: %v, %v", condition, group.Personal(), problems)
		}
	}
	segment := segment.Segment{Definition: &segment.Group{All: []segment.Node{{Condition: &segment.Condition{Field: "trait.email", Op: segment.In, Value: []any{"ada@acme.example"}}}}}}
	segment.Mask()
	if masked := fmt.Sprint(segment.Definition.All[0].Condition.Value); strings.Contains(masked, "acme") {
		t.Errorf("the definition shows %s", masked)
	}
}
