package telemetry

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/telemetry"
	"svc/http/api"
	"svc/http/route"
)

type updateTelemetry struct {
	api.AppPath
	Env  api.Env      `query:"env" doc:"The environment's slug."`
	Body policyChange `body:"json"`
}

// policyChange is the body of POST …/telemetry.
type policyChange struct {
	ExpectedRevision int64       `json:"expectedRevision" required:"true" doc:"The revision on which the change is based; another one is refused."`
	Policy           policyPatch `json:"policy" required:"true" doc:"What changes; members that are absent stay."`
}

// policyPatch changes a policy.
type policyPatch struct {
	Events     *eventsPatch            `json:"events"`
	Errors     *errorsPatch            `json:"errors"`
	Metrics    *metricsPatch           `json:"metrics"`
	Flags      *flagsPatch             `json:"flags"`
	Replay     route.Nullable[string]  `json:"replay" doc:"Reserved; always null."`
	OverBudget *telemetry.BudgetAction `json:"overBudget" doc:"accept, sample (keep a tenth of the visitors) or drop."`
	Alerts     *alertsPatch            `json:"alerts"`
}

type eventsPatch struct {
	Enabled       *bool                 `json:"enabled"`
	MonthlyBudget route.Nullable[int64] `json:"monthlyBudget" doc:"null for no bound."`
	SampleRate    *float64              `json:"sampleRate" doc:"0 to 1."`
	MaxProperties *int                  `json:"maxPropertiesPerEvent"`
	MaxBytes      *int                  `json:"maxPropertyBytes"`
	DropBots      *bool                 `json:"dropBots"`
}

type errorsPatch struct {
	Enabled           *bool                 `json:"enabled"`
	MonthlyBudget     route.Nullable[int64] `json:"monthlyBudget" doc:"null for no bound."`
	PerIssuePerMinute *int                  `json:"perIssuePerMinute" doc:"0 for no bound."`
}

type metricsPatch struct {
	Enabled            *bool                 `json:"enabled"`
	MonthlyBudget      route.Nullable[int64] `json:"monthlyBudget" doc:"Points; null for no bound."`
	MaxSeries          *int                  `json:"maxSeries"`
	MaxLabelsPerSeries *int                  `json:"maxLabelsPerSeries"`
	LabelDenylist      *[]string             `json:"labelDenylist" doc:"Replaces the whole list."`
}

type flagsPatch struct {
	RecordEvaluations *bool    `json:"recordEvaluations"`
	SampleRate        *float64 `json:"sampleRate" doc:"0 to 1."`
}

type alertsPatch struct {
	Thresholds *[]int    `json:"thresholds" doc:"Percents of a budget; replaces the whole list."`
	ChannelIDs *[]string `json:"channelIds" doc:"Replaces the whole list; needs metrics.write where it changes."`
	Silent     *bool     `json:"silentSignals" doc:"Tell the channels when a signal that used to come stops, and when it comes again."`
}

// set changes a value if the patch contains it.
func set[T any](value, wish *T) {
	if wish != nil {
		*value = *wish
	}
}

func setBudget(value **int64, wish route.Nullable[int64]) {
	if wish.Set {
		*value = wish.Value
	}
}

// apply changes a policy.
func (p *policyPatch) apply(to *telemetry.Policy) {
	if e := p.Events; e != nil {
		set(&to.Events.Enabled, e.Enabled)
		setBudget(&to.Events.MonthlyBudget, e.MonthlyBudget)
		set(&to.Events.SampleRate, e.SampleRate)
		set(&to.Events.MaxProperties, e.MaxProperties)
		set(&to.Events.MaxBytes, e.MaxBytes)
		set(&to.Events.DropBots, e.DropBots)
	}
	if e := p.Errors; e != nil {
		set(&to.Errors.Enabled, e.Enabled)
		setBudget(&to.Errors.MonthlyBudget, e.MonthlyBudget)
		set(&to.Errors.PerIssuePerMinute, e.PerIssuePerMinute)
	}
	if m := p.Metrics; m != nil {
		set(&to.Metrics.Enabled, m.Enabled)
		setBudget(&to.Metrics.MonthlyBudget, m.MonthlyBudget)
		set(&to.Metrics.MaxSeries, m.MaxSeries)
		set(&to.Metrics.MaxLabelsPerSeries, m.MaxLabelsPerSeries)
		set(&to.Metrics.LabelDenylist, m.LabelDenylist)
	}
	if f := p.Flags; f != nil {
		set(&to.Flags.RecordEvaluations, f.RecordEvaluations)
		set(&to.Flags.SampleRate, f.SampleRate)
	}
	set(&to.OverBudget, p.OverBudget)
	if a := p.Alerts; a != nil {
		set(&to.Alerts.Thresholds, a.Thresholds)
		set(&to.Alerts.ChannelIDs, a.ChannelIDs)
		set(&to.Alerts.SilentSignals, a.Silent)
	}
}

// Check applies the rules of policies to the present members.
func (u *updateTelemetry) Check(*route.Call) []domain.FieldError {
	policy := telemetry.DefaultTelemetryPolicy()
	u.Body.Policy.apply(&policy)
	problems := policy.Validate()
	if u.Body.Policy.Replay.Value != nil {
		problems = append(problems, domain.FieldError{Field: "policy.replay", Code: "invalid_value", Message: "replay is reserved and null."})
	}
	return problems
}

// policyAnswer is the answer of POST …/telemetry (contract 27).
type policyAnswer struct {
	Policy      telemetry.Policy `json:"policy"`
	Revision    int64            `json:"revision"`
	Environment string           `json:"environment"`
}

func (t handlers) update(ctx context.Context, call *route.Call, in updateTelemetry) (policyAnswer, error) {
	state, err := t.Policies.Telemetry(ctx, call.Ref(), in.Env.Environment)
	if err != nil {
		return policyAnswer{}, err
	}
	if state.Revision != in.Body.ExpectedRevision {
		return policyAnswer{}, errStale(&state)
	}
	policy := state.Policy
	in.Body.Policy.apply(&policy)
	policy = policy.Normalise()
	if !slices.Equal(policy.Alerts.ChannelIDs, state.Policy.Alerts.ChannelIDs) && !call.Grant.May(domain.PermMetricsWrite) {
		return policyAnswer{}, &domain.Error{
			Code: domain.CodeForbidden, Required: &domain.Required{Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite},
			Message: "To change the channels of budget alerts needs the permission metrics.write.",
		}
	}
	next, stale, err := t.Policies.UpdateTelemetry(ctx, call.Ref(), in.Env.Environment, in.Body.ExpectedRevision, policy)
	switch {
	case err != nil:
		return policyAnswer{}, err
	case stale:
		return policyAnswer{}, errStale(&next)
	}
	call.About(in.Env.ID)
	return policyAnswer{Policy: next.Policy, Revision: next.Revision, Environment: in.Env.Slug}, nil
}

// errStale refuses a change that is based on another revision.
func errStale(present *telemetry.State) error {
	return &domain.Error{
		Code: domain.CodeConflict, Reason: "stale_revision", Message: "The policy has changed since; the answer has the present one.",
		Present: &domain.PresentRevision{Revision: present.Revision, Policy: &present.Policy},
	}
}
