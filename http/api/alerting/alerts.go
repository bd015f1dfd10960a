package alerting

import (
	"context"
	"net/http"
	"slices"

	"svc/domain"
	"svc/domain/alert"
	"svc/http/api"
	"svc/http/route"
)

// Alerts stores the alert rules, incidents and channels of applications.
type Alerts interface {
	// Rules returns an application's alert rules with their states.
	Rules(ctx context.Context, ref domain.AppRef) ([]alert.Row, error)
	// PutRule makes a rule of an environment, or changes the rule with an id; the zero environment means the rule's
	// own. It fails with not_found if no rule has the id. It fails with invalid_request if the specification is invalid
	// or names an unknown channel, or if the rule belongs to another environment.
	PutRule(ctx context.Context, ref domain.AppRef, id string, env domain.Environment, patch alert.Patch) (alert.Row, error)
	DeleteRule(ctx context.Context, ref domain.AppRef, id string) error
	// Acknowledge and Resolve fail with not_found if no rule's latest incident has the id, and with
	// conflict if the incident's status does not allow it.
	Acknowledge(ctx context.Context, ref domain.AppRef, id string, by domain.LedgerActor) (alert.Incident, error)
	Resolve(ctx context.Context, ref domain.AppRef, id string, by domain.LedgerActor) (alert.Incident, error)
}

// alerts serves the routes of alert rules.
type alerts struct{ alerts Alerts }

func alertRoutes(ports Ports) []route.Route { //nolint:dupl // rows of a table look alike
	alerts := alerts{ports.Alerts}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/alerts", Operation: "alerts.list", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Alert rules", Handler: route.Typed(alerts.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/alerts", Operation: "alerts.put", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Write, Ledger: "alert.updated", Rate: domain.RateDefault,
			Summary: "Create an alert rule, or change the one of the id; fields that are absent keep their values", Status: 201, Also: 200, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(alerts.put),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/alerts/{id}", Operation: "alerts.delete", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Destructive, Ledger: "alert.deleted", Rate: domain.RateDefault,
			Summary: "Delete an alert rule; its incident is resolved", Status: 204, Handler: route.Typed(alerts.delete),
		},
	}
}

// alertRule is a rule as answers show it (contract 63).
type alertRule struct {
	ID                string          `json:"id"`
	Name              string          `json:"name"`
	Kind              alert.Kind      `json:"kind" open:"true"`
	Threshold         float64         `json:"threshold"`
	Comparator        string          `json:"comparator"`
	WindowMinutes     int             `json:"windowMinutes"`
	CooldownMinutes   int             `json:"cooldownMinutes"`
	Severity          string          `json:"severity"`
	Condition         alert.Condition `json:"condition"`
	ChannelIDs        []string        `json:"channelIds"`
	Enabled           bool            `json:"enabled"`
	ForMinutes        int             `json:"forMinutes"`
	RecoveryThreshold *float64        `json:"recoveryThreshold"`
	NoData            string          `json:"noData"`
	Environment       string          `json:"environment"`
	State             alert.StateWord `json:"state" open:"true" observed:"true" doc:"ok, pending, firing or no_data."`
	LastEvaluatedAt   *route.Time     `json:"lastEvaluatedAt" observed:"true"`
	LastValue         *float64        `json:"lastValue" observed:"true"`
	LastFiredAt       *route.Time     `json:"lastFiredAt" observed:"true"`
	SuppressedUntil   *route.Time     `json:"suppressedUntil" observed:"true" doc:"Until then the service's own outage lies in the rule's window; values that are too small are not trusted."`
	CreatedAt         route.Time      `json:"createdAt"`
	UpdatedAt         route.Time      `json:"updatedAt"`
}

