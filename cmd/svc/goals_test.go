package main

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"
)

// post creates an object and returns it.
func (s *server) post(path, body string) map[string]any {
	s.t.Helper()
	got := s.call("POST", path, s.boot.Token, []byte(body), nil)
	if got.status != 201 || got.header.Get("Location") == "" {
		s.t.Fatalf("POST %s: %d %s", path, got.status, got.body)
	}
	return object(s.t, got.body)
}

// counted is a row of goal or funnel results without its names.
func counted(rows []any, members ...string) (out [][]any) {
	for _, row := range rows {
		var values []any
		for _, member := range members {
			values = append(values, row.(map[string]any)[member])
		}
		out = append(out, values)
	}
	return out
}

// checkFunnelPeople reads the funnel by a property, and the people that dropped off at its steps.
func checkFunnelPeople(t *testing.T, s *server, funnel string) {
	t.Helper()
	values := s.get(appPath + "/funnels/" + funnel + "/results?range=24h&breakdown=path")["breakdown"].(map[string]any)["values"].([]any)
	var entered [][]any
	for _, value := range values {
		steps := value.(map[string]any)["steps"].([]any)
		entered = append(entered, append([]any{value.(map[string]any)["value"]}, counted(steps, "entered")[0][0], counted(steps, "entered")[2][0]))
	}
	if want := [][]any{{"/pricing", 3.0, 0.0}, {"/pricing/pro", 1.0, 1.0}}; !reflect.DeepEqual(entered, want) {
		t.Errorf("by path: %v, want %v", entered, want)
	}
	for step, want := range map[int]string{1: "[cyd dan]", 2: "[bob]"} {
		var names []string
		for _, row := range s.get(fmt.Sprintf("%s/people?funnel=%s&step=%d&range=24h", appPath, funnel, step))["data"].([]any) {
			names = append(names, row.(map[string]any)["distinctId"].(string))
		}
		if slices.Sort(names); fmt.Sprint(names) != want {
			t.Errorf("at step %d dropped off %v, want %s", step, names, want)
		}
	}
}

// TestGoalsAndFunnelsCountWhatHappened sends events, creates goals and a funnel, and reads their results, before and
// after a restart.
func TestGoalsAndFunnelsCountWhatHappened(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	start := time.Now().Add(-10 * time.Hour)
	event := func(visitor, name string, minutes int, value float64) map[string]any {
		return map[string]any{
			"type": "event", "name": name, "id": fmt.Sprint(visitor, name, minutes), "distinctId": visitor, "value": value,
			"ts": start.Add(time.Duration(minutes) * time.Minute).UTC().Format(time.RFC3339Nano), "properties": map[string]any{"plan": "pro"},
		}
	}
	view := func(visitor, path string, minutes int) map[string]any {
		return item(fmt.Sprint(visitor, path, minutes), visitor, path, start.Add(time.Duration(minutes)*time.Minute))
	}
	s.send(
		view("ada", "/pricing/pro", 0), event("ada", "signup", 10, 0), event("ada", "purchase", 30, 50),
		view("bob", "/pricing", 0), event("bob", "signup", 30, 0), event("bob", "purchase", 31, 5), // spends too little
		view("cyd", "/pricing", 5), event("cyd", "signup", 5+61, 0), // takes too long
		event("dan", "signup", 0, 0), view("dan", "/pricing", 1), // in the wrong order
	)
	s.settled()
	signup := s.post(appPath+"/goals", `{"name":"Signup","kind":"event","match":"signup","value":10}`)
	pricing := s.post(appPath+"/goals", `{"name":"Pricing","kind":"path","match":"/pricing*"}`)
	if got := s.call("POST", appPath+"/goals", s.boot.Token, []byte(`{"name":"x","kind":"event","match":"signup"}`), nil); got.status != 400 {
		t.Errorf("a duplicate: %d %s", got.status, got.body)
	}
	funnel := s.post(appPath+"/funnels", `{"name":"Checkout","windowHours":1,"steps":[{"kind":"path","match":"/pricing*"},{"kind":"event","match":"signup"},`+
		`{"kind":"event","match":"purchase","filters":[{"property":"value","op":"gte","value":10},{"property":"property.plan","op":"eq","value":"pro"}]}]}`)
	check := func(s *server) {
		t.Helper()
		if got := s.overview()["conversions"]; got != 8.0 {
			t.Errorf("the overview counts %v conversions, want 8", got)
		}
		sum := 0.0
		for _, point := range s.get(appPath + "/analytics/timeseries?range=24h&metric=conversions")["points"].([]any) {
			sum += point.(map[string]any)["value"].(float64)
		}
		if sum != 8 {
			t.Errorf("the series counts %v conversions, want 8", sum)
		}
		counts := s.get(appPath + "/analytics/goals?range=24h")
		if got, want := counted(counts["data"].([]any), "goalId", "name", "conversions"), [][]any{{signup["id"], "Signup", 4.0}, {pricing["id"], "Pricing", 4.0}}; !reflect.DeepEqual(got, want) {
			t.Errorf("goals: %v, want %v", got, want)
		}
		names := s.get(appPath + "/events/names?range=24h")
		if got, want := counted(names["data"].([]any), "name", "count", "conversions"), [][]any{{"page_view", 4.0, 8.0}, {"signup", 4.0, 8.0}, {"purchase", 2.0, 4.0}}; !reflect.DeepEqual(got, want) {
			t.Errorf("names: %v, want %v", got, want)
		}
		results := s.get(appPath + "/funnels/" + funnel["id"].(string) + "/results?range=24h")
		want := [][]any{{1.0, 4.0, 2.0, 0.5, 2.0, nil}, {2.0, 2.0, 1.0, 0.5, 1.0, 20.0 * 60}, {3.0, 1.0, 1.0, 1.0, 0.0, 20.0 * 60}}
		if got := counted(results["steps"].([]any), "step", "entered", "converted", "conversionRate", "dropOff", "medianSeconds"); !reflect.DeepEqual(got, want) {
			t.Errorf("funnel: %v, want %v", got, want)
		}
		checkFunnelPeople(t, s, funnel["id"].(string))
	}
	check(s)
	s.stopped()
	again := startServer(t, dir, nil)
	check(again)
	if got := again.call("DELETE", appPath+"/goals/"+signup["id"].(string), again.boot.Token, nil, nil); got.status != 204 {
		t.Fatalf("deleting: %d %s", got.status, got.body)
	}
	counts := again.get(appPath + "/analytics/goals?range=24h")
	if got, want := counted(counts["data"].([]any), "goalId", "name", "conversions"), [][]any{{signup["id"], nil, 4.0}, {pricing["id"], "Pricing", 4.0}}; !reflect.DeepEqual(got, want) {
		t.Errorf("goals after a deletion: %v, want %v", got, want)
	}
	if got := again.overview()["conversions"]; got != 4.0 {
		t.Errorf("the overview counts %v conversions after a deletion, want 4", got)
	}
}
