package svc

import (
	"encoding/json"
	"testing"
)

func TestStepFilterPasses(t *testing.T) {
	value := 2.5
	e := &Event{
		Name: "purchase", Path: "/pay", Value: &value, BrowserVersion: "10.5",
		Properties: json.RawMessage(`{"plan":"pro","n":5,"text":"5.0","yes":true,"none":null,"empty":"","list":["pro"],"a.b":"x"}`),
	}
	e.Country = "DE"
	for _, c := range []struct {
		filter StepFilter
		want   bool
	}{
		{StepFilter{"country", OpEq, "DE"}, true},
		{StepFilter{"country", OpEq, "de"}, false},
		{StepFilter{"country", OpNeq, "DE"}, false},
		{StepFilter{"city", OpNeq, "Berlin"}, true},
		{StepFilter{"city", OpEq, ""}, true},
		{StepFilter{"event", OpEq, "purchase"}, true},
		{StepFilter{"name", OpContains, "chas"}, true},
		{StepFilter{"name", OpContains, "Chas"}, false},
		{StepFilter{"city", OpNotContains, "x"}, true},
		{StepFilter{"country", OpIn, []any{"FR", "DE"}}, true},
		{StepFilter{"country", OpIn, []any{"FR", 5.0}}, false},
		{StepFilter{"value", OpEq, 2.5}, true},
		{StepFilter{"value", OpEq, "2.5"}, true},
		{StepFilter{"value", OpGte, 2.5}, true},
		{StepFilter{"value", OpGt, 2.5}, false},
		{StepFilter{"browser_version", OpGt, 9.0}, true},
		{StepFilter{"country", OpLt, 9.0}, false},
		{StepFilter{"property.plan", OpEq, "pro"}, true},
		{StepFilter{"property.n", OpEq, 5.0}, true},
		{StepFilter{"property.n", OpEq, "5"}, true},
		{StepFilter{"property.text", OpEq, 5.0}, true},
		{StepFilter{"property.text", OpEq, "5"}, false},
		{StepFilter{"property.text", OpLte, 5.0}, true},
		{StepFilter{"property.yes", OpEq, true}, true},
		{StepFilter{"property.yes", OpNeq, 1.0}, true},
		{StepFilter{"property.none", OpExists, nil}, false},
		{StepFilter{"property.none", OpExists, false}, true},
		{StepFilter{"property.empty", OpExists, true}, false},
		{StepFilter{"property.missing", OpLt, 1.0}, false},
		{StepFilter{"property.missing", OpNeq, 1.0}, true},
		{StepFilter{"property.list", OpContains, `"pro"`}, true},
		{StepFilter{"property.a.b", OpEq, "x"}, true},
	} {
		if got := c.filter.Passes(e); got != c.want {
			t.Errorf("%+v passes: %t, want %t", c.filter, got, c.want)
		}
	}
	step := FunnelStep{Matcher: Matcher{MatchEvent, "purchase"}, Filters: []StepFilter{{"country", OpEq, "DE"}, {"value", OpExists, nil}}}
	if !step.Takes(e) {
		t.Error("an event that passes all filters does not take the step")
	}
	step.Filters = append(step.Filters, StepFilter{"value", OpExists, false})
	if step.Takes(e) {
		t.Error("an event that fails a filter takes the step")
	}
	if broken := (StepFilter{"property.plan", OpExists, nil}); broken.Passes(&Event{Properties: json.RawMessage("[1]")}) {
		t.Error("properties that are no object have one")
	}
}
