package telemetry

import (
	"fmt"
	"math"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/event"
	"svc/domain/ingest"
)

// Policy defines the items that an environment accepts, their amount, and the action beyond it (contract 25).
type Policy struct {
	Events  EventsPolicy  `json:"events"`
	Errors  ErrorsPolicy  `json:"errors"`
	Metrics MetricsPolicy `json:"metrics"`
	Flags   FlagsPolicy   `json:"flags"`
	// Replay is reserved and always null.
	Replay     *struct{}    `json:"replay" doc:"Reserved; always null."`
	OverBudget BudgetAction `json:"overBudget" doc:"What happens to items of a signal over its monthly budget. sample keeps a tenth of the visitors; metric points have none and are dropped."`
	Alerts     BudgetAlerts `json:"alerts"`
}

// EventsPolicy limits events, identifies and aliases.
type EventsPolicy struct {
	Enabled       bool    `json:"enabled"`
	MonthlyBudget *int64  `json:"monthlyBudget" doc:"Events that are stored in a UTC month; null for no bound."`
	SampleRate    float64 `json:"sampleRate" doc:"The share of visitors that are kept, 0 to 1. Identifies and aliases are always kept."`
	MaxProperties int     `json:"maxPropertiesPerEvent" doc:"Properties beyond are left out of the event."`
	MaxBytes      int     `json:"maxPropertyBytes" doc:"A property whose value is longer, as JSON, is left out of the event."`
	DropBots      bool    `json:"dropBots" doc:"Drop what programs send, which is otherwise kept and marked isBot."`
}

// ErrorsPolicy limits errors.
type ErrorsPolicy struct {
	Enabled           bool   `json:"enabled"`
	MonthlyBudget     *int64 `json:"monthlyBudget" doc:"Errors that are stored in a UTC month; null for no bound. The first errors of an issue are kept beyond it."`
	PerIssuePerMinute int    `json:"perIssuePerMinute" doc:"Errors of one issue that a node takes in a minute; 0 for no bound."`
}

// MetricsPolicy limits metric points.
type MetricsPolicy struct {
	Enabled       bool   `json:"enabled"`
	MonthlyBudget *int64 `json:"monthlyBudget" doc:"Points that are stored in a UTC month; null for no bound."`
	// MaxSeries limits the series of the environment within a day.
	MaxSeries int `json:"maxSeries" doc:"Series that the environment may have within a day."`
	// MaxLabelsPerSeries limits the labels of a point.
	MaxLabelsPerSeries int `json:"maxLabelsPerSeries"`
	// LabelDenylist names labels that are dropped.
	LabelDenylist []string `json:"labelDenylist" doc:"Labels that are taken off every point."`
}

// FlagsPolicy limits the stored evaluations of flags; flags are answered regardless.
type FlagsPolicy struct {
	RecordEvaluations bool    `json:"recordEvaluations"`
	SampleRate        float64 `json:"sampleRate" doc:"The share of visitors whose evaluations are counted, 0 to 1."`
}

// BudgetAction is the action for items over a budget.
type BudgetAction string

// The actions.
const (
	BudgetAccept BudgetAction = "accept"
	BudgetSample BudgetAction = "sample"
	BudgetDrop   BudgetAction = "drop"
)

// BudgetActions lists the actions.
func BudgetActions() []BudgetAction { return []BudgetAction{BudgetAccept, BudgetSample, BudgetDrop} }

// Values lists the actions.
func (BudgetAction) Values() []BudgetAction { return BudgetActions() }

// BudgetAlerts defines the channels and thresholds for notices about budgets and stopped signals.
type BudgetAlerts struct {
	Thresholds []int    `json:"thresholds" doc:"Percents of a budget at which the channels are told, once each a month."`
	ChannelIDs []string `json:"channelIds" doc:"Channels of the application."`
	// SilentSignals enables notices when an active signal stops.
	SilentSignals bool `json:"silentSignals" doc:"Tell the channels when a signal that used to come stops for three times its usual pause, and when it comes again."`
}

// Limits of a policy.
const (
	MaxBudget           = 1 << 50
	MaxPropertiesLimit  = event.MaxPropertiesKeys
	MaxPropertyBytes    = event.MaxEventBytes
	MaxSeriesLimit      = 10_000_000
	MaxLabelsLimit      = 64
	MaxLabelDenylist    = 200
	MaxBudgetThresholds = 10
	MaxThreshold        = 1000
	MaxPolicyChannels   = 20
	MaxIssueRate        = 1_000_000
)

// OverBudgetRate is the share of visitors that is stored over a budget if the policy samples.
const OverBudgetRate = 0.1

