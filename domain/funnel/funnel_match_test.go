package funnel

import (
	"encoding/json"
	"testing"

	"svc/domain/event"
	"svc/domain/filter"
	"svc/domain/goal"
)

func TestStepFilterPasses(t *testing.T) {
	value := 2.5
	e := &event.Event{
		Name: "purchase", Path: "/pay", Value: &value, BrowserVersion: "10.5",
		Properties: json.RawMessage(`{"plan":"pro","n":5,"text":"5.0","yes":true,"none":null,"empty":"","list":["pro"],"a.b":"x"}`),
	}
	e.Country = "DE"
	for _, c := range []struct {
		filter filter.StepFilter
		want   bool
	}{
		{filter.StepFilter{Property: "country", Op: filter.OpEq, Value: "DE"}, true},
		{filter.StepFilter{Property: "country", Op: filter.OpEq, Value: "de"}, false},
		{filter.StepFilter{Property: "country", Op: filter.OpNeq, Value: "DE"}, false},
		{filter.StepFilter{Property: "city", Op: filter.OpNeq, Value: "Berlin"}, true},
		{filter.StepFilter{Property: "city", Op: filter.OpEq, Value: ""}, true},
		{filter.StepFilter{Property: "event", Op: filter.OpEq, Value: "purchase"}, true},
		{filter.StepFilter{Property: "name", Op: filter.OpContains, Value: "chas"}, true},
		{filter.StepFilter{Property: "name", Op: filter.OpContains, Value: "Chas"}, false},
		{filter.StepFilter{Property: "city", Op: filter.OpNotContains, Value: "x"}, true},
		{filter.StepFilter{Property: "country", Op: filter.OpIn, Value: []any{"FR", "DE"}}, true},
		{filter.StepFilter{Property: "country", Op: filter.OpIn, Value: []any{"FR", 5.0}}, false},
		{filter.StepFilter{Property: "value", Op: filter.OpEq, Value: 2.5}, true},
		{filter.StepFilter{Property: "value", Op: filter.OpEq, Value: "2.5"}, true},
		{filter.StepFilter{Property: "value", Op: filter.OpGte, Value: 2.5}, true},
		{filter.StepFilter{Property: "value", Op: filter.OpGt, Value: 2.5}, false},
		{filter.StepFilter{Property: "browser_version", Op: filter.OpGt, Value: 9.0}, true},
		{filter.StepFilter{Property: "country", Op: filter.OpLt, Value: 9.0}, false},
		{filter.StepFilter{Property: "property.plan", Op: filter.OpEq, Value: "pro"}, true},
		{filter.StepFilter{Property: "property.n", Op: filter.OpEq, Value: 5.0}, true},
		{filter.StepFilter{Property: "property.n", Op: filter.OpEq, Value: "5"}, true},
		{filter.StepFilter{Property: "property.text", Op: filter.OpEq, Value: 5.0}, true},
		{filter.StepFilter{Property: "property.text", Op: filter.OpEq, Value: "5"}, false},
		{filter.StepFilter{Property: "property.text", Op: filter.OpLte, Value: 5.0}, true},
		{filter.StepFilter{Property: "property.yes", Op: filter.OpEq, Value: true}, true},
		{filter.StepFilter{Property: "property.yes", Op: filter.OpNeq, Value: 1.0}, true},
		{filter.StepFilter{Property: "property.none", Op: filter.OpExists, Value: nil}, false},
		{filter.StepFilter{Property: "property.none", Op: filter.OpExists, Value: false}, true},
		{filter.StepFilter{Property: "property.empty", Op: filter.OpExists, Value: true}, false},
		{filter.StepFilter{Property: "property.missing", Op: filter.OpLt, Value: 1.0}, false},
		{filter.StepFilter{Property: "property.missing", Op: filter.OpNeq, Value: 1.0}, true},
		{filter.StepFilter{Property: "property.list", Op: filter.OpContains, Value: `"pro"`}, true},
		{filter.StepFilter{Property: "property.a.b", Op: filter.OpEq, Value: "x"}, true},
	} {
		if got := c.filter.Passes(e); got != c.want {
			t.Errorf("%+v passes: %t, want %t", c.filter, got, c.want)
		}
	}
	step := Step{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "purchase"}, Filters: []filter.StepFilter{{Property: "country", Op: filter.OpEq, Value: "DE"}, {Property: "value", Op: filter.OpExists, Value: nil}}}
	if !step.Takes(e) {
		t.Error("an event that passes all filters does not take the step")
	}
	step.Filters = append(step.Filters, filter.StepFilter{Property: "value", Op: filter.OpExists, Value: false})
	if step.Takes(e) {
		t.Error("an event that fails a filter takes the step")
	}
	if broken := (filter.StepFilter{Property: "property.plan", Op: filter.OpExists, Value: nil}); broken.Passes(&event.Event{Properties: json.RawMessage("[1]")}) {
		t.Error("properties that are no object have one")
	}
}
