package svc_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"svc"
)

// TestTheStatusOfAConnector plays probes, one per minute, and checks the status and the time of the last answer after
// each.
func TestTheStatusOfAConnector(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	type probe struct {
		answered bool
		problem  string
		status   svc.ConnectorStatus
		// answer is the number of the last answered probe, 0 for none.
		answer int
	}
	for name, probes := range map[string][]probe{
		"healthy at once":                 {{true, "", svc.ConnectorHealthy, 1}},
		"the first failure is no verdict": {{false, "time", svc.ConnectorConfigured, 0}, {true, "500", svc.ConnectorUnhealthy, 2}},
		"one failure keeps healthy":       {{true, "", svc.ConnectorHealthy, 1}, {false, "time", svc.ConnectorHealthy, 1}, {true, "", svc.ConnectorHealthy, 3}, {true, "500", svc.ConnectorHealthy, 4}},
		"two failures in a row":           {{true, "", svc.ConnectorHealthy, 1}, {true, "signature", svc.ConnectorHealthy, 2}, {false, "time", svc.ConnectorUnhealthy, 2}, {false, "time", svc.ConnectorUnhealthy, 2}, {true, "", svc.ConnectorHealthy, 5}},
		"one failure after a recovery":    {{false, "a", svc.ConnectorConfigured, 0}, {false, "b", svc.ConnectorUnhealthy, 0}, {true, "", svc.ConnectorHealthy, 3}, {false, "c", svc.ConnectorHealthy, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connector := &svc.Connector{Enabled: true}
			for n, p := range probes {
				result := svc.ConnectorProbe{At: begun.Add(time.Duration(n) * time.Minute), Answered: p.answered, Problem: p.problem}
				if p.problem == "" {
					result.Capabilities, result.Version = []string{"users"}, "1.2"
				}
				connector.Health = connector.Health.After(&result)
				want := time.Time{}
				if p.answer > 0 {
					want = begun.Add(time.Duration(p.answer-1) * time.Minute)
				}
				if got := connector.Health; connector.Status() != p.status || !got.LastHealthAt.Equal(want) || got.Problem != p.problem || !got.LastProbeAt.Equal(result.At) {
					t.Errorf("after probe %d: %s, %+v, want %s and the answer of %v", n+1, connector.Status(), got, p.status, want)
				}
			}
			if healthy := connector.Health.Version != ""; healthy && !reflect.DeepEqual(connector.Health.Capabilities, []string{"users"}) {
				t.Errorf("the capabilities are %v", connector.Health.Capabilities)
			}
			connector.Enabled = false
			if connector.Status() != svc.ConnectorDisabled {
				t.Errorf("switched off it is %s", connector.Status())
			}
		})
	}
	if got := (*svc.Connector)(nil).Status(); got != svc.ConnectorUnconfigured {
		t.Errorf("none is %s", got)
	}
}

func TestReadingTheHealthOfAConnector(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want svc.ConnectorProbe
		fail bool
	}{
		"whole":              {`{"capabilities":["users","overview","time-travel"],"version":"1.4.0","more":1}`, svc.ConnectorProbe{Capabilities: []string{"overview", "users"}, Version: "1.4.0"}, false},
		"nothing it can do":  {`{"capabilities":[]}`, svc.ConnectorProbe{Capabilities: []string{}}, false},
		"null as version":    {`{"capabilities":["users"],"version":null}`, svc.ConnectorProbe{Capabilities: []string{"users"}}, false},
		"no capabilities":    {`{"version":"1"}`, svc.ConnectorProbe{}, true},
		"other capabilities": {`{"capabilities":"users"}`, svc.ConnectorProbe{}, true},
		"no JSON":            {`ok`, svc.ConnectorProbe{}, true},
		"empty":              {``, svc.ConnectorProbe{}, true},
		"long version":       {`{"capabilities":[],"version":"` + strings.Repeat("1", 65) + `"}`, svc.ConnectorProbe{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got svc.ConnectorProbe
			problem := svc.ReadConnectorHealth([]byte(c.body), &got)
			if (problem != "") != c.fail || !c.fail && !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, %+v", problem, got)
			}
		})
	}
}