// DefaultTelemetryPolicy applies until a member chooses another.
func DefaultTelemetryPolicy() Policy {
	return Policy{
		Events:     EventsPolicy{Enabled: true, SampleRate: 1, MaxProperties: 64, MaxBytes: 2048},
		Errors:     ErrorsPolicy{Enabled: true},
		Metrics:    MetricsPolicy{Enabled: true, MaxSeries: 20_000, MaxLabelsPerSeries: 16, LabelDenylist: []string{}},
		Flags:      FlagsPolicy{RecordEvaluations: true, SampleRate: 1},
		OverBudget: BudgetAccept,
		Alerts:     BudgetAlerts{Thresholds: []int{50, 80, 100}, ChannelIDs: []string{}},
	}
}

// Validate returns every problem of the policy, none if it is valid.
func (p *Policy) Validate() (problems []domain.FieldError) {
	within := func(field string, value, least, most int64) {
		if value < least || value > most {
			problems = append(problems, domain.FieldError{Field: "policy." + field, Code: "out_of_range", Message: fmt.Sprintf("%s must be %d to %d.", field, least, most)})
		}
	}
	for _, budget := range []struct {
		field string
		value *int64
	}{{"events.monthlyBudget", p.Events.MonthlyBudget}, {"errors.monthlyBudget", p.Errors.MonthlyBudget}, {"metrics.monthlyBudget", p.Metrics.MonthlyBudget}} {
		if budget.value != nil {
			within(budget.field, *budget.value, 0, MaxBudget)
		}
	}
	for _, rate := range []struct {
		field string
		value float64
	}{{"events.sampleRate", p.Events.SampleRate}, {"flags.sampleRate", p.Flags.SampleRate}} {
		if !(rate.value >= 0 && rate.value <= 1) {
			problems = append(problems, domain.FieldError{Field: "policy." + rate.field, Code: "out_of_range", Message: rate.field + " must be 0 to 1."})
		}
	}
	within("events.maxPropertiesPerEvent", int64(p.Events.MaxProperties), 0, MaxPropertiesLimit)
	within("events.maxPropertyBytes", int64(p.Events.MaxBytes), 1, MaxPropertyBytes)
	within("errors.perIssuePerMinute", int64(p.Errors.PerIssuePerMinute), 0, MaxIssueRate)
	within("metrics.maxSeries", int64(p.Metrics.MaxSeries), 0, MaxSeriesLimit)
	within("metrics.maxLabelsPerSeries", int64(p.Metrics.MaxLabelsPerSeries), 0, MaxLabelsLimit)
	within("metrics.labelDenylist", int64(len(p.Metrics.LabelDenylist)), 0, MaxLabelDenylist)
	if !slices.Contains(BudgetActions(), p.OverBudget) {
		problems = append(problems, domain.FieldError{Field: "policy.overBudget", Code: "unknown_value", Message: fmt.Sprintf("Unknown action %q.", p.OverBudget), Allowed: domain.Texts(BudgetActions())})
	}
	return append(problems, p.Alerts.validate()...)
}

func (a *BudgetAlerts) validate() (problems []domain.FieldError) {
	if len(a.Thresholds) > MaxBudgetThresholds || slices.ContainsFunc(a.Thresholds, func(t int) bool { return t < 1 || t > MaxThreshold }) {
		problems = append(problems, domain.FieldError{Field: "policy.alerts.thresholds", Code: "out_of_range", Message: fmt.Sprintf("At most %d percents of 1 to %d are allowed.", MaxBudgetThresholds, MaxThreshold)})
	}
	if len(a.ChannelIDs) > MaxPolicyChannels {
		problems = append(problems, domain.FieldError{Field: "policy.alerts.channelIds", Code: "too_many", Message: fmt.Sprintf("At most %d channels are told.", MaxPolicyChannels)})
	}
	return problems
}

// Normalise returns the policy in its stored form: lists without repetitions, sorted if their order has no meaning, and
// never null.
func (p Policy) Normalise() Policy {
	p.Metrics.LabelDenylist = orderedSet(p.Metrics.LabelDenylist)
	p.Alerts.Thresholds = orderedSet(p.Alerts.Thresholds)
	p.Alerts.ChannelIDs = orderedSet(p.Alerts.ChannelIDs)
	p.Replay = nil
	return p
}

func orderedSet[T int | string](values []T) []T {
	set := append([]T{}, values...)
	slices.Sort(set)
	return slices.Compact(set)
}

// Budget returns the monthly budget of a signal, or nil.
func (p *Policy) Budget(signal ingest.Signal) *int64 {
	switch signal {
	case ingest.SignalEvents:
		return p.Events.MonthlyBudget
	case ingest.SignalErrors:
		return p.Errors.MonthlyBudget
	case ingest.SignalMetrics:
		return p.Metrics.MonthlyBudget
	case ingest.SignalFlags:
	}
	return nil
}