func alertRuleOf(r *alert.Row) alertRule {
	row := alertRule{
		ID: r.ID, Name: r.Name, Kind: r.Kind, Threshold: r.Threshold, Comparator: r.Comparator, WindowMinutes: r.WindowMinutes, CooldownMinutes: r.CooldownMinutes,
		Severity: r.Severity, Condition: r.Condition.Of(r.Kind), ChannelIDs: r.ChannelIDs, Enabled: r.Enabled, ForMinutes: r.ForMinutes, RecoveryThreshold: r.RecoveryThreshold,
		NoData: r.NoData, Environment: r.Environment, State: r.Seen.State, LastValue: r.Seen.LastValue, CreatedAt: route.Time(r.CreatedAt), UpdatedAt: route.Time(r.UpdatedAt),
	}
	if !r.Seen.LastEvaluatedAt.IsZero() {
		row.LastEvaluatedAt = route.TimeOf(&r.Seen.LastEvaluatedAt)
	}
	if !r.Seen.LastFiredAt.IsZero() {
		row.LastFiredAt = route.TimeOf(&r.Seen.LastFiredAt)
	}
	if r.Seen.LastEvaluatedAt.Before(r.Seen.SuppressedUntil) && r.Suppressible() {
		row.SuppressedUntil = route.TimeOf(&r.Seen.SuppressedUntil)
	}
	return row
}

type listAlerts struct {
	api.AppPath
	api.Paging
	Env api.EachEnv `query:"env" all:"all" doc:"The environment of the rules; all shows those of every environment."`
}

func (a alerts) list(ctx context.Context, call *route.Call, in listAlerts) (domain.Page[alertRule], error) {
	all, err := a.alerts.Rules(ctx, call.Ref())
	if err != nil {
		return domain.Page[alertRule]{}, err
	}
	if slug := in.Env.Slug; slug != "" {
		all = slices.DeleteFunc(all, func(row alert.Row) bool { return row.Environment != slug })
	}
	return api.PageOfAll(call, api.Convert(all, alertRuleOf), in.Paging, func(row alertRule) string { return row.ID })
}

// boundEnv is the parameter env of a rule: production for a new rule, the rule's own environment for an existing one.
type boundEnv struct {
	api.Env
	given bool
}

// Parse finds the environment.
func (e *boundEnv) Parse(call *route.Call, words []string) []domain.FieldError {
	e.given = len(words) > 0
	return e.Env.Parse(call, words)
}

type putAlert struct {
	api.AppPath
	Env  boundEnv  `query:"env" doc:"The environment that a new rule is bound to; that of a rule that is changed stays, and another one is refused."`
	Body alertBody `body:"json"`
}

// alertBody is the body of POST …/alerts.
type alertBody struct {
	ID                *string                 `json:"id" doc:"The rule to change; without it, one is made."`
	Name              *string                 `json:"name" doc:"The name that people read; a new rule needs one."`
	Environment       *string                 `json:"environment" doc:"As rules show it: that of env for a new rule, the rule's own for one that is changed. Another one is refused."`
	Kind              *string                 `json:"kind" enum:"metric,uptime,vital,error_rate,event_volume,new_issue" doc:"A new rule needs one."`
	Threshold         *float64                `json:"threshold" doc:"A new rule needs one, except of kind new_issue."`
	Comparator        *string                 `json:"comparator" enum:"gt,gte,lt,lte,eq,neq" default:"gt"`
	WindowMinutes     *int                    `json:"windowMinutes" doc:"From 1 to 1440." default:"5"`
	CooldownMinutes   *int                    `json:"cooldownMinutes" doc:"From 0 to 10080. Firing again within it opens the same incident again." default:"30"`
	Severity          *string                 `json:"severity" enum:"info,warning,critical" default:"warning"`
	Condition         *conditionBody          `json:"condition"`
	ChannelIDs        *[]string               `json:"channelIds"`
	Enabled           *bool                   `json:"enabled" default:"true"`
	ForMinutes        *int                    `json:"forMinutes" doc:"How long the condition must hold before the rule fires." default:"0"`
	RecoveryThreshold route.Nullable[float64] `json:"recoveryThreshold" doc:"Where a firing rule recovers; the threshold where it is absent."`
	NoData            *string                 `json:"noData" enum:"ok,alert,keep" default:"keep"`
}

