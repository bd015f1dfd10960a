package alert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/metric"
)

// Kind is the kind of data that an alert rule watches.
type Kind string

// The kinds.
const (
	Metric      Kind = "metric"
	Uptime      Kind = "uptime"
	Vital       Kind = "vital"
	ErrorRate   Kind = "error_rate"
	EventVolume Kind = "event_volume"
	NewIssue    Kind = "new_issue"
)

// Kinds lists the kinds in the order in which they are shown.
func Kinds() []Kind {
	return []Kind{Metric, Uptime, Vital, ErrorRate, EventVolume, NewIssue}
}

// Comparators lists the ways to compare a value with a threshold (contract 60).
func Comparators() []string { return []string{"gt", "gte", "lt", "lte", "eq", "neq"} }

// Severities lists the severities of rules and incidents (contract 61).
func Severities() []string { return []string{"info", "warning", "critical"} }

// NoDataWords lists the reactions of a rule to missing data: treat it as recovery, treat it as a breach, or hold its
// state.
func NoDataWords() []string { return []string{NoDataOK, NoDataAlert, NoDataKeep} }

// The reactions.
const (
	NoDataOK    = "ok"
	NoDataAlert = "alert"
	NoDataKeep  = "keep"
)

// IssueLevels lists the levels of errors.
func IssueLevels() []string { return []string{"fatal", "error", "warning", "info", "debug"} }

// Limits of alert rules.
const (
	MaxWindowMinutes   = 1440
	MaxCooldownMinutes = 7 * 1440
	MaxRuleChannels    = 20
	MaxConditionText   = 500 // bytes
	MaxConditionLabels = 16
	MaxRules           = 1000 // per application
	MaxChannels        = 100  // per application
)

