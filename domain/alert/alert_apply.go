package alert

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"svc/domain"
)

// StateWord is the name of a rule's state.
type StateWord string

// The states (contract 63).
const (
	OK      StateWord = "ok"
	Pending StateWord = "pending"
	Firing  StateWord = "firing"
	NoData  StateWord = "no_data"
)

// State is the state of a rule after its measurements.
type State struct {
	State           StateWord `json:"state"`
	LastEvaluatedAt time.Time `json:"lastEvaluatedAt,omitzero"`
	LastValue       *float64  `json:"lastValue,omitempty"`
	LastFiredAt     time.Time `json:"lastFiredAt,omitzero"`
	// Since is when the condition began to hold, Recovered when it ceased to hold.
	Since     time.Time `json:"since,omitzero"`
	Recovered time.Time `json:"recovered,omitzero"`
	// SuppressedUntil is the instant before which values are not trusted, because the service itself was down during
	// their window.
	SuppressedUntil time.Time `json:"suppressedUntil,omitzero"`
	// Incident is the latest incident of the rule.
	Incident *Incident `json:"incident,omitempty"`
}

// Measurement is the value of a rule's condition at an instant.
type Measurement struct {
	At    time.Time
	Value float64
	// Known is false if there was no data.
	Known bool
	// Issue is the id of the issue that a rule of kind new_issue reports.
	Issue      string
	IssueTitle string
	// Others is the number of further issues that are new, or have regressed, at the same time.
	Others int
	// Regressed says that the issues are not new but came back after a resolution.
	Regressed bool
}

// breached compares a value with a threshold.
func breached(comparator string, value, threshold float64) bool {
	switch comparator {
	case "gt":
		return value > threshold
	case "gte":
		return value >= threshold
	case "lt":
		return value < threshold
	case "lte":
		return value <= threshold
	case "eq":
		return value == threshold
	}
	return value != threshold
}

// Suppressible reports whether an outage of the service itself can make the rule fire: data that was not ingested makes
// values too small, never too large.
func (s *Spec) Suppressible() bool { return s.Comparator != "gt" && s.Comparator != "gte" }

// holds reports whether a measurement breaches the rule, and whether it is a recovery. Between the two thresholds it is
// neither.
func (s *Spec) holds(m Measurement) (breach, recovery bool) {
	switch {
	case s.Kind == NewIssue:
		return m.Known, !m.Known
	case !m.Known:
		return s.NoData == NoDataAlert, s.NoData == NoDataOK
	}
	breach = breached(s.Comparator, m.Value, s.Threshold)
	until := s.Threshold
	if s.RecoveryThreshold != nil {
		until = *s.RecoveryThreshold
	}
	return breach, !breach && !breached(s.Comparator, m.Value, until)
}

// Apply returns the state after a measurement, and the notices to send. A measurement older than the last one changes
// nothing.
func (r *Rule) Apply(s State, m Measurement) (State, []NoticeEvent) {
	if m.At.Before(s.LastEvaluatedAt) {
		return s, nil
	}
	s.LastEvaluatedAt = m.At
	if r.Kind != NewIssue || m.Known {
		s.LastValue = nil
	}
	if m.Known {
		value := m.Value
		s.LastValue = &value
	}
	breach, recovery := r.holds(m)
	switch {
	case breach && s.State == Firing:
		return r.repeat(s, m)
	case breach:
		return r.rise(s, m)
	case s.State == Firing:
		return r.fall(s, m, recovery)
	}
	s.State, s.Since = OK, time.Time{}
	if !m.Known && r.Kind != NewIssue && r.NoData == NoDataKeep {
		s.State = NoData
	}
	return s, nil
}

