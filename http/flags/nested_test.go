package flags

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain/flag"
)

// TestEveryProtocolReadsVersionsAndNestedMembers sends requests by each protocol, often enough that answers are cached.
func TestEveryProtocolReadsVersionsAndNestedMembers(t *testing.T) {
	rule := func(field string, op flag.Op, value any) flag.Spec {
		return flag.Spec{
			Name: "F", Kind: flag.Boolean, Environments: map[string]flag.Switch{"production": {Enabled: true, RolloutPercent: new(float64)}},
			Rules: []flag.Rule{{ID: "r", Conditions: []flag.Condition{{Field: field, Op: op, Value: value}}, RolloutPercent: ptr(100.0)}},
		}
	}
	definitions := &defined{}
	definitions.define(t, map[string]flag.Spec{
		"plan": rule("property.user.plan", "eq", "pro"), "new": rule("property.version", "semver_gte", "2.0.0"), "app": rule("trait.user.app", "semver_lt", "2.10.0"),
	})
	handler := serving(t, definitions)
	for protocol, request := range map[string]struct{ path, before, after, on string }{
		"native":        {"/api/v1/flags/evaluate", `{"distinctId":"u","keys":["KEY"],"context":{`, `}}`, `"enabled":true`},
		"OFREP":         {"/ofrep/v1/evaluate/flags/KEY", `{"context":{"targetingKey":"u",`, `}}`, `"value":true`},
		"OFREP in bulk": {"/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u",`, `}}`, `"key":"KEY","value":true`},
		"PostHog":       {"/flags/?v=2", `{"token":"public","distinct_id":"u","flag_keys_to_evaluate":["KEY"],"person_properties":{`, `}}`, `"enabled":true`},
		"PostHog 3":     {"/decide/?v=3", `{"token":"public","distinct_id":"u","flag_keys_to_evaluate":["KEY"],"person_properties":{`, `}}`, `"KEY":true`},
	} {
		for context, want := range map[string]map[string]bool{
			`"user":{"plan":"pro","app":"2.9"},"version":"10.0.0"`:  {"plan": true, "app": true, "new": true},
			`"version":"2.0.0-rc.1","user":{"app":"v2.10.0"}`:       {"plan": false, "app": false, "new": false},
			`"user.plan":"free","user":{"plan":"pro"},"version":2`:  {"plan": false, "app": false, "new": true},
			`"version":"latest","user":{"plan":"pro","app":"next"}`: {"plan": true, "app": false, "new": false},
		} {
			got := map[string]bool{}
			for key := range want {
				for range 3 {
					r := httptest.NewRequest(http.MethodPost, strings.ReplaceAll(request.path, "KEY", key), strings.NewReader(strings.ReplaceAll(request.before, "KEY", key)+context+request.after))
					r.Header.Set("Authorization", "Bearer public")
					answer := httptest.NewRecorder()
					handler.ServeHTTP(answer, r)
					if answer.Code != http.StatusOK {
						t.Fatalf("%s: %d %s", protocol, answer.Code, answer.Body)
					}
					got[key] = strings.Contains(strings.ReplaceAll(answer.Body.String(), `"reason":"TARGETING_MATCH",`, ""), strings.ReplaceAll(request.on, "KEY", key))
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s: %v, want %v", protocol, context, got, want)
			}
		}
	}
}

// exposing records the outcomes that count as exposures.
type exposing struct {
	recorded

	noted []string
}

func (e *exposing) Expose(_, _ uint64, outcomes []*flag.Outcome, _ time.Time) bool {
	for _, outcome := range outcomes {
		if outcome.Exposed() {
			e.noted = append(e.noted, outcome.Flag().Key+" "+outcome.Variant())
		}
	}
	return true
}

// TestNobodyIsExposedBeforeThePersonIsKnown evaluates an experiment on a stored trait, other flags with the experiment
// as a prerequisite, and a flag with a later rule that needs nothing stored.
func TestNobodyIsExposedBeforeThePersonIsKnown(t *testing.T) {
	experiment := func(needs ...flag.Prerequisite) flag.Spec {
		return flag.Spec{
			Name: "F", Kind: flag.Boolean, Environments: map[string]flag.Switch{"production": {Enabled: true, RolloutPercent: new(float64)}}, Prerequisites: needs,
			Rules: []flag.Rule{{ID: "r", Conditions: []flag.Condition{{Field: "trait.plan", Op: "eq", Value: "pro"}}, RolloutPercent: ptr(100.0)}},
		}
	}
	on := experiment(flag.Prerequisite{Flag: "experiment", Variant: "on"})
	off := flag.Spec{
		Name: "F", Kind: flag.Boolean, Environments: map[string]flag.Switch{"production": {Enabled: true}},
		Prerequisites: []flag.Prerequisite{{Flag: "experiment", Variant: "off"}},
	}
	later := experiment()
	later.Rules[0].Variant = "off"
	later.Rules = append(later.Rules, flag.Rule{ID: "later", Conditions: []flag.Condition{{Field: "distinctId", Op: "eq", Value: "u"}}, RolloutPercent: ptr(100.0)})
	definitions, known, exposures := &defined{}, &knownAs{}, &exposing{}
	definitions.define(t, map[string]flag.Spec{"experiment": experiment(), "needs-on": on, "needs-off": off, "two-rules": later})
	a := &asking{handler: servingWith(t, definitions, known, exposures, time.Now)}
	for step, c := range []struct {
		plan string
		want []string
	}{
		{"", nil},
		{"pro", []string{"experiment on", "needs-on on", "two-rules off"}},
		{"free", []string{"experiment off", "needs-off on", "two-rules on"}},
	} {
		exposures.noted, known.person = nil, nil
		if c.plan != "" {
			known.person = &flag.Person{Values: map[string]flag.Value{"trait.plan": flag.TextFlagValue(c.plan)}}
		}
		if status := a.ask(`{"distinctId":"u"}`); status != http.StatusOK || !reflect.DeepEqual(exposures.noted, c.want) {
			t.Errorf("step %d: status %d, exposed %q, want %q", step, status, exposures.noted, c.want)
		}
	}
}

func ptr(number float64) *float64 { return &number }
