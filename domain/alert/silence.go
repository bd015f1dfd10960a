package alert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Limits of silences.
const (
	// MaxSilences is the number of stored silences per application. New ones replace ended ones, the oldest first.
	MaxSilences = 200
	// MaxSilenceTime is how long a silence may last.
	MaxSilenceTime = 366 * 24 * time.Hour
)

// SilenceSpec defines the incidents without notices, and the time. An empty matcher accepts all.
type SilenceSpec struct {
	Name        string            `json:"name"`
	RuleID      string            `json:"ruleId,omitempty"`
	MonitorID   string            `json:"monitorId,omitempty"`
	Environment string            `json:"environment,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// SilencePatch holds the fields of a request; nil fields keep their values.
type SilencePatch struct {
	Name        *string            `json:"name,omitempty"`
	RuleID      *string            `json:"ruleId,omitempty"`
	MonitorID   *string            `json:"monitorId,omitempty"`
	Environment *string            `json:"environment,omitempty"`
	Labels      *map[string]string `json:"labels,omitempty"`
	StartsAt    *time.Time         `json:"startsAt,omitempty"`
	EndsAt      *time.Time         `json:"endsAt,omitempty"`
}

// With returns the specification with the fields of a patch.
func (s SilenceSpec) With(p SilencePatch) SilenceSpec {
	domain.Assign(&s.Name, p.Name)
	domain.Assign(&s.RuleID, p.RuleID)
	domain.Assign(&s.MonitorID, p.MonitorID)
	domain.Assign(&s.Environment, p.Environment)
	domain.Assign(&s.Labels, p.Labels)
	domain.Assign(&s.StartsAt, p.StartsAt)
	domain.Assign(&s.EndsAt, p.EndsAt)
	s.Name = strings.TrimSpace(s.Name)
	s.StartsAt, s.EndsAt = s.StartsAt.UTC().Truncate(time.Millisecond), s.EndsAt.UTC().Truncate(time.Millisecond)
	return s
}

// Validate returns every problem of the specification, none if it is valid.
func (s *SilenceSpec) Validate() []domain.FieldError {
	problems := append(domain.ValidateName(s.Name), validateLabels(s.Labels)...)
	switch length := s.EndsAt.Sub(s.StartsAt); {
	case s.EndsAt.IsZero():
		problems = append(problems, domain.FieldError{Field: "endsAt", Code: "required", Message: "The field endsAt is required."})
	case length <= 0 || length > MaxSilenceTime:
		problems = append(problems, domain.FieldError{Field: "endsAt", Code: "out_of_range", Message: fmt.Sprintf("endsAt is after startsAt, by %d days at most.", int(MaxSilenceTime/(24*time.Hour)))})
	}
	return problems
}

// Silence is a span of time, for example of maintenance, in which incidents are recorded but send no notices.
type Silence struct {
	ID string `json:"id"`
	SilenceSpec
	CreatedAt time.Time          `json:"createdAt"`
	UpdatedAt time.Time          `json:"updatedAt"`
	CreatedBy domain.LedgerActor `json:"createdBy"`
}

// SilenceState is the state of a silence at an instant.
type SilenceState string

// The states.
const (
	SilenceUpcoming SilenceState = "upcoming"
	SilenceActive   SilenceState = "active"
	SilenceEnded    SilenceState = "ended"
)

// Values lists the states.
func (SilenceState) Values() []SilenceState {
	return []SilenceState{SilenceUpcoming, SilenceActive, SilenceEnded}
}

// At returns the state of the silence at an instant.
func (s *Silence) At(now time.Time) SilenceState {
	switch {
	case now.Before(s.StartsAt):
		return SilenceUpcoming
	case now.Before(s.EndsAt):
		return SilenceActive
	}
	return SilenceEnded
}

// Covers reports whether the silence suppresses an incident's notices at an instant.
func (s *Silence) Covers(i *Incident, now time.Time) bool {
	if s.At(now) != SilenceActive || s.RuleID != "" && s.RuleID != i.RuleID || s.MonitorID != "" && s.MonitorID != i.MonitorID ||
		s.Environment != "" && s.Environment != i.Environment {
		return false
	}
	for key, value := range s.Labels {
		if i.Labels[key] != value {
			return false
		}
	}
	return true
}

// SilenceOf returns the silence that suppresses an incident longest, or nil.
func SilenceOf(silences map[string]Silence, i *Incident, now time.Time) *Silence {
	var found *Silence
	for _, silence := range silences {
		if silence.Covers(i, now) && (found == nil || cmp.Or(silence.EndsAt.Compare(found.EndsAt), strings.Compare(silence.ID, found.ID)) > 0) {
			found = &silence
		}
	}
	return found
}

// Quiet returns the state of a rule with a notice that a silence suppresses. The channels are notified at the end of
// the silence if the incident is still open then.
func (s State) Quiet(by *Silence) State {
	quiet := *s.Incident
	quiet.Told, quiet.TellAt, quiet.SilenceID = false, by.EndsAt, by.ID
	s.Incident = &quiet
	return s
}

// Unquiet returns the state after the silence with an id was removed or changed, and whether it is affected. If it is,
// the rule decides at once whether to notify.
func (s State) Unquiet(silence string, now time.Time) (State, bool) {
	if !s.Incident.Live() || s.Incident.SilenceID != silence {
		return s, false
	}
	again := *s.Incident
	again.SilenceID, again.TellAt = "", now
	s.Incident = &again
	return s, true
}

// SortSilences orders silences by their end, the latest first.
func SortSilences(silences []Silence) {
	slices.SortFunc(silences, func(a, b Silence) int { return cmp.Or(b.EndsAt.Compare(a.EndsAt), strings.Compare(b.ID, a.ID)) })
}
