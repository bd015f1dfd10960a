package telemetry_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/ingest"
	"svc/domain/telemetry"
)

// pulseOf returns the pulse of arrivals as the store reads it: by minutes, over the latest days.
func pulseOf(arrivals []time.Time, now time.Time) telemetry.SignalPulse {
	since := now.AddDate(0, 0, -telemetry.SilenceDays).Truncate(24 * time.Hour)
	var minutes []time.Time
	var pauses []time.Duration
	pulse := telemetry.SignalPulse{}
	for _, at := range arrivals {
		minute := at.Truncate(time.Minute)
		if at.Before(since) || at.After(now) {
			continue
		}
		pulse.Last = at
		if len(minutes) == 0 || minute.After(minutes[len(minutes)-1]) {
			if len(minutes) > 0 {
				pauses = append(pauses, minute.Sub(minutes[len(minutes)-1]))
			}
			minutes = append(minutes, minute)
		}
	}
	if pulse.Minutes = len(minutes); len(minutes) > 0 {
		pulse.First = minutes[0]
	}
	slices.Sort(pauses)
	slices.Reverse(pauses)
	for n, pause := range pauses[:min(2, len(pauses))] {
		*[]*time.Duration{&pulse.Longest, &pulse.Second}[n] = pause
	}
	return pulse
}

// monday is the beginning of the histories in these tests.
func monday() time.Time { return time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC) }

// every returns arrivals at a steady pace, limited to the times that takes accepts.
func every(pause time.Duration, days int, takes func(time.Time) bool) (arrivals []time.Time) {
	for at := monday(); at.Before(monday().AddDate(0, 0, days)); at = at.Add(pause) {
		if takes == nil || takes(at) {
			arrivals = append(arrivals, at)
		}
	}
	return arrivals
}

// officeHours reports whether an instant is within office hours.
func officeHours(at time.Time) bool {
	return at.Weekday() >= time.Monday && at.Weekday() <= time.Friday && at.Hour() >= 8 && at.Hour() < 18
}

// watched is a state with a policy that watches signals.
func watched() *telemetry.State {
	state := &telemetry.State{App: domain.AppRef{Org: "acme", App: "web"}, Env: "production", Environment: 1, Policy: telemetry.DefaultTelemetryPolicy()}
	state.Policy.Alerts.SilentSignals, state.Policy.Alerts.ChannelIDs = true, []string{"chn_1", "chn_2"}
	return state
}

// counter returns ids by number.
func counter() func(prefix string) string {
	n := 0
	return func(prefix string) string { n++; return fmt.Sprint(prefix, n) }
}

// live calls Listen every half minute for some days after the arrivals began, and returns the times of changes.
func live(state *telemetry.State, arrivals []time.Time, days int) (changes []time.Time) {
	newID, next := counter(), 0
	for now := monday(); now.Before(monday().AddDate(0, 0, days)); now = now.Add(10 * time.Minute) {
		for next < len(arrivals) && !arrivals[next].After(now) {
			next++
		}
		pulses := map[ingest.Signal]telemetry.SignalPulse{ingest.SignalEvents: pulseOf(arrivals[:next], now)}
		if state.Listen(pulses, monday(), now, newID) {
			changes = append(changes, now)
		}
	}
	return changes
}

// TestSilenceIsNoticed sends signals with several patterns for weeks and then stops them.
func TestSilenceIsNoticed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arrivals []time.Time
		days     int
		// after is the earliest time after the last arrival at which the silence is noticed, 0 for never.
		after time.Duration
	}{
		"steady":                {every(5*time.Minute, 10, nil), 11, 15 * time.Minute},
		"every few hours":       {every(3*time.Hour, 12, nil), 14, 9 * time.Hour},
		"office hours":          {every(20*time.Minute, 19, officeHours), 40, 3 * 62 * time.Hour},
		"office hours, goes on": {every(20*time.Minute, 30, officeHours), 30, 0},
		"one outage is not usual": {every(5*time.Minute, 20, func(at time.Time) bool {
			return at.Sub(monday()) < 48*time.Hour || at.Sub(monday()) > 60*time.Hour
		}), 21, 15 * time.Minute},
		"young": {every(5*time.Minute, 1, nil), 3, 0},
		"rare":  {every(11*time.Hour, 4, nil), 8, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := watched()
			changes, last := live(state, tc.arrivals, tc.days), tc.arrivals[len(tc.arrivals)-1]
			// In its first days, a signal with an outage is silent once, and returns.
			changes = slices.DeleteFunc(changes, func(at time.Time) bool { return !at.After(last) })
			if tc.after == 0 {
				if len(changes) != 0 {
					t.Fatalf("changes at %v", changes)
				}
				return
			}
			if len(changes) != 1 || changes[0].Sub(last) < tc.after || changes[0].Sub(last) > tc.after+2*time.Hour {
				t.Fatalf("changes at %v, the last arrival at %s", changes, last)
			}
			one := state.Silent[ingest.SignalEvents]
			if one.LastAt != last || one.Since != changes[0] || len(state.Silent) != 1 {
				t.Errorf("silent are %+v", state.Silent)
			}
		})
	}
}

// TestSilenceIsToldOnce follows the notices of a beginning and an end.
func TestSilenceIsToldOnce(t *testing.T) {
	t.Parallel()
	state, newID := watched(), counter()
	arrivals := every(5*time.Minute, 20, nil)
	last := arrivals[len(arrivals)-1]
	pulses := func(now time.Time, more ...time.Time) map[ingest.Signal]telemetry.SignalPulse {
		return map[ingest.Signal]telemetry.SignalPulse{ingest.SignalEvents: pulseOf(append(arrivals, more...), now)}
	}
	told := func(step string, changed, want bool, notices int) {
		t.Helper()
		if changed != want || len(state.Deliveries) != notices {
			t.Fatalf("%s: changed %t, %d notices", step, changed, len(state.Deliveries))
		}
	}
	stopped := last.Add(16 * time.Minute)
	told("a node that has just begun", state.Listen(pulses(stopped), stopped.Add(-time.Minute), stopped, newID), false, 0)
	told("stopped", state.Listen(pulses(stopped), monday(), stopped, newID), true, 2)
	told("again", state.Listen(pulses(stopped), monday(), stopped.Add(time.Hour), newID), false, 2)
	told("nothing in the window any more", state.Listen(nil, monday(), stopped.AddDate(0, 1, 0), newID), false, 2)
	back := stopped.Add(2 * time.Hour)
	told("back", state.Listen(pulses(back, back), monday(), back, newID), true, 4)
	begun, ended := state.Deliveries[0].Notice, state.Deliveries[2].Notice
	if begun.Event != alert.NoticeOpen || ended.Event != alert.NoticeResolved || begun.Incident.ID != ended.Incident.ID || ended.Incident.Status != alert.IncidentResolved {
		t.Errorf("the notices are %+v and %+v", begun, ended)
	}
	later := back.Add(20 * time.Minute)
	told("stopped again", state.Listen(pulses(later, back), monday(), later, newID), true, 6)
	state.Policy.Alerts.SilentSignals = false
	told("switched off", state.Listen(nil, monday(), later, newID), true, 6)
	told("off", state.Listen(pulses(later.Add(time.Hour), back), monday(), later.Add(time.Hour), newID), false, 6)
	if len(state.Silent) != 0 {
		t.Errorf("silent are %v", state.Silent)
	}
}
