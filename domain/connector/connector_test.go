package connector_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain/connector"
)

// TestTheStatusOfAConnector plays probes, one per minute, and checks the status and the time of the last answer after
// each.
func TestTheStatusOfAConnector(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	type probe struct {
		answered bool
		problem  string
		status   connector.Status
		// answer is the number of the last answered probe, 0 for none.
		answer int
	}
	for name, probes := range map[string][]probe{
		"healthy at once":                 {{answered: true, problem: "", status: connector.Healthy, answer: 1}},
		"the first failure is no verdict": {{answered: false, problem: "time", status: connector.Configured, answer: 0}, {answered: true, problem: "500", status: connector.Unhealthy, answer: 2}},
		"one failure keeps healthy":       {{answered: true, problem: "", status: connector.Healthy, answer: 1}, {answered: false, problem: "time", status: connector.Healthy, answer: 1}, {answered: true, problem: "", status: connector.Healthy, answer: 3}, {answered: true, problem: "500", status: connector.Healthy, answer: 4}},
		"two failures in a row":           {{answered: true, problem: "", status: connector.Healthy, answer: 1}, {answered: true, problem: "signature", status: connector.Healthy, answer: 2}, {answered: false, problem: "time", status: connector.Unhealthy, answer: 2}, {answered: false, problem: "time", status: connector.Unhealthy, answer: 2}, {answered: true, problem: "", status: connector.Healthy, answer: 5}},
		"one failure after a recovery":    {{answered: false, problem: "a", status: connector.Configured, answer: 0}, {answered: false, problem: "b", status: connector.Unhealthy, answer: 0}, {answered: true, problem: "", status: connector.Healthy, answer: 3}, {answered: false, problem: "c", status: connector.Healthy, answer: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &connector.Connector{Enabled: true}
			for n, p := range probes {
				result := connector.Probe{At: begun.Add(time.Duration(n) * time.Minute), Answered: p.answered, Problem: p.problem}
				if p.problem == "" {
					result.Capabilities, result.Version = []string{"users"}, "1.2"
				}
				c.Health = c.Health.After(&result)
				want := time.Time{}
				if p.answer > 0 {
					want = begun.Add(time.Duration(p.answer-1) * time.Minute)
				}
				if got := c.Health; c.Status() != p.status || !got.LastHealthAt.Equal(want) || got.Problem != p.problem || !got.LastProbeAt.Equal(result.At) {
					t.Errorf("after probe %d: %s, %+v, want %s and the answer of %v", n+1, c.Status(), got, p.status, want)
				}
			}
			if healthy := c.Health.Version != ""; healthy && !reflect.DeepEqual(c.Health.Capabilities, []string{"users"}) {
				t.Errorf("the capabilities are %v", c.Health.Capabilities)
			}
			c.Enabled = false
			if c.Status() != connector.Disabled {
				t.Errorf("switched off it is %s", c.Status())
			}
		})
	}
	if got := (*connector.Connector)(nil).Status(); got != connector.Unconfigured {
		t.Errorf("none is %s", got)
	}
}

func TestReadingTheHealthOfAConnector(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want connector.Probe
		fail bool
	}{
		"whole":              {`{"capabilities":["users","overview","time-travel"],"version":"1.4.0","more":1}`, connector.Probe{Capabilities: []string{"overview", "users"}, Version: "1.4.0"}, false},
		"nothing it can do":  {`{"capabilities":[]}`, connector.Probe{Capabilities: []string{}}, false},
		"null as version":    {`{"capabilities":["users"],"version":null}`, connector.Probe{Capabilities: []string{"users"}}, false},
		"no capabilities":    {`{"version":"1"}`, connector.Probe{}, true},
		"other capabilities": {`{"capabilities":"users"}`, connector.Probe{}, true},
		"no JSON":            {`ok`, connector.Probe{}, true},
		"empty":              {``, connector.Probe{}, true},
		"long version":       {`{"capabilities":[],"version":"` + strings.Repeat("1", 65) + `"}`, connector.Probe{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got connector.Probe
			problem := connector.ReadConnectorHealth([]byte(c.body), &got)
			if (problem != "") != c.fail || !c.fail && !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, %+v", problem, got)
			}
		})
	}
}