// conditionBody is the condition of a body; the kind decides which members are used.
type conditionBody struct {
	Name        *string            `json:"name"`
	Agg         *string            `json:"agg"`
	Labels      *map[string]string `json:"labels"`
	MonitorID   *string            `json:"monitorId"`
	Vital       *string            `json:"vital"`
	Path        *string            `json:"path"`
	Level       *string            `json:"level"`
	Per         *string            `json:"per"`
	Regressions *bool              `json:"regressions" doc:"Whether a rule of kind new_issue fires on issues that regress as well." default:"true"`
}

func (c *conditionBody) condition() *alert.Condition {
	if c == nil {
		return nil
	}
	out := alert.Condition{
		Name: valueOf(c.Name), Agg: valueOf(c.Agg), MonitorID: valueOf(c.MonitorID), Vital: valueOf(c.Vital), Path: valueOf(c.Path), Level: valueOf(c.Level), Per: valueOf(c.Per), Regressions: c.Regressions,
	}
	if c.Labels != nil {
		out.Labels = *c.Labels
	}
	return &out
}

func valueOf(word *string) string {
	if word == nil {
		return ""
	}
	return *word
}

func (b *alertBody) patch() alert.Patch {
	return alert.Patch{
		Name: b.Name, Kind: (*alert.Kind)(b.Kind), Threshold: b.Threshold, Comparator: b.Comparator, WindowMinutes: b.WindowMinutes, CooldownMinutes: b.CooldownMinutes,
		Severity: b.Severity, Condition: b.Condition.condition(), ChannelIDs: b.ChannelIDs, Enabled: b.Enabled, ForMinutes: b.ForMinutes, NoData: b.NoData,
		SetRecovery: b.RecoveryThreshold.Set, Recovery: b.RecoveryThreshold.Value,
	}
}

// Check requires one environment, and the threshold of a new rule; the port checks the rest.
func (p *putAlert) Check(*route.Call) []domain.FieldError {
	if named := p.Body.Environment; named != nil && (p.Body.ID == nil || p.Env.given) && *named != p.Env.Slug {
		return []domain.FieldError{alert.EnvironmentFixed("environment", p.Env.Slug)}
	}
	if p.Body.ID == nil && p.Body.Threshold == nil && valueOf(p.Body.Kind) != string(alert.NewIssue) {
		spec := alert.DefaultAlert().With(p.Body.patch())
		return append(spec.Validate(), domain.FieldError{Field: "threshold", Code: "required", Message: "The field threshold is required."})
	}
	return nil
}

func (a alerts) put(ctx context.Context, call *route.Call, in putAlert) (alertRule, error) {
	id, env := valueOf(in.Body.ID), in.Env.Environment
	if in.Body.ID != nil && id == "" { // A client that lost the id does not intend a new rule.
		return alertRule{}, domain.NotFound("alert rule")
	}
	if id != "" && !in.Env.given {
		env = domain.Environment{Slug: valueOf(in.Body.Environment)}
	}
	if id != "" {
		call.Answer(http.StatusOK)
	}
	row, err := a.alerts.PutRule(ctx, call.Ref(), id, env, in.Body.patch())
	if err != nil {
		return alertRule{}, err
	}
	if id == "" {
		call.Created("/apps/" + call.Ref().String() + "/alerts/" + row.ID)
	}
	call.About(row.ID)
	return alertRuleOf(&row), nil
}

type alertPath struct {
	api.AppPath
	ID string `path:"id" doc:"The rule's id."`
}

func (a alerts) delete(ctx context.Context, call *route.Call, in alertPath) (route.Empty, error) {
	return route.Empty{}, a.alerts.DeleteRule(ctx, call.Ref(), in.ID)
}
