package ingest

import (
	"fmt"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/protos"
)

// stateOf is the state of one environment's telemetry.
type stateOf struct{ state telemetry.State }

func (s stateOf) Telemetry(uint64) *telemetry.State { return &s.state }

// overBudget returns a node with an environment over its budget of errors; then only a sample is stored.
func overBudget(change func(policy *telemetry.Policy)) *Collect {
	policy := telemetry.DefaultTelemetryPolicy()
	policy.OverBudget = telemetry.BudgetSample
	change(&policy)
	c := testCollect(&logOf{})
	c.Collectors = collectorsOf{domain.HashSecret("secret"): {
		Kind: domain.KeySecret, Environment: domain.Environment{Number: 7}, Modules: []domain.Module{domain.ModuleAnalytics, domain.ModuleErrors}, RetentionDays: 365,
	}}
	noon := collectNoon()
	c.Policies = stateOf{telemetry.State{Policy: policy, Month: domain.MonthOf(noon), Over: map[ingest.Signal]time.Time{ingest.SignalErrors: noon}}}
	return c
}

// kept sends one item and reports whether it was accepted.
func kept(t *testing.T, c *Collect, item string) bool {
	t.Helper()
	sub, err := accept(t, c, "secret", `{"items":[`+item+`]}`, itemAny)
	if err != nil || sub.accepted+sub.dropped != 1 {
		t.Fatalf("%s: %v, %d accepted, %d dropped", item, err, sub.accepted, sub.dropped)
	}
	return sub.accepted == 1
}

func errorOf(visitor, message string) string {
	return fmt.Sprintf(`{"type":"error","name":"TypeError","message":%q,"distinctId":%q}`, message, visitor)
}

func eventOf(visitor string) string {
	return fmt.Sprintf(`{"type":"event","name":"order","distinctId":%q}`, visitor)
}

// outside returns a visitor outside the sample of a rate.
func outside(t *testing.T, rate float64) string {
	t.Helper()
	for n := range 1000 {
		if visitor := fmt.Sprint("outside-", n); !telemetry.InSample(protos.VisitorHash(7, visitor), rate) {
			return visitor
		}
	}
	t.Fatalf("every visitor is in a sample of %v", rate)
	return ""
}

// TestErrorsOfANewIssueAreNeverSampledAway sends errors over their budget, of visitors outside every sample: the first
// errors of each issue are accepted, later ones are not.
func TestErrorsOfANewIssueAreNeverSampledAway(t *testing.T) {
	t.Parallel()
	c := overBudget(func(policy *telemetry.Policy) { policy.Events.SampleRate = 0 })
	visitor := outside(t, telemetry.OverBudgetRate)
	for _, message := range []string{"cart is null", "order is undefined"} {
		for n := range newIssueErrors {
			if !kept(t, c, errorOf(visitor, message)) {
				t.Fatalf("error %d of the new issue %q was dropped", n+1, message)
			}
		}
		if kept(t, c, errorOf(visitor, message)) {
			t.Errorf("over the budget, %q is still taken when it is not new any more", message)
		}
	}
	if kept(t, c, eventOf(visitor)) {
		t.Error("an event is taken at a sample of 0")
	}
}

// TestOneSampleForAllSignalsOfAVisitor sends the items of many visitors to two nodes. Both store the same events, which
// match the published share. The errors in a smaller share belong to visitors with stored events. The same function
// checks the signal of evaluations (TestEvaluationsAreASignal tests a whole node).
func TestOneSampleForAllSignalsOfAVisitor(t *testing.T) {
	t.Parallel()
	const rate, visitors = 0.3, 2000
	sampled := func(policy *telemetry.Policy) { policy.Events.SampleRate, policy.Flags.SampleRate = rate, rate }
	nodes := []*Collect{overBudget(sampled), overBudget(sampled)}
	for _, node := range nodes {
		for range newIssueErrors {
			kept(t, node, errorOf("anybody", "known"))
		}
	}
	events, errors := 0, 0
	for n := range visitors {
		visitor := fmt.Sprint("visitor-", n)
		hash := protos.VisitorHash(7, visitor)
		want := telemetry.InSample(hash, rate)
		for place, node := range nodes {
			if got := kept(t, node, eventOf(visitor)); got != want {
				t.Fatalf("node %d keeps the event of %s: %t, want %t", place, visitor, got, want)
			}
			took := kept(t, node, errorOf(visitor, "known"))
			if took != telemetry.InSample(hash, telemetry.OverBudgetRate) || took && !want {
				t.Fatalf("node %d keeps the error of %s: %t; its event: %t", place, visitor, took, want)
			}
			if place == 0 && took {
				errors++
			}
			sub := requestAt(node, collectNoon(), "{}")
			sub.telemetry = node.Policies.Telemetry(7)
			if got := sub.judge(ingest.SignalFlags, hash) == ""; got != want {
				t.Fatalf("node %d keeps the evaluation of %s: %t, want %t", place, visitor, got, want)
			}
		}
		if want {
			events++
		}
	}
	if events < visitors/4 || events > visitors*35/100 || errors == 0 || errors > visitors/6 {
		t.Errorf("of %d visitors the events of %d and the errors of %d are kept", visitors, events, errors)
	}
}
