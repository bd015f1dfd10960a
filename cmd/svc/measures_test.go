package main

import (
	"fmt"
	"testing"
	"time"

	"svc/actors/alerting"
	"svc/domain"
	"svc/domain/alert"
)

// TestMeasuresOfAlertRules sends the data that rules watch, and measures rules of every kind.
func TestMeasuresOfAlertRules(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	body := `{"items":[
		{"type":"event","name":"page_view","distinctId":"ada"},{"type":"event","name":"click","distinctId":"ada"},{"type":"event","name":"page_view","distinctId":"bob"},
		{"type":"error","message":"a"},{"type":"error","message":"b"},{"type":"error","message":"c","level":"warning"},
		{"type":"metric","name":"latency","kind":"histogram","values":[1,2,3,4],"labels":{"zone":"eu"}},
		{"type":"metric","name":"latency","kind":"histogram","values":[10],"labels":{"zone":"us"}},
		{"type":"vital","name":"LCP","value":2400,"path":"/cart"},{"type":"vital","name":"LCP","value":1000,"path":"/"}]}`
	if got := object(t, s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, []byte(body), nil).body); got["accepted"] != 10.0 {
		t.Fatalf("answer %v", got)
	}
	s.settled()
	sent := time.Now()
	environment := s.environment()
	tests := []struct {
		kind      alert.Kind
		condition alert.Condition
		want      string
	}{
		{alert.Metric, alert.Condition{Name: "latency", Agg: "sum"}, "20 true"},
		{alert.Metric, alert.Condition{Name: "latency", Agg: "p95"}, "10 true"},
		{alert.Metric, alert.Condition{Name: "latency", Agg: "avg", Labels: map[string]string{"zone": "eu"}}, "2.5 true"},
		{alert.Metric, alert.Condition{Name: "latency", Agg: "sum", Labels: map[string]string{"zone": "moon"}}, "0 false"},
		{alert.Vital, alert.Condition{Vital: "LCP"}, "2400 true"},
		{alert.Vital, alert.Condition{Vital: "LCP", Path: "/"}, "1000 true"},
		{alert.Vital, alert.Condition{Vital: "CLS"}, "0 false"},
		{alert.ErrorRate, alert.Condition{}, "3 true"},
		{alert.ErrorRate, alert.Condition{Level: "warning"}, "1 true"},
		{alert.ErrorRate, alert.Condition{Per: "session"}, "1.5 true"},
		{alert.EventVolume, alert.Condition{}, "3 true"},
		{alert.EventVolume, alert.Condition{Name: "click"}, "1 true"},
	}
	var rules []alert.Rule
	for _, test := range tests {
		rules = append(rules, alert.Rule{Spec: alert.Spec{Kind: test.kind, WindowMinutes: 5, Condition: test.condition}, Number: environment})
	}
	for at, empty := range map[time.Time]bool{sent: false, sent.Add(time.Hour): true} {
		for i := range rules {
			test := &tests[i]
			want := test.want
			if empty {
				want = map[bool]string{true: "0 true", false: "0 false"}[test.kind == alert.EventVolume || test.kind == alert.ErrorRate && test.condition.Per == ""]
			}
			if got, err := measureRule(t, alerting.StoredMeasures{Store: s.node.db}, &rules[i], at); err != nil || got != want {
				t.Errorf("%s %+v at %s: %s, %v; want %s", test.kind, test.condition, at, got, err, want)
			}
		}
	}
	s.post(appPath+"/alerts", `{"name":"Slow","kind":"vital","threshold":2000,"comparator":"gt","windowMinutes":60,"condition":{"vital":"LCP"}}`)
	eventually(t, "the rule fires", func() error {
		if incidents := s.get(appPath + "/incidents")["data"].([]any); len(incidents) != 1 || incidents[0].(map[string]any)["value"] != 2400.0 {
			return fmt.Errorf("incidents %v", incidents)
		}
		return nil
	})
}

// measureRule returns the value of a rule's condition over the stored rows.
func measureRule(t *testing.T, m alerting.StoredMeasures, rule *alert.Rule, at time.Time) (string, error) {
	t.Helper()
	counter, counts := rule.Counter()
	if !counts {
		measured := m.Measure(t.Context(), []alert.Rule{*rule}, at)[0]
		return fmt.Sprint(measured.Value, measured.Known), measured.Err
	}
	read := m.Read(t.Context(), []alert.Counter{counter}, at, 0)[0]
	value, known := counter.Value(rule.Agg(), at, read.Slots)
	if value > 0 && len(read.Blocks) == 0 {
		t.Errorf("%s %s was found in no block", rule.Kind, counter.Word)
	}
	return fmt.Sprint(value, known), read.Err
}

// environment returns the number of the first environment of the application.
func (s *server) environment() uint64 {
	s.t.Helper()
	app, err := s.node.apps.Get(s.t.Context(), domain.AppRef{Org: "acme", App: "web"})
	if err != nil {
		s.t.Fatal(err)
	}
	return app.Environments[0].Number
}