// Condition is the exact condition of a rule. The kind decides which fields count.
type Condition struct {
	// Name is the name of a metric, or of the events that are counted ("" counts all).
	Name      string            `json:"name,omitempty"`
	Agg       string            `json:"agg,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	MonitorID string            `json:"monitorId,omitempty"`
	Vital     string            `json:"vital,omitempty"`
	Path      string            `json:"path,omitempty"`
	Level     string            `json:"level,omitempty"`
	// Per is "session" if occurrences are divided by sessions.
	Per string `json:"per,omitempty"`
	// Regressions says whether a rule of kind new_issue fires on regressions as well; nil means yes.
	Regressions *bool `json:"regressions,omitempty"`
}

// ReportsRegressions reports whether the rule fires on issues that regress.
func (s *Spec) ReportsRegressions() bool {
	return s.Kind == NewIssue && (s.Condition.Regressions == nil || *s.Condition.Regressions)
}

// Of returns the condition with only the fields that count for a kind, and their defaults.
func (c Condition) Of(kind Kind) Condition {
	switch kind {
	case Metric:
		return Condition{Name: c.Name, Agg: c.Agg, Labels: c.Labels}
	case Uptime:
		return Condition{MonitorID: c.MonitorID}
	case Vital:
		return Condition{Vital: c.Vital, Path: c.Path}
	case ErrorRate:
		return Condition{Level: c.Level, Per: c.Per}
	case EventVolume:
		return Condition{Name: c.Name}
	case NewIssue:
		if c.Regressions == nil {
			return Condition{Regressions: new(true)}
		}
		return Condition{Regressions: c.Regressions}
	}
	return Condition{}
}

// validate returns every problem of a condition of a kind.
func (c Condition) validate(kind Kind) (problems []domain.FieldError) {
	word := func(field, value string, required bool, allowed []string) {
		switch {
		case value == "" && required:
			problems = append(problems, domain.FieldError{Field: "condition." + field, Code: "required", Message: fmt.Sprintf("A rule of kind %s needs condition.%s.", kind, field), Allowed: allowed})
		case value != "" && allowed != nil && !slices.Contains(allowed, value):
			problems = append(problems, domain.FieldError{Field: "condition." + field, Code: "unknown_value", Message: fmt.Sprintf("Unknown %s %q.", field, value), Allowed: allowed})
		case len(value) > MaxConditionText:
			problems = append(problems, domain.FieldError{Field: "condition." + field, Code: "too_long", Message: fmt.Sprintf("The text is longer than %d bytes.", MaxConditionText)})
		}
	}
	switch kind {
	case Metric:
		word("name", c.Name, true, nil)
		word("agg", c.Agg, true, domain.Texts(metric.Aggs()))
		problems = append(problems, validateLabels(c.Labels)...)
	case Uptime:
		word("monitorId", c.MonitorID, true, nil)
	case Vital:
		word("vital", c.Vital, true, metric.Vitals())
		word("path", c.Path, false, nil)
	case ErrorRate:
		word("level", c.Level, false, IssueLevels())
		word("per", c.Per, false, []string{"session"})
	case EventVolume:
		word("name", c.Name, false, nil)
	case NewIssue:
	}
	return problems
}

// validateLabels refuses labels that no point can have.
func validateLabels(labels map[string]string) (problems []domain.FieldError) {
	if len(labels) > MaxConditionLabels {
		problems = append(problems, domain.FieldError{Field: "condition.labels", Code: "too_many", Message: fmt.Sprintf("There are more than %d labels.", MaxConditionLabels)})
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		switch value := labels[key]; {
		case key == "", value == "":
			problems = append(problems, domain.FieldError{Field: "condition.labels." + key, Code: "missing_value", Message: "A label needs a name and a value; no point has an empty one."})
		case len(key) > metric.MaxLabelKey, len(value) > metric.MaxLabelValue:
			problems = append(problems, domain.FieldError{Field: "condition.labels." + key, Code: "too_long", Message: fmt.Sprintf("A label has a name of up to %d and a value of up to %d bytes.", metric.MaxLabelKey, metric.MaxLabelValue)})
		}
	}
	return problems
}

// Spec defines when an alert rule fires and which channels it notifies.
type Spec struct {
	Name            string    `json:"name"`
	Kind            Kind      `json:"kind"`
	Threshold       float64   `json:"threshold"`
	Comparator      string    `json:"comparator"`
	WindowMinutes   int       `json:"windowMinutes"`
	CooldownMinutes int       `json:"cooldownMinutes"`
	Severity        string    `json:"severity"`
	Condition       Condition `json:"condition"`
	ChannelIDs      []string  `json:"channelIds"`
	Enabled         bool      `json:"enabled"`
	// ForMinutes is how long the condition must hold before the rule fires.
	ForMinutes int `json:"forMinutes"`
	// RecoveryThreshold is the value at which a firing rule recovers; nil means Threshold.
	RecoveryThreshold *float64 `json:"recoveryThreshold,omitempty"`
	NoData            string   `json:"noData"`
}

// Patch holds the fields of a request; nil fields keep their values.
type Patch struct {
	Name            *string    `json:"name,omitempty"`
	Kind            *Kind      `json:"kind,omitempty"`
	Threshold       *float64   `json:"threshold,omitempty"`
	Comparator      *string    `json:"comparator,omitempty"`
	WindowMinutes   *int       `json:"windowMinutes,omitempty"`
	CooldownMinutes *int       `json:"cooldownMinutes,omitempty"`
	Severity        *string    `json:"severity,omitempty"`
	Condition       *Condition `json:"condition,omitempty"`
	ChannelIDs      *[]string  `json:"channelIds,omitempty"`
	Enabled         *bool      `json:"enabled,omitempty"`
	ForMinutes      *int       `json:"forMinutes,omitempty"`
	// SetRecovery says that RecoveryThreshold becomes Recovery; a nil Recovery clears it.
	SetRecovery bool     `json:"setRecovery,omitempty"`
	Recovery    *float64 `json:"recovery,omitempty"`
	NoData      *string  `json:"noData,omitempty"`
}

// DefaultAlert holds the values of a new rule that a request leaves out.
func DefaultAlert() Spec {
	return Spec{Comparator: "gt", WindowMinutes: 5, CooldownMinutes: 30, Severity: "warning", Enabled: true, NoData: NoDataKeep, ChannelIDs: []string{}}
}

// With returns the specification with the fields of a patch.
func (s Spec) With(p Patch) Spec {
	domain.Assign(&s.Name, p.Name)
	domain.Assign(&s.Kind, p.Kind)
	domain.Assign(&s.Threshold, p.Threshold)
	domain.Assign(&s.Comparator, p.Comparator)
	domain.Assign(&s.WindowMinutes, p.WindowMinutes)
	domain.Assign(&s.CooldownMinutes, p.CooldownMinutes)
	domain.Assign(&s.Severity, p.Severity)
	domain.Assign(&s.Condition, p.Condition)
	domain.Assign(&s.ChannelIDs, p.ChannelIDs)
	domain.Assign(&s.Enabled, p.Enabled)
	domain.Assign(&s.ForMinutes, p.ForMinutes)
	if p.SetRecovery {
		s.RecoveryThreshold = p.Recovery
	}
	domain.Assign(&s.NoData, p.NoData)
	s.Name, s.Condition, s.ChannelIDs = strings.TrimSpace(s.Name), s.Condition.Of(s.Kind), once(s.ChannelIDs)
	return s
}

// once removes repeated words and retains the first of each.
func once(list []string) []string {
	out := make([]string, 0, len(list))
	for _, word := range list {
		if !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// Validate returns every problem of the specification, none if it is valid. It does not check that its channels exist.
func (s Spec) Validate() []domain.FieldError {
	problems := domain.ValidateName(s.Name)
	for _, word := range []struct {
		field, value string
		allowed      []string
	}{
		{"kind", string(s.Kind), domain.Texts(Kinds())},
		{"comparator", s.Comparator, Comparators()},
		{"severity", s.Severity, Severities()},
		{"noData", s.NoData, NoDataWords()},
	} {
		switch {
		case word.value == "":
			problems = append(problems, domain.FieldError{Field: word.field, Code: "required", Message: fmt.Sprintf("The field %s is required.", word.field), Allowed: word.allowed})
		case !slices.Contains(word.allowed, word.value):
			problems = append(problems, domain.FieldError{Field: word.field, Code: "unknown_value", Message: fmt.Sprintf("Unknown %s %q.", word.field, word.value), Allowed: word.allowed})
		}
	}
	if math.IsNaN(s.Threshold) || math.IsInf(s.Threshold, 0) {
		problems = append(problems, domain.FieldError{Field: "threshold", Code: "out_of_range", Message: "The threshold must be a number."})
	}
	for _, bound := range []struct {
		field              string
		value, least, most int
	}{
		{"windowMinutes", s.WindowMinutes, 1, MaxWindowMinutes},
		{"cooldownMinutes", s.CooldownMinutes, 0, MaxCooldownMinutes},
		{"forMinutes", s.ForMinutes, 0, MaxWindowMinutes},
	} {
		if bound.value < bound.least || bound.value > bound.most {
			problems = append(problems, domain.OutOfRange(bound.field, bound.least, bound.most))
		}
	}
	if len(s.ChannelIDs) > MaxRuleChannels {
		problems = append(problems, domain.FieldError{Field: "channelIds", Code: "too_many", Message: fmt.Sprintf("A rule has up to %d channels.", MaxRuleChannels)})
	}
	return append(append(problems, s.validateRecovery()...), s.Condition.validate(s.Kind)...)
}

// validateRecovery refuses a recovery threshold on the firing side of the rule's threshold, because it has no meaning:
// a rule that fires above 5 cannot wait until the value is below 10.
func (s Spec) validateRecovery() []domain.FieldError {
	if s.RecoveryThreshold == nil || *s.RecoveryThreshold == s.Threshold || s.Kind == NewIssue {
		return nil
	}
	ahead, side := *s.RecoveryThreshold < s.Threshold, "at most"
	switch s.Comparator {
	case "gt", "gte":
	case "lt", "lte":
		ahead, side = !ahead, "at least"
	default:
		ahead, side = false, "equal to"
	}
	if ahead {
		return nil
	}
	return []domain.FieldError{{
		Field: "recoveryThreshold", Code: "out_of_range",
		Message: fmt.Sprintf("With the comparator %s, the recoveryThreshold is %s the threshold; null leaves it to the threshold.", s.Comparator, side),
	}}
}

// CheckChannels returns a problem for every unknown channel of the rule.
func (s Spec) CheckChannels(known func(id string) bool) (problems []domain.FieldError) {
	for i, id := range s.ChannelIDs {
		if !known(id) {
			problems = append(problems, domain.FieldError{Field: fmt.Sprintf("channelIds[%d]", i), Code: "unknown_channel", Message: fmt.Sprintf("There is no channel %q.", id)})
		}
	}
	return problems
}

// UnknownMonitor is the problem of a condition that names a missing monitor.
func UnknownMonitor(id string) domain.FieldError {
	return domain.FieldError{Field: "condition.monitorId", Code: "unknown_monitor", Message: fmt.Sprintf("There is no monitor %q.", id)}
}

// EnvironmentFixed is the problem of a change that names another environment than that of its target.
func EnvironmentFixed(field, environment string) domain.FieldError {
	return domain.FieldError{
		Field: field, Code: "not_changeable", Allowed: []string{environment},
		Message: fmt.Sprintf("It belongs to the environment %s, which does not change; make another one for another environment.", environment),
	}
}

// Window is the span over which a value is measured. A rule must also have recovered for this long before its incident
// is resolved.
func (s *Spec) Window() time.Duration { return time.Duration(s.WindowMinutes) * time.Minute }

// Cooldown is the time after the end of an incident in which a breach reopens it instead of opening a new one.
func (s *Spec) Cooldown() time.Duration { return time.Duration(s.CooldownMinutes) * time.Minute }

// Rule is a rule of one environment of an application.
type Rule struct {
	ID string `json:"id"`
	Spec
	Environment string `json:"environment"`
	// Number is the number of the environment.
	Number    uint64    `json:"number"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Row is a rule with its state.
type Row struct {
	Rule
	Seen State `json:"seen"`
}
