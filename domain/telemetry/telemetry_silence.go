package telemetry

import (
	"fmt"
	"slices"
	"time"

	"svc/domain/alert"
	"svc/domain/ingest"
)

// SilenceDays is the number of days that determine the usual pause of a signal: they always include two weekends.
const SilenceDays = 22

const (
	// silenceFactor is the number of usual pauses that a signal may be silent, silenceLeast the time it may be silent
	// in any case.
	silenceFactor, silenceLeast = 3, 5 * time.Minute
	// silenceHistory is the time, and silenceMinutes the number of minutes, in which items must have arrived before
	// their pauses are judged. From silenceWeeks on, the second longest pause counts.
	silenceHistory, silenceMinutes, silenceWeeks = 48 * time.Hour, 10, 15 * 24 * time.Hour
)

// SignalPulse summarises the arrivals of a signal's items in an environment in the latest SilenceDays.
type SignalPulse struct {
	First, Last time.Time
	// Minutes is the number of minutes in which items arrived.
	Minutes int
	// Longest and Second are the two longest pauses between them.
	Longest, Second time.Duration
}

// UsualPause returns the usual pause of the signal, and false if too little is known of it. It is the second longest
// pause, so that one outage does not count but quiet weekends do. Within the first fifteen days it is the longest.
func (p *SignalPulse) UsualPause() (time.Duration, bool) {
	known := p.Last.Sub(p.First)
	switch {
	case known < silenceHistory || p.Minutes < silenceMinutes:
		return 0, false
	case known < silenceWeeks:
		return p.Longest, true
	}
	return p.Second, true
}

// patience returns how long a signal with a usual pause may be silent.
func patience(pause time.Duration) time.Duration { return max(silenceLeast, silenceFactor*pause) }

// SilentSignal is an active signal that has stopped.
type SilentSignal struct {
	// ID identifies the notices of its beginning and its end.
	ID string `json:"id"`
	// LastAt is when the last item arrived, Since when the channels were notified.
	LastAt     time.Time     `json:"lastAt"`
	Since      time.Time     `json:"since"`
	UsualPause time.Duration `json:"usualPause"`
	ChannelIDs []string      `json:"channelIds"`
}

// Listen records the signals that have stopped and the ones that have returned. It creates a notice for every channel
// if the policy enables it. heard is the instant since which items could arrive without interruption. Listen reports
// whether anything changed; the same pulses again change nothing.
func (s *State) Listen(pulses map[ingest.Signal]SignalPulse, heard, now time.Time, newID func(prefix string) string) (changed bool) {
	silent := map[ingest.Signal]SilentSignal{}
	for _, signal := range ingest.Signals() {
		one, was := s.Silent[signal]
		if !s.Policy.Alerts.SilentSignals || !s.Policy.Enabled(signal) {
			changed = changed || was
			continue
		}
		pulse, known := pulses[signal]
		pause, usual := pulse.UsualPause()
		switch {
		case was && known && pulse.Last.After(one.LastAt):
			s.tellSilence(signal, &one, alert.NoticeResolved, now, newID)
			changed = true
		case was:
			silent[signal] = one
		case usual && now.Sub(pulse.Last) > patience(pause) && now.Sub(heard) > min(patience(pause), 3*silenceLeast):
			one = SilentSignal{ID: newID("sig_"), LastAt: pulse.Last, Since: now, UsualPause: pause, ChannelIDs: s.Policy.Alerts.ChannelIDs}
			silent[signal] = one
			s.tellSilence(signal, &one, alert.NoticeOpen, now, newID)
			changed = true
		}
	}
	if changed {
		s.Silent = silent
	}
	return changed
}

// tellSilence stores the notices that a signal has stopped, or has returned.
func (s *State) tellSilence(signal ingest.Signal, one *SilentSignal, event alert.NoticeEvent, now time.Time, newID func(prefix string) string) {
	minutes := now.Sub(one.LastAt).Minutes()
	incident := alert.Incident{
		ID: one.ID, RuleID: one.ID, RuleName: "Silent signal", Kind: alert.EventVolume, Severity: "warning", Status: alert.IncidentOpen, Environment: s.Env,
		Title:     fmt.Sprintf("%s of %s sends no %s since %s; its usual pause is %s", s.Env, s.App, signal, one.LastAt.UTC().Format(time.RFC3339), one.UsualPause),
		Threshold: patience(one.UsualPause).Minutes(), Comparator: "gt", StartedAt: one.Since, LastTriggeredAt: now, Occurrences: 1, Value: &minutes,
	}
	if event == alert.NoticeResolved {
		incident.Status, incident.ResolvedAt = alert.IncidentResolved, &now
		incident.Title = fmt.Sprintf("%s of %s sends %s again", s.Env, s.App, signal)
	}
	s.tell(one.ChannelIDs, alert.Notice{Event: event, App: s.App, Incident: incident}, now, newID)
}

// tell stores a notice for each of some channels. Copies of the state share the list, so it is never appended to in
// place.
func (s *State) tell(channels []string, notice alert.Notice, now time.Time, newID func(prefix string) string) {
	s.Deliveries = slices.Clip(s.Deliveries)
	for _, channel := range channels {
		s.Deliveries = append(s.Deliveries, alert.Delivery{ID: newID("dlv_"), ChannelID: channel, Notice: notice, Next: now, CreatedAt: now})
	}
}