// rise handles a breach of a rule that is not firing.
func (r *Rule) rise(s State, m Measurement) (State, []NoticeEvent) {
	if s.State != Pending {
		s.State, s.Since = Pending, m.At
	}
	if m.At.Sub(s.Since) < time.Duration(r.ForMinutes)*time.Minute {
		return s, nil
	}
	s.State, s.LastFiredAt, s.Since, s.Recovered = Firing, m.At, time.Time{}, time.Time{}
	last := s.Incident
	// The resolution of the issue has ended the cooldown.
	if last != nil && last.ResolvedAt != nil && m.At.Sub(*last.ResolvedAt) < r.Cooldown() && !m.Regressed {
		again := *last
		again.TellAt = last.ResolvedAt.Add(r.Cooldown())
		again.Status, again.ResolvedAt, again.ResolvedBy, again.AcknowledgedAt, again.AcknowledgedBy = IncidentOpen, nil, nil, nil, nil
		again.SilenceID = ""
		s.Incident = r.triggered(again, m)
		return s, nil
	}
	begun := Incident{ID: incidentID(r.ID, m.At), RuleID: r.ID, Status: IncidentOpen, StartedAt: m.At, Told: true}
	if m.Regressed {
		begun.RegressedAt = m.At
	}
	s.Incident = r.triggered(begun, m)
	return s, []NoticeEvent{NoticeOpen}
}

// repeat handles a breach of a rule that is firing.
func (r *Rule) repeat(s State, m Measurement) (State, []NoticeEvent) {
	s.Recovered = time.Time{}
	same := s.Incident.IssueID == m.Issue
	s.Incident = r.triggered(*s.Incident, m)
	if m.Regressed {
		return r.again(s, m.At, same)
	}
	return r.tell(s, m.At)
}

// RegressionPause is the least time between two notices of an incident about different regressed issues: if a hundred
// regress at once, people get one notice.
const RegressionPause = time.Minute

// again notifies the channels of an open incident once more, because an issue has regressed. Its resolution ended every
// acknowledgement. The notice goes out at once if the last notice was about the same issue, or if the last notice of a
// regression is older than RegressionPause. Otherwise it goes out at the end of that pause.
func (r *Rule) again(s State, now time.Time, same bool) (State, []NoticeEvent) {
	told := *s.Incident
	told.Status, told.AcknowledgedAt, told.AcknowledgedBy = IncidentOpen, nil, nil
	due := told.RegressedAt.Add(RegressionPause)
	if !same && !told.RegressedAt.IsZero() && now.Before(due) {
		if told.TellAt.IsZero() || due.Before(told.TellAt) {
			told.TellAt = due
		}
		s.Incident = &told
		return s, nil
	}
	told.RegressedAt, told.TellAt = now, now
	s.Incident = &told
	return r.tell(s, now)
}

// tell notifies the channels of a reopened incident that has outlasted the cooldown.
func (r *Rule) tell(s State, now time.Time) (State, []NoticeEvent) {
	if s.Incident.TellAt.IsZero() || now.Before(s.Incident.TellAt) || s.Incident.Status != IncidentOpen {
		return s, nil
	}
	told := *s.Incident
	told.Told, told.TellAt, told.SilenceID = true, time.Time{}, ""
	if !told.RegressedAt.IsZero() {
		told.RegressedAt = now
	}
	s.Incident = &told
	return s, []NoticeEvent{NoticeOpen}
}

// fall handles a measurement without a breach while the rule is firing.
func (r *Rule) fall(s State, m Measurement, recovery bool) (State, []NoticeEvent) {
	if !recovery {
		s.Recovered = time.Time{}
		return s, nil
	}
	if s.Recovered.IsZero() {
		s.Recovered = m.At
		if r.Kind == NewIssue {
			s.Recovered = s.Incident.LastTriggeredAt
		}
	}
	if m.At.Sub(s.Recovered) < r.Window() {
		return s, nil
	}
	return s.Resolve(nil, m.At)
}

// Resolve ends the incident of a rule, by hand if by is not nil.
func (s State) Resolve(by *domain.LedgerActor, now time.Time) (State, []NoticeEvent) {
	if !s.Incident.Live() {
		return s, nil
	}
	ended := *s.Incident
	told := ended.Told
	ended.Status, ended.ResolvedAt, ended.ResolvedBy, ended.Told, ended.TellAt = IncidentResolved, &now, by, false, time.Time{}
	s.State, s.Incident, s.Recovered, s.Since = OK, &ended, time.Time{}, time.Time{}
	if !told {
		return s, nil
	}
	return s, []NoticeEvent{NoticeResolved}
}

// OccurrenceTime is the span within which several breaches of a measured rule count as one. So the count of an incident
// does not depend on how often the rule is evaluated.
const OccurrenceTime = 10 * time.Second

