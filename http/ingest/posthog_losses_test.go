package ingest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// told is the result of sent events: the items that were made of them, and the counts of the losses.
type told struct {
	items  []string
	losses map[string]int64
}

// captureAll sends events in one request.
func captureAll(t *testing.T, events ...string) told {
	t.Helper()
	log := &logOf{}
	sub, err := capture(capturing(log), "/batch/", "application/json", `{"api_key":"`+posthogKey+`","batch":[`+strings.Join(events, ",")+`]}`)
	if err != nil {
		t.Fatal(err)
	}
	got := told{losses: map[string]int64{}}
	for _, event := range log.events {
		got.items = append(got.items, strings.TrimSpace(fmt.Sprintf("%s %s/%s %s", event.Name, event.DistinctId, event.AnonymousId, event.Properties)))
	}
	for _, o := range log.errors {
		got.items = append(got.items, fmt.Sprintf("error %s %s/%s", o.Name, o.DistinctId, o.AnonymousId))
	}
	slices.Sort(got.items)
	for _, rejection := range sub.rejected {
		got.losses[fmt.Sprintf("%s dropped %s", rejection.Signal, rejection.Code)]++
	}
	for _, count := range sub.counts {
		got.losses[fmt.Sprintf("%s %s %s", count.Signal, count.Fate, count.Code)] += count.Items
	}
	return got
}

