package alert_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/alert"
)

// TestLivesOfRules plays values to rules, one per minute, and compares the results: the state after each and, in
// brackets, the notices to channels.
func TestLivesOfRules(t *testing.T) {
	t.Parallel()
	half := 0.5
	none := math.NaN()
	for _, test := range []struct {
		name   string
		change func(*alert.Spec)
		values []float64
		want   string
	}{
		{"stays calm", nil, []float64{0, 1, 0}, "ok ok ok"},
		{"fires and recovers for one window", nil, []float64{2, 2, 0, 0, 0}, "firing[open] firing firing firing ok[resolved]"},
		{"a relapse within the window", nil, []float64{2, 0, 0, 2, 0, 0, 0}, "firing[open] firing firing firing firing firing ok[resolved]"},
		{"must hold for a while", func(s *alert.Spec) { s.ForMinutes = 2 }, []float64{2, 2, 0, 2, 2, 2}, "pending pending ok pending pending firing[open]"},
		{"a recovery threshold", func(s *alert.Spec) { s.RecoveryThreshold = &half }, []float64{2, 1, 1, 1, 0, 0, 0}, "firing[open] firing firing firing firing firing ok[resolved]"},
		{"again within the cooldown: silent", nil, []float64{2, 0, 0, 0, 2, 0, 0, 0}, "firing[open] firing firing ok[resolved] firing firing firing ok"},
		{"again within the cooldown, and for long", func(s *alert.Spec) { s.CooldownMinutes = 3 }, []float64{2, 0, 0, 0, 2, 2, 2, 2, 0, 0, 0}, "firing[open] firing firing ok[resolved] firing firing firing[open] firing firing firing ok[resolved]"},
		{"again after the cooldown", func(s *alert.Spec) { s.CooldownMinutes = 1 }, []float64{2, 0, 0, 0, 0, 2}, "firing[open] firing firing ok[resolved] ok firing[open]"},
		{"no data keeps", nil, []float64{none, 2, none, none, none, 0}, "no_data firing[open] firing firing firing firing"},
		{"no data is fine", func(s *alert.Spec) { s.NoData = alert.NoDataOK }, []float64{none, 2, none, none, none}, "ok firing[open] firing firing ok[resolved]"},
		{"no data alarms", func(s *alert.Spec) { s.NoData = alert.NoDataAlert }, []float64{0, none, none}, "ok firing[open] firing"},
		{"too quiet", func(s *alert.Spec) { s.Comparator = "lt" }, []float64{1, 0, 2}, "ok firing[open] firing"},
		{"at least", func(s *alert.Spec) { s.Comparator = "gte" }, []float64{0, 1}, "ok firing[open]"},
		{"at most", func(s *alert.Spec) { s.Comparator = "lte" }, []float64{2, 1}, "ok firing[open]"},
		{"equal", func(s *alert.Spec) { s.Comparator = "eq" }, []float64{2, 1}, "ok firing[open]"},
		{"not equal", func(s *alert.Spec) { s.Comparator = "neq" }, []float64{1, 2}, "ok firing[open]"},
	} {
		spec := alert.DefaultAlert()
		spec.Name, spec.Kind, spec.Threshold, spec.WindowMinutes = "Volume", alert.EventVolume, 1, 2
		if test.change != nil {
			test.change(&spec)
		}
		rule := alert.Rule{ID: "rul_1", Spec: spec}
		if got := strings.Join(play(&rule, test.values), " "); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.name, got, test.want)
		}
	}
}

// play returns the states after values. It checks after each value that a rule has at most one live incident, and has
// one exactly while it fires.
func play(rule *alert.Rule, values []float64) (out []string) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	state := alert.State{State: alert.OK}
	for minute, value := range values {
		m := alert.Measurement{At: start.Add(time.Duration(minute) * time.Minute), Value: value, Known: !math.IsNaN(value)}
		var events []alert.NoticeEvent
		state, events = rule.Apply(state, m)
		word := string(state.State)
		if len(events) > 0 {
			word += fmt.Sprint(events)
		}
		if (state.State == alert.Firing) != state.Incident.Live() {
			word += " with a wrong incident"
		}
		out = append(out, word)
	}
	return out
}

func TestTheSameHistoryMakesTheSameIncidents(t *testing.T) {
	t.Parallel()
	spec := alert.DefaultAlert()
	spec.Kind, spec.Threshold, spec.CooldownMinutes, spec.WindowMinutes = alert.EventVolume, 1, 0, 1
	run := func(id string) (incidents []alert.Incident) {
		rule := alert.Rule{ID: id, Spec: spec}
		state := alert.State{}
		for n := range 200 {
			m := alert.Measurement{At: time.UnixMilli(1_795_000_000_000 + int64(n)*45_000), Value: float64(n * n % 7 % 3), Known: n%11 != 0}
			var events []alert.NoticeEvent
			state, events = rule.Apply(state, m)
			if len(events) > 0 {
				incidents = append(incidents, *state.Incident)
			}
		}
		return incidents
	}
	first, second, other := run("rul_1"), run("rul_1"), run("rul_2")
	if len(first) < 10 || !reflect.DeepEqual(first, second) {
		t.Errorf("%d and %d incidents, or not the same", len(first), len(second))
	}
	seen := map[string]bool{}
	last := ""
	for _, incident := range first {
		if incident.ID < last {
			t.Errorf("%s began after %s", incident.ID, last)
		}
		last, seen[incident.ID] = incident.ID, true
	}
	for _, incident := range other {
		if seen[incident.ID] {
			t.Errorf("two rules have the incident %s", incident.ID)
		}
	}
}

func TestAcknowledging(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	ada := domain.LedgerActor{ID: "usr_1", Name: "Ada"}
	open := alert.Incident{ID: "inc_1", Status: alert.IncidentOpen, TellAt: now}
	taken, err := open.Acknowledge(ada, now)
	if want := (alert.Incident{ID: "inc_1", Status: alert.IncidentAcknowledged, AcknowledgedAt: &now, AcknowledgedBy: &ada}); err != nil || !reflect.DeepEqual(taken, want) {
		t.Errorf("%+v, %v", taken, err)
	}
	if _, err := taken.Acknowledge(ada, now); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("twice: %v", err)
	}
	// It resolves nevertheless, and firing continues silently until then.
	state := alert.State{State: alert.Firing, Incident: &taken}
	state, events := state.Resolve(nil, now.Add(time.Minute))
	if state.State != alert.OK || state.Incident.Status != alert.IncidentResolved || state.Incident.ResolvedBy != nil || events != nil {
		t.Errorf("%+v, %v", state.Incident, events)
	}
}

func TestDeliveriesAreTriedForADay(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	delivery, now, again := alert.Delivery{CreatedAt: start, Next: start}, start, true
	var pauses []time.Duration
	for again {
		before := delivery.Next
		if delivery, again = delivery.Failed(now, true); again {
			pauses, now = append(pauses, delivery.Next.Sub(before)), delivery.Next
		}
	}
	if want := []time.Duration{30 * time.Second, 2 * time.Minute, 8 * time.Minute, 30 * time.Minute}; !reflect.DeepEqual(pauses[:4], want) {
		t.Errorf("pauses %v, want %v", pauses[:4], want)
	}
	if last := now.Sub(start); last > alert.DeliveryTime || last < alert.DeliveryTime-31*time.Minute {
		t.Errorf("the last attempt is made after %s", last)
	}
	if _, again := (alert.Delivery{CreatedAt: start}).Failed(start, false); again {
		t.Error("what no attempt can cure is tried again")
	}
}