// Enabled reports whether a signal is switched on.
func (p *Policy) Enabled(signal ingest.Signal) bool {
	switch signal {
	case ingest.SignalEvents:
		return p.Events.Enabled
	case ingest.SignalErrors:
		return p.Errors.Enabled
	case ingest.SignalMetrics:
		return p.Metrics.Enabled
	case ingest.SignalFlags:
		return p.Flags.RecordEvaluations
	}
	return true
}

// State is the stored telemetry state of an environment, except its usage.
type State struct {
	App         domain.AppRef `json:"app"`
	Env         string        `json:"env"`
	Environment uint64        `json:"environment"`
	Revision    int64         `json:"revision"`
	UpdatedAt   time.Time     `json:"updatedAt"`
	Policy      Policy        `json:"policy"`
	// SampledSince is the instant since which the events are sampled by their rate without interruption; zero if they
	// are not.
	SampledSince time.Time `json:"sampledSince"`
	// Month is the UTC month to which Over and Fired belong.
	Month string `json:"month"`
	// Over holds the signals over their budgets, and since when.
	Over map[ingest.Signal]time.Time `json:"over"`
	// Fired are the highest notified thresholds by signal.
	Fired map[ingest.Signal]int `json:"fired"`
	// Alerts are the latest alerts, the newest first.
	Alerts []BudgetAlert `json:"alerts"`
	// Silent are the active signals that have stopped.
	Silent map[ingest.Signal]SilentSignal `json:"silent,omitempty"`
	// Deliveries are the undelivered notices.
	Deliveries []alert.Delivery `json:"deliveries"`
}

// BudgetAlert records one notification that a signal used a part of its budget.
type BudgetAlert struct {
	ID          string        `json:"id"`
	Signal      ingest.Signal `json:"signal"`
	Threshold   int           `json:"threshold"`
	UsedPercent float64       `json:"usedPercent"`
	At          time.Time     `json:"at"`
	ChannelIDs  []string      `json:"channelIds"`
}

// MaxBudgetAlerts limits the stored alerts.
const MaxBudgetAlerts = 50

// Sampled says that an environment stores only a share of the visitors.
type Sampled struct {
	Rate  float64
	Since time.Time
}

// Sampling returns the share of visitors with stored items of a signal at an instant, and since when it applies. It
// returns nil if all items are stored.
func (s *State) Sampling(signal ingest.Signal, now time.Time) *Sampled {
	sampled := Sampled{Rate: 1}
	switch signal {
	case ingest.SignalEvents:
		sampled = Sampled{s.Policy.Events.SampleRate, s.SampledSince}
	case ingest.SignalFlags:
		sampled = Sampled{s.Policy.Flags.SampleRate, s.UpdatedAt}
	case ingest.SignalErrors, ingest.SignalMetrics:
	}
	if since, over := s.Over[signal]; over && s.Month == domain.MonthOf(now) {
		switch s.Policy.OverBudget {
		case BudgetSample:
			sampled.Rate *= OverBudgetRate
		case BudgetDrop:
			sampled.Rate = 0
		case BudgetAccept:
			since = sampled.Since
		}
		if sampled.Since.IsZero() || s.Policy.Events.SampleRate == 1 {
			sampled.Since = since
		}
	}
	if sampled.Rate >= 1 {
		return nil
	}
	return &sampled
}

// Update replaces the policy and increments the revision. It records since when events are sampled.
func (s *State) Update(policy Policy, now time.Time) {
	rate := s.Policy.Events.SampleRate
	s.Policy = policy.Normalise()
	s.Revision++
	s.UpdatedAt = now
	switch {
	case s.Policy.Events.SampleRate >= 1:
		s.SampledSince = time.Time{}
	case s.SampledSince.IsZero() || rate >= 1:
		s.SampledSince = now
	}
}

// InSample reports whether a visitor belongs to a share of the visitors. hash is the hash of the visitor in the
// environment. A visitor in a share is also in every larger one, so signals with one rate select the same visitors.
func InSample(hash uint64, rate float64) bool {
	if rate >= 1 {
		return true
	}
	// The partition number comes from the low bits, so the share uses mixed bits.
	hash ^= hash >> 33
	hash *= 0xff51afd7ed558ccd
	hash ^= hash >> 33
	hash *= 0xc4ceb9fe1a85ec53
	hash ^= hash >> 33
	return float64(hash>>11)/(1<<53) < rate
}

// Projection returns when a budget will be used up in the month of now if usage continues as in the latest days, nil if
// it will not. daily is the usage of a typical day.
func Projection(used, budget int64, daily float64, now time.Time) *time.Time {
	if used >= budget || daily <= 0 {
		return nil
	}
	at := now.UTC().Add(time.Duration(math.Min(float64(budget-used)/daily*24*float64(time.Hour), math.MaxInt64/2)))
	if domain.MonthOf(at) != domain.MonthOf(now) {
		return nil
	}
	return &at
}