// TestPostHogLosses sends events that are not stored, or not stored as a whole. Each loss is counted by its reason.
func TestPostHogLosses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		event  string
		items  []string
		losses map[string]int64
	}{
		"a placeholder": {`{"event":"buy","distinct_id":"undefined"}`, nil, map[string]int64{"events dropped placeholder_id": 1}},
		"a number":      {`{"event":"buy","distinct_id":0}`, nil, map[string]int64{"events dropped placeholder_id": 1}},
		"a placeholder with a device": {
			`{"event":"buy","distinct_id":"null","properties":{"$device_id":"dev-1"}}`, []string{"buy /dev-1 {}"}, map[string]int64{"events stripped placeholder_id": 1},
		},
		"identify a placeholder": {
			`{"event":"$identify","distinct_id":"[object Object]","properties":{"$anon_distinct_id":"dev-1","$device_id":"dev-1"}}`, nil, map[string]int64{"events dropped placeholder_id": 1},
		},
		"identify from a placeholder": {
			`{"event":"$identify","distinct_id":"ada","properties":{"$anon_distinct_id":"undefined"}}`, []string{"$identify ada/ {}"}, map[string]int64{"events stripped placeholder_id": 1},
		},
		"alias of a placeholder": {`{"event":"$create_alias","distinct_id":"ada","properties":{"alias":"guest"}}`, nil, map[string]int64{"events dropped placeholder_id": 1}},
		"alias to a placeholder": {`{"event":"$create_alias","distinct_id":"None","properties":{"alias":"ada"}}`, nil, map[string]int64{"events dropped placeholder_id": 1}},
		"a company that is none": {
			`{"event":"$groupidentify","distinct_id":"ada","properties":{"$group_type":"company","$group_key":"null"}}`, nil, map[string]int64{"events dropped placeholder_id": 1},
		},
		"an error of nobody": {
			`{"event":"$exception","distinct_id":"anonymous","properties":{"$exception_list":[{"type":"A","value":"x"},{"type":"B","value":"y"}]}}`,
			[]string{"error A /"},
			map[string]int64{"errors stripped placeholder_id": 1},
		},
		"without cookies":                 {`{"event":"buy","distinct_id":"$posthog_cookieless","properties":{"$device_id":"$posthog_cookieless"}}`, nil, map[string]int64{"events dropped cookieless": 1}},
		"without cookies but a visitor":   {`{"event":"buy","distinct_id":"$posthog_cookieless","properties":{"$device_id":"cv-1"}}`, []string{"buy /cv-1 {}"}, map[string]int64{"events stripped cookieless": 1}},
		"the group of a server's SDK":     {`{"event":"$groupidentify","distinct_id":"$company_acme","properties":{"$group_type":"company","$group_key":"acme"}}`, nil, map[string]int64{"events dropped group_without_person": 1}},
		"a group that is no company":      {`{"event":"$groupidentify","distinct_id":"ada","properties":{"$group_type":"team","$group_key":"blue"}}`, nil, map[string]int64{"events dropped unsupported_group": 1}},
		"groups of an event":              {`{"event":"buy","distinct_id":"ada","properties":{"$groups":{"company":"acme"}}}`, []string{"buy ada/ {}"}, map[string]int64{"events stripped unsupported_group": 1}},
		"a time":                          {`{"event":"buy","distinct_id":"ada","timestamp":"yesterday"}`, []string{"buy ada/"}, map[string]int64{"events stripped unreadable_time": 1}},
		"a time that is an object":        {`{"event":"buy","distinct_id":"ada","timestamp":{}}`, []string{"buy ada/"}, map[string]int64{"events stripped unreadable_time": 1}},
		"traits of somebody unknown":      {`{"event":"buy","distinct_id":"dev-1","properties":{"$is_identified":false,"$set":{"plan":"pro"}}}`, []string{"buy /dev-1 {}"}, map[string]int64{"events stripped traits_of_anonymous": 1}},
		"vitals without a measure":        {`{"event":"$web_vitals","distinct_id":"ada","properties":{"$web_vitals_INP_value":null}}`, nil, map[string]int64{"metricPoints dropped unsupported_event": 1}},
		"a recording":                     {`{"event":"$snapshot","distinct_id":"ada"}`, nil, map[string]int64{"events dropped unsupported_event": 1}},
		"nobody":                          {`{"event":"buy"}`, nil, map[string]int64{"events dropped missing_value": 1}},
		"a name that is no text":          {`{"event":7,"distinct_id":"ada"}`, nil, map[string]int64{"events dropped missing_value": 1}},
		"an id of another type":           {`{"event":"buy","distinct_id":["ada"]}`, nil, map[string]int64{"events dropped missing_value": 1}},
		"a company among people's traits": {`{"event":"$set","distinct_id":"ada","properties":{"$set":{"company":"undefined"}}}`, nil, map[string]int64{"events dropped placeholder_id": 1}},
		"nothing lost":                    {`{"event":"buy","distinct_id":"ada"}`, []string{"buy ada/"}, map[string]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := range test.items {
				test.items[n] = strings.TrimSuffix(test.items[n], " {}")
			}
			got := captureAll(t, test.event)
			for n := range got.items {
				got.items[n] = strings.TrimSuffix(got.items[n], " {}")
			}
			if !slices.Equal(got.items, test.items) || !maps.Equal(got.losses, test.losses) {
				t.Errorf("made %q and lost %v, want %q and %v", got.items, got.losses, test.items, test.losses)
			}
		})
	}
}

