package alert_test

import (
	"testing"
	"time"

	"svc/domain/alert"
)

func TestSilenceCovers(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	incident := alert.Incident{RuleID: "rul_1", MonitorID: "mon_1", Environment: "production", Labels: map[string]string{"route": "/"}}
	spec := func(change func(*alert.SilenceSpec)) alert.Silence {
		s := alert.Silence{SilenceSpec: alert.SilenceSpec{Name: "x", StartsAt: start, EndsAt: start.Add(time.Hour)}}
		change(&s.SilenceSpec)
		return s
	}
	for name, tc := range map[string]struct {
		change func(*alert.SilenceSpec)
		at     time.Duration
		want   bool
	}{
		"everything":         {func(*alert.SilenceSpec) {}, 0, true},
		"before":             {func(*alert.SilenceSpec) {}, -time.Millisecond, false},
		"at its end":         {func(*alert.SilenceSpec) {}, time.Hour, false},
		"its rule":           {func(s *alert.SilenceSpec) { s.RuleID = "rul_1" }, 0, true},
		"another rule":       {func(s *alert.SilenceSpec) { s.RuleID = "rul_2" }, 0, false},
		"another monitor":    {func(s *alert.SilenceSpec) { s.MonitorID = "mon_2" }, 0, false},
		"its environment":    {func(s *alert.SilenceSpec) { s.Environment, s.MonitorID = "production", "mon_1" }, 0, true},
		"another one":        {func(s *alert.SilenceSpec) { s.Environment = "staging" }, 0, false},
		"its label":          {func(s *alert.SilenceSpec) { s.Labels = map[string]string{"route": "/"} }, 0, true},
		"a label it has not": {func(s *alert.SilenceSpec) { s.Labels = map[string]string{"route": "/", "a": "b"} }, 0, false},
	} {
		silence := spec(tc.change)
		if got := silence.Covers(&incident, start.Add(tc.at)); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestASilencedIncidentIsToldOfAtTheEnd fires a rule within a silence: it is notified when the silence ends, and never
// if it has ended by then.
func TestASilencedIncidentIsToldOfAtTheEnd(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rule := alert.Rule{ID: "rul_1", Spec: alert.DefaultAlert()}
	rule.Kind, rule.Threshold, rule.Comparator, rule.WindowMinutes = alert.Uptime, 1, "gte", 1
	fired, events := rule.Apply(alert.State{}, alert.Measurement{At: start, Value: 1, Known: true})
	if len(events) != 1 {
		t.Fatal(events)
	}
	silence := alert.Silence{ID: "sil_1", SilenceSpec: alert.SilenceSpec{StartsAt: start, EndsAt: start.Add(time.Hour)}}
	quiet := fired.Quiet(&silence)
	if due := rule.Due(&quiet, start); !due.Equal(silence.EndsAt) {
		t.Errorf("the rule is due at %s", due)
	}
	if _, events := rule.Tick(quiet, start.Add(59*time.Minute)); len(events) != 0 {
		t.Errorf("before the end: %v", events)
	}
	if next, events := rule.Tick(quiet, silence.EndsAt); len(events) != 1 || events[0] != alert.NoticeOpen || next.Incident.SilenceID != "" || !next.Incident.Told {
		t.Errorf("at the end: %v, %+v", events, next.Incident)
	}
	if _, events := quiet.Resolve(nil, start.Add(time.Minute)); len(events) != 0 {
		t.Errorf("resolved within the silence: %v", events)
	}
	if again, concerned := quiet.Unquiet("sil_1", start.Add(time.Minute)); !concerned || !again.Incident.TellAt.Equal(start.Add(time.Minute)) {
		t.Errorf("without the silence: %+v", again.Incident)
	}
}

// TestAPreviewFiresAsTheRuleDoes plays a day of counts to a rule.
func TestAPreviewFiresAsTheRuleDoes(t *testing.T) {
	from := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	to := from.Add(24 * time.Hour)
	rule := alert.Rule{ID: "rul_1", Spec: alert.DefaultAlert(), Number: 7}
	rule.Name, rule.Kind, rule.Threshold, rule.WindowMinutes = "Many", alert.EventVolume, 10, 10
	counter, _ := rule.Counter()
	slots := alert.Slots{}
	for minute := range 20 { // 11 per minute from 10:00 to 10:19
		slots.At(counter.Slot(from.Add(10*time.Hour + time.Duration(minute)*time.Minute))).Count = 11
	}
	preview := rule.Preview(from, to, counter.Replay(rule.Agg(), slots, from, to))
	if len(preview.Firings) != 1 || len(preview.Points) == 0 || len(preview.Points) > 500 {
		t.Fatalf("%d firings, %d points", len(preview.Firings), len(preview.Points))
	}
	firing := preview.Firings[0]
	if got := firing.StartedAt.Sub(from); got < 10*time.Hour || got > 10*time.Hour+2*time.Minute {
		t.Errorf("it began after %s", got)
	}
	if got := firing.ResolvedAt; got == nil || got.Sub(from) < 10*time.Hour+29*time.Minute || got.Sub(from) > 10*time.Hour+45*time.Minute {
		t.Errorf("it ended at %v", got)
	}
	if firing.Notices != 2 {
		t.Errorf("%d notices", firing.Notices)
	}
	uptime := rule
	uptime.Kind, uptime.Threshold, uptime.Comparator, uptime.ForMinutes = alert.Uptime, 1, "gte", 5
	down := []alert.Measurement{{At: from.Add(time.Hour), Value: 1, Known: true}, {At: from.Add(2 * time.Hour), Known: true}}
	preview = uptime.Preview(from, to, down)
	if len(preview.Firings) != 1 || !preview.Firings[0].StartedAt.Equal(from.Add(65*time.Minute)) || preview.Firings[0].ResolvedAt == nil || !preview.Firings[0].ResolvedAt.Equal(from.Add(130*time.Minute)) {
		t.Errorf("a rule that is told: %+v", preview.Firings)
	}
}