// triggered returns the incident after one more breach.
func (r *Rule) triggered(i Incident, m Measurement) *Incident {
	i.RuleName, i.Kind, i.Severity, i.Environment = r.Name, r.Kind, r.Severity, r.Environment
	if r.Kind.Reported() || i.Occurrences == 0 || !i.LastTriggeredAt.Truncate(OccurrenceTime).Equal(m.At.Truncate(OccurrenceTime)) {
		i.Occurrences += 1 + uint64(m.Others)
	}
	i.Threshold, i.Comparator, i.LastTriggeredAt, i.Value = r.Threshold, r.Comparator, m.At, nil
	if m.Known && r.Kind != NewIssue {
		value := m.Value
		i.Value = &value
	}
	i.MonitorID, i.Labels = r.Condition.MonitorID, maps.Clone(r.Condition.Labels)
	if r.Kind == Metric {
		i.Metric = r.Condition.Name
	}
	if m.Issue != "" {
		i.IssueID = m.Issue
	}
	i.Title = r.title(m)
	return &i
}

// title describes the breach in one line.
func (r *Rule) title(m Measurement) string {
	switch {
	case r.Kind == NewIssue && m.Regressed && m.Others > 0:
		return fmt.Sprintf("%s — %d issues regressed, one of them: %s", r.Name, 1+m.Others, m.IssueTitle)
	case r.Kind == NewIssue && m.Regressed:
		return fmt.Sprintf("%s — regressed: %s", r.Name, m.IssueTitle)
	case r.Kind == NewIssue && m.Others > 0:
		return fmt.Sprintf("%s — %d new issues, one of them: %s", r.Name, 1+m.Others, m.IssueTitle)
	case r.Kind == NewIssue:
		return fmt.Sprintf("%s — new issue: %s", r.Name, m.IssueTitle)
	case !m.Known:
		return r.Name + " — no data"
	}
	signs := map[string]string{"gt": ">", "gte": "≥", "lt": "<", "lte": "≤", "eq": "=", "neq": "≠"}
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
	return fmt.Sprintf("%s — %s %s %s", r.Name, number(m.Value), signs[r.Comparator], number(r.Threshold))
}

// Due returns when a rule must be evaluated without new data, the zero time for never. A rule is due while it is
// pending, recovers, or has an incident to notify.
func (r *Rule) Due(s *State, now time.Time) (due time.Time) {
	sooner := func(at time.Time) {
		at = at.Truncate(0)
		if at.Before(now) {
			at = now
		}
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	if s.State == Pending {
		sooner(s.Since.Add(time.Duration(r.ForMinutes) * time.Minute))
	}
	if s.State != Firing || !s.Incident.Live() {
		return due
	}
	if !s.Recovered.IsZero() {
		sooner(s.Recovered.Add(r.Window()))
	} else if r.Kind == NewIssue {
		sooner(s.Incident.LastTriggeredAt.Add(r.Window()))
	}
	if at := s.Incident.TellAt; !at.IsZero() && s.Incident.Status == IncidentOpen {
		sooner(at)
	}
	return due
}

// Tick evaluates a notified rule (uptime, new_issue) after time has passed without a notification: the last one still
// holds.
func (r *Rule) Tick(s State, now time.Time) (State, []NoticeEvent) {
	evaluated := s.LastEvaluatedAt
	if r.Kind == NewIssue {
		if s.State != Firing {
			return s, nil
		}
		next, events := r.Apply(s, Measurement{At: now})
		if next.State == Firing {
			next, events = r.tell(next, now)
		}
		next.LastEvaluatedAt = evaluated
		return next, events
	}
	if s.LastValue == nil {
		return s, nil
	}
	m := Measurement{At: now, Value: *s.LastValue, Known: true}
	if breach, _ := r.holds(m); breach && s.State == Firing {
		return r.tell(s, now)
	}
	next, events := r.Apply(s, m)
	next.LastEvaluatedAt = evaluated
	return next, events
}

// Streamed reports whether the pipeline notifies the rule, of new issues or of the rows that it counts.
func (r *Rule) Streamed() bool { return r.Kind != Uptime }

// Reported reports whether rules of this kind receive their values instead of measuring them.
func (k Kind) Reported() bool { return k == Uptime || k == NewIssue }