// TestPostHogTraits sends traits of one person several times in a request.
func TestPostHogTraits(t *testing.T) {
	t.Parallel()
	sign := func(traits, more string) string {
		return `{"event":"$set","distinct_id":"so-1","properties":{` + traits + `}` + more + `}`
	}
	const at = `,"timestamp":"2026-11-20T09:00:00Z"`
	for name, test := range map[string]struct{ events, want []string }{
		"no times":          {[]string{sign(`"$set_once":{"initial_plan":"free"}`, ""), sign(`"$set_once":{"initial_plan":"pro"}`, "")}, []string{"{}", `{"$set_once":{"initial_plan":"free"}}`}},
		"the other order":   {[]string{sign(`"$set_once":{"initial_plan":"pro"}`, ""), sign(`"$set_once":{"initial_plan":"free"}`, "")}, []string{"{}", `{"$set_once":{"initial_plan":"pro"}}`}},
		"one time":          {[]string{sign(`"$set_once":{"a":2}`, at), sign(`"$set_once":{"a":1,"b":1}`, at)}, []string{`{"$set_once":{"a":2}}`, `{"$set_once":{"b":1}}`}},
		"set twice":         {[]string{sign(`"$set":{"plan":"pro"}`, at), sign(`"$set":{"plan":"free"}`, at)}, []string{`{"plan":"free"}`, "{}"}},
		"both":              {[]string{sign(`"$set_once":{"plan":"free","$initial_x":1},"$set":{"plan":"pro"}`, "")}, []string{`{"$set_once":{"plan":"free"},"plan":"pro"}`}},
		"taken away":        {[]string{sign(`"$set":{"plan":"pro"},"$unset":["plan","tier"]`, "")}, []string{`{"plan":null,"tier":null}`}},
		"beside the event":  {[]string{`{"event":"$set","distinct_id":"so-1","$set":{"plan":"pro"},"$set_once":{"first":1}}`}, []string{`{"$set_once":{"first":1},"plan":"pro"}`}},
		"of another person": {[]string{sign(`"$set_once":{"a":1}`, ""), `{"event":"$set","distinct_id":"so-2","properties":{"$set_once":{"a":2}}}`}, []string{`{"$set_once":{"a":1}}`, `{"$set_once":{"a":2}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, one := range captureAll(t, test.events...).items {
				_, traits, _ := strings.Cut(strings.TrimPrefix(one, "$identify so-1/ "), "so-2/ ")
				if traits == "" {
					traits = strings.TrimPrefix(one, "$identify so-1/ ")
				}
				got = append(got, traits)
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("traits are %q, want %q", got, test.want)
			}
		})
	}
}

// TestPostHogForms sends forms. Spaces in JSON stay spaces. A space in base64 that was a plus is read as a plus.
func TestPostHogForms(t *testing.T) {
	t.Parallel()
	const text = `{"api_key":"` + posthogKey + `","event":"one order + more","distinct_id":"ada lovelace"}`
	for name, body := range map[string]string{
		"escaped by %20": "data=" + url.PathEscape(text), "escaped by +": url.Values{"data": {text}}.Encode(), "after another member": "compression=&" + url.Values{"data": {text}}.Encode(),
	} {
		log := &logOf{}
		if _, err := capture(capturing(log), "/e/", "application/x-www-form-urlencoded", strings.ReplaceAll(body, "one%20order%20+", "one%20order%20%2B")); err != nil || len(log.events) != 1 {
			t.Errorf("%s: %v, %d events", name, err, len(log.events))
		} else if event := log.events[0]; event.Name != "one order + more" || event.DistinctId != "ada lovelace" {
			t.Errorf("%s: %v", name, event)
		}
	}
}

// TestPostHogFingerprint groups exceptions by the customer's fingerprint.
func TestPostHogFingerprint(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		one, other string
		same       bool
	}{
		"a text":         {`"pay-down"`, `"pay-down"`, true},
		"a list":         {`["pay","down"]`, `["pay","down"]`, true},
		"another text":   {`"pay-down"`, `"pay-up"`, false},
		"none":           {`""`, `null`, false},
		"another type":   {`{}`, `7`, false},
		"a list of none": {`[]`, `[null]`, false},
	} {
		log := &logOf{}
		body := `{"api_key":"` + posthogKey + `","batch":[
			{"event":"$exception","distinct_id":"ex-1","properties":{"$exception_fingerprint":` + test.one + `,"$exception_list":[{"type":"A","value":"one"}]}},
			{"event":"$exception","distinct_id":"ex-1","properties":{"$exception_fingerprint":` + test.other + `,"$exception_list":[{"type":"B","value":"two"}]}}]}`
		if _, err := capture(capturing(log), "/batch/", "application/json", body); err != nil || len(log.errors) != 2 {
			t.Fatalf("%s: %v, %d errors", name, err, len(log.errors))
		}
		if same := log.errors[0].Issue == log.errors[1].Issue; same != test.same {
			t.Errorf("%s: one issue: %v", name, same)
		}
	}
}
