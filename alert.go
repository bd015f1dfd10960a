package svc

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// AlertKind is the kind of data that an alert rule watches.
type AlertKind string

// The kinds.
const (
	AlertMetric      AlertKind = "metric"
	AlertUptime      AlertKind = "uptime"
	AlertVital       AlertKind = "vital"
	AlertErrorRate   AlertKind = "error_rate"
	AlertEventVolume AlertKind = "event_volume"
	AlertNewIssue    AlertKind = "new_issue"
)

// AlertKinds lists the kinds in the order in which they are shown.
func AlertKinds() []AlertKind {
	return []AlertKind{AlertMetric, AlertUptime, AlertVital, AlertErrorRate, AlertEventVolume, AlertNewIssue}
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

// AlertCondition is the exact condition of a rule. The kind decides which fields count.
type AlertCondition struct {
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
func (s *AlertSpec) ReportsRegressions() bool {
	return s.Kind == AlertNewIssue && (s.Condition.Regressions == nil || *s.Condition.Regressions)
}

// Of returns the condition with only the fields that count for a kind, and their defaults.
func (c AlertCondition) Of(kind AlertKind) AlertCondition {
	switch kind {
	case AlertMetric:
		return AlertCondition{Name: c.Name, Agg: c.Agg, Labels: c.Labels}
	case AlertUptime:
		return AlertCondition{MonitorID: c.MonitorID}
	case AlertVital:
		return AlertCondition{Vital: c.Vital, Path: c.Path}
	case AlertErrorRate:
		return AlertCondition{Level: c.Level, Per: c.Per}
	case AlertEventVolume:
		return AlertCondition{Name: c.Name}
	case AlertNewIssue:
		if c.Regressions == nil {
			return AlertCondition{Regressions: new(true)}
		}
		return AlertCondition{Regressions: c.Regressions}
	}
	return AlertCondition{}
}

// validate returns every problem of a condition of a kind.
func (c AlertCondition) validate(kind AlertKind) (problems []FieldError) {
	word := func(field, value string, required bool, allowed []string) {
		switch {
		case value == "" && required:
			problems = append(problems, FieldError{Field: "condition." + field, Code: "required", Message: fmt.Sprintf("A rule of kind %s needs condition.%s.", kind, field), Allowed: allowed})
		case value != "" && allowed != nil && !slices.Contains(allowed, value):
			problems = append(problems, FieldError{Field: "condition." + field, Code: "unknown_value", Message: fmt.Sprintf("Unknown %s %q.", field, value), Allowed: allowed})
		case len(value) > MaxConditionText:
			problems = append(problems, FieldError{Field: "condition." + field, Code: "too_long", Message: fmt.Sprintf("The text is longer than %d bytes.", MaxConditionText)})
		}
	}
	switch kind {
	case AlertMetric:
		word("name", c.Name, true, nil)
		word("agg", c.Agg, true, words(Aggs()))
		problems = append(problems, validateLabels(c.Labels)...)
	case AlertUptime:
		word("monitorId", c.MonitorID, true, nil)
	case AlertVital:
		word("vital", c.Vital, true, Vitals())
		word("path", c.Path, false, nil)
	case AlertErrorRate:
		word("level", c.Level, false, IssueLevels())
		word("per", c.Per, false, []string{"session"})
	case AlertEventVolume:
		word("name", c.Name, false, nil)
	case AlertNewIssue:
	}
	return problems
}

// validateLabels refuses labels that no point can have.
func validateLabels(labels map[string]string) (problems []FieldError) {
	if len(labels) > MaxConditionLabels {
		problems = append(problems, FieldError{Field: "condition.labels", Code: "too_many", Message: fmt.Sprintf("There are more than %d labels.", MaxConditionLabels)})
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		switch value := labels[key]; {
		case key == "", value == "":
			problems = append(problems, FieldError{Field: "condition.labels." + key, Code: "missing_value", Message: "A label needs a name and a value; no point has an empty one."})
		case len(key) > MaxLabelKey, len(value) > MaxLabelValue:
			problems = append(problems, FieldError{Field: "condition.labels." + key, Code: "too_long", Message: fmt.Sprintf("A label has a name of up to %d and a value of up to %d bytes.", MaxLabelKey, MaxLabelValue)})
		}
	}
	return problems
}

// AlertSpec defines when an alert rule fires and which channels it notifies.
type AlertSpec struct {
	Name            string         `json:"name"`
	Kind            AlertKind      `json:"kind"`
	Threshold       float64        `json:"threshold"`
	Comparator      string         `json:"comparator"`
	WindowMinutes   int            `json:"windowMinutes"`
	CooldownMinutes int            `json:"cooldownMinutes"`
	Severity        string         `json:"severity"`
	Condition       AlertCondition `json:"condition"`
	ChannelIDs      []string       `json:"channelIds"`
	Enabled         bool           `json:"enabled"`
	// ForMinutes is how long the condition must hold before the rule fires.
	ForMinutes int `json:"forMinutes"`
	// RecoveryThreshold is the value at which a firing rule recovers; nil means Threshold.
	RecoveryThreshold *float64 `json:"recoveryThreshold,omitempty"`
	NoData            string   `json:"noData"`
}

// AlertPatch holds the fields of a request; nil fields keep their values.
type AlertPatch struct {
	Name            *string         `json:"name,omitempty"`
	Kind            *AlertKind      `json:"kind,omitempty"`
	Threshold       *float64        `json:"threshold,omitempty"`
	Comparator      *string         `json:"comparator,omitempty"`
	WindowMinutes   *int            `json:"windowMinutes,omitempty"`
	CooldownMinutes *int            `json:"cooldownMinutes,omitempty"`
	Severity        *string         `json:"severity,omitempty"`
	Condition       *AlertCondition `json:"condition,omitempty"`
	ChannelIDs      *[]string       `json:"channelIds,omitempty"`
	Enabled         *bool           `json:"enabled,omitempty"`
	ForMinutes      *int            `json:"forMinutes,omitempty"`
	// SetRecovery says that RecoveryThreshold becomes Recovery; a nil Recovery clears it.
	SetRecovery bool     `json:"setRecovery,omitempty"`
	Recovery    *float64 `json:"recovery,omitempty"`
	NoData      *string  `json:"noData,omitempty"`
}

// DefaultAlert holds the values of a new rule that a request leaves out.
func DefaultAlert() AlertSpec {
	return AlertSpec{Comparator: "gt", WindowMinutes: 5, CooldownMinutes: 30, Severity: "warning", Enabled: true, NoData: NoDataKeep, ChannelIDs: []string{}}
}

// With returns the specification with the fields of a patch.
func (s AlertSpec) With(p AlertPatch) AlertSpec {
	assign(&s.Name, p.Name)
	assign(&s.Kind, p.Kind)
	assign(&s.Threshold, p.Threshold)
	assign(&s.Comparator, p.Comparator)
	assign(&s.WindowMinutes, p.WindowMinutes)
	assign(&s.CooldownMinutes, p.CooldownMinutes)
	assign(&s.Severity, p.Severity)
	assign(&s.Condition, p.Condition)
	assign(&s.ChannelIDs, p.ChannelIDs)
	assign(&s.Enabled, p.Enabled)
	assign(&s.ForMinutes, p.ForMinutes)
	if p.SetRecovery {
		s.RecoveryThreshold = p.Recovery
	}
	assign(&s.NoData, p.NoData)
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
func (s AlertSpec) Validate() []FieldError {
	problems := validateName(s.Name)
	for _, word := range []struct {
		field, value string
		allowed      []string
	}{
		{"kind", string(s.Kind), words(AlertKinds())},
		{"comparator", s.Comparator, Comparators()},
		{"severity", s.Severity, Severities()},
		{"noData", s.NoData, NoDataWords()},
	} {
		switch {
		case word.value == "":
			problems = append(problems, FieldError{Field: word.field, Code: "required", Message: fmt.Sprintf("The field %s is required.", word.field), Allowed: word.allowed})
		case !slices.Contains(word.allowed, word.value):
			problems = append(problems, FieldError{Field: word.field, Code: "unknown_value", Message: fmt.Sprintf("Unknown %s %q.", word.field, word.value), Allowed: word.allowed})
		}
	}
	if math.IsNaN(s.Threshold) || math.IsInf(s.Threshold, 0) {
		problems = append(problems, FieldError{Field: "threshold", Code: "out_of_range", Message: "The threshold must be a number."})
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
			problems = append(problems, outOfRange(bound.field, bound.least, bound.most))
		}
	}
	if len(s.ChannelIDs) > MaxRuleChannels {
		problems = append(problems, FieldError{Field: "channelIds", Code: "too_many", Message: fmt.Sprintf("A rule has up to %d channels.", MaxRuleChannels)})
	}
	return append(append(problems, s.validateRecovery()...), s.Condition.validate(s.Kind)...)
}

// validateRecovery refuses a recovery threshold on the firing side of the rule's threshold, because it has no meaning:
// a rule that fires above 5 cannot wait until the value is below 10.
func (s AlertSpec) validateRecovery() []FieldError {
	if s.RecoveryThreshold == nil || *s.RecoveryThreshold == s.Threshold || s.Kind == AlertNewIssue {
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
	return []FieldError{{
		Field: "recoveryThreshold", Code: "out_of_range",
		Message: fmt.Sprintf("With the comparator %s, the recoveryThreshold is %s the threshold; null leaves it to the threshold.", s.Comparator, side),
	}}
}

// CheckChannels returns a problem for every unknown channel of the rule.
func (s AlertSpec) CheckChannels(known func(id string) bool) (problems []FieldError) {
	for i, id := range s.ChannelIDs {
		if !known(id) {
			problems = append(problems, FieldError{Field: fmt.Sprintf("channelIds[%d]", i), Code: "unknown_channel", Message: fmt.Sprintf("There is no channel %q.", id)})
		}
	}
	return problems
}

// UnknownMonitor is the problem of a condition that names a missing monitor.
func UnknownMonitor(id string) FieldError {
	return FieldError{Field: "condition.monitorId", Code: "unknown_monitor", Message: fmt.Sprintf("There is no monitor %q.", id)}
}

// EnvironmentFixed is the problem of a change that names another environment than that of its target.
func EnvironmentFixed(field, environment string) FieldError {
	return FieldError{
		Field: field, Code: "not_changeable", Allowed: []string{environment},
		Message: fmt.Sprintf("It belongs to the environment %s, which does not change; make another one for another environment.", environment),
	}
}

// Window is the span over which a value is measured. A rule must also have recovered for this long before its incident
// is resolved.
func (s *AlertSpec) Window() time.Duration { return time.Duration(s.WindowMinutes) * time.Minute }

// Cooldown is the time after the end of an incident in which a breach reopens it instead of opening a new one.
func (s *AlertSpec) Cooldown() time.Duration { return time.Duration(s.CooldownMinutes) * time.Minute }

// AlertRule is a rule of one environment of an application.
type AlertRule struct {
	ID string `json:"id"`
	AlertSpec
	Environment string `json:"environment"`
	// Number is the number of the environment.
	Number    uint64    `json:"number"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// AlertRow is a rule with its state.
type AlertRow struct {
	AlertRule
	Seen AlertState `json:"seen"`
}
