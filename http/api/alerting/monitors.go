package alerting

import (
	"context"
	"net/http"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/monitor"
	"svc/http/api"
	"svc/http/route"
)

// Monitors stores the monitors of applications.
type Monitors interface {
	// Monitors returns an application's monitors with the results of their checks.
	Monitors(ctx context.Context, ref domain.AppRef) ([]monitor.Row, error)
	// PutMonitor makes a monitor, or changes the one with an id. It fails with not_found if no monitor has the id, and
	// with invalid_request as monitor.Spec.Validate does.
	PutMonitor(ctx context.Context, ref domain.AppRef, id string, patch monitor.Patch) (monitor.Row, error)
	// DeleteMonitor fails with not_found if the monitor does not exist.
	DeleteMonitor(ctx context.Context, ref domain.AppRef, id string) error
	// CheckMonitor returns every problem of a new monitor, also problems of the addresses to which its host resolves.
	CheckMonitor(ctx context.Context, spec monitor.Spec) []domain.FieldError
}

// monitors serves the routes of monitors.
type monitors struct{ monitors Monitors }

func monitorRoutes(ports Ports) []route.Route {
	monitors := monitors{monitors: ports.Monitors}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/monitors", Operation: "monitors.list", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Monitors with their uptime of 30 days", Handler: route.Typed(monitors.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/monitors", Operation: "monitors.put", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Write, Ledger: "monitor.updated", Rate: domain.RateDefault,
			Summary: "Create a monitor, or change the one of the id; fields that are absent keep their values", Status: 201, Also: 200, Handler: route.Typed(monitors.put),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/monitors/{id}", Operation: "monitors.delete", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Destructive, Ledger: "monitor.deleted", Rate: domain.RateDefault,
			Summary: "Delete a monitor", Status: 204, Handler: route.Typed(monitors.delete),
		},
	}
}

// monitorJSON is a monitor as answers show it (contract 59).
type monitorJSON struct {
	ID                  string          `json:"id"`
	Name                string          `json:"name"`
	URL                 string          `json:"url"`
	Method              string          `json:"method"`
	ExpectedStatus      int             `json:"expectedStatus"`
	IntervalSeconds     int             `json:"intervalSeconds"`
	TimeoutMs           int             `json:"timeoutMs"`
	Enabled             bool            `json:"enabled"`
	BodyMatch           *string         `json:"bodyMatch"`
	BodyAbsent          *string         `json:"bodyAbsent"`
	Confirmations       int             `json:"confirmations" doc:"How many checks in a row must fail before the monitor is down."`
	LastStatus          *monitor.Status `json:"lastStatus" open:"true" observed:"true" doc:"up, degraded or down; null before the first check. Degraded: a failure that is not confirmed yet, or a certificate that ends soon."`
	LastCheckedAt       *route.Time     `json:"lastCheckedAt" observed:"true"`
	LastLatencyMs       *uint32         `json:"lastLatencyMs" observed:"true"`
	LastError           *string         `json:"lastError" observed:"true"`
	ConsecutiveFailures uint32          `json:"consecutiveFailures" observed:"true"`
	Uptime30d           *float64        `json:"uptime30d" observed:"true" doc:"The share of the checks of 30 days after which the monitor was not down; null without checks."`
	Checks30d           uint64          `json:"checks30d" observed:"true"`
	CreatedAt           route.Time      `json:"createdAt"`
	UpdatedAt           route.Time      `json:"updatedAt"`
}

func monitorOf(m *monitor.Row) monitorJSON {
	row := monitorJSON{
		ID: m.ID, Name: m.Name, URL: m.URL, Method: m.Method, ExpectedStatus: m.ExpectedStatus, IntervalSeconds: m.IntervalSeconds, TimeoutMs: m.TimeoutMs,
		Enabled: m.Enabled, BodyMatch: api.OrNull(m.BodyMatch), BodyAbsent: api.OrNull(m.BodyAbsent), Confirmations: m.Confirmations,
		LastError: api.OrNull(m.LastError), ConsecutiveFailures: m.ConsecutiveFailures, Uptime30d: m.Uptime30d(), Checks30d: m.Checks30d,
		CreatedAt: route.Time(m.CreatedAt), UpdatedAt: route.Time(m.UpdatedAt),
	}
	if !m.LastCheckedAt.IsZero() {
		row.LastStatus, row.LastCheckedAt, row.LastLatencyMs = &m.LastStatus, route.TimeOf(&m.LastCheckedAt), &m.LastLatencyMs
	}
	return row
}

type listMonitors struct {
	api.AppPath
	api.Paging
}

func (m monitors) list(ctx context.Context, call *route.Call, in listMonitors) (domain.Page[monitorJSON], error) {
	all, err := m.monitors.Monitors(ctx, call.Ref())
	if err != nil {
		return domain.Page[monitorJSON]{}, err
	}
	return api.PageOfAll(call, api.Convert(all, monitorOf), in.Paging, func(row monitorJSON) string { return row.ID })
}

type putMonitor struct {
	api.AppPath
	Env  api.OptionalEnv `query:"env" doc:"Monitors belong to the whole application; a change that names an environment other than production is refused."`
	Body monitorBody     `body:"json"`
}

// Check refuses to change the environment of a monitor.
func (p *putMonitor) Check(*route.Call) []domain.FieldError {
	if p.Body.ID != nil && p.Env.Slug != "" && p.Env.Slug != conversation.Production {
		return []domain.FieldError{{
			Field: "env", Code: "not_changeable", Allowed: []string{conversation.Production},
			Message: "A monitor belongs to the whole application, production included, and cannot be moved into one environment.",
		}}
	}
	return nil
}

// monitorBody is the body of POST …/monitors.
type monitorBody struct {
	ID              *string                `json:"id" doc:"The monitor to change; without it, one is made."`
	Name            *string                `json:"name" doc:"The name that people read; a new monitor needs one."`
	URL             *string                `json:"url" doc:"A public http or https address; a new monitor needs one."`
	Method          *string                `json:"method" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" default:"GET"`
	ExpectedStatus  *int                   `json:"expectedStatus" doc:"Redirects are followed unless it is one." default:"200"`
	IntervalSeconds *int                   `json:"intervalSeconds" doc:"From 30 to 86400." default:"60"`
	TimeoutMs       *int                   `json:"timeoutMs" doc:"From 100 to 60000, for the whole check." default:"10000"`
	Enabled         *bool                  `json:"enabled" default:"true"`
	BodyMatch       route.Nullable[string] `json:"bodyMatch" doc:"The check fails unless the first MiB of the body contains the text."`
	BodyAbsent      route.Nullable[string] `json:"bodyAbsent" doc:"The check fails if the first MiB of the body contains the text."`
	Confirmations   *int                   `json:"confirmations" doc:"How many checks in a row must fail before the monitor is down, from 1 to 10." default:"2"`
}

func (b *monitorBody) patch() monitor.Patch {
	return monitor.Patch{
		Name: b.Name, URL: b.URL, Method: b.Method, ExpectedStatus: b.ExpectedStatus, IntervalSeconds: b.IntervalSeconds, TimeoutMs: b.TimeoutMs,
		Enabled: b.Enabled, BodyMatch: cleared(b.BodyMatch), BodyAbsent: cleared(b.BodyAbsent), Confirmations: b.Confirmations,
	}
}

// cleared returns a text that a request sets, empty if it is null.
func cleared(text route.Nullable[string]) *string {
	if text.Set && text.Value == nil {
		return new(string)
	}
	return text.Value
}

func (m monitors) put(ctx context.Context, call *route.Call, in putMonitor) (monitorJSON, error) {
	id, patch := valueOf(in.Body.ID), in.Body.patch()
	if in.Body.ID != nil && id == "" { // A client that lost the id does not intend a new monitor.
		return monitorJSON{}, domain.NotFound("monitor")
	}
	if id == "" || patch.URL != nil {
		problems := m.monitors.CheckMonitor(ctx, monitor.DefaultMonitor().With(patch))
		if id != "" { // Fields that the patch omits have a value already.
			problems = only(problems, "url")
		}
		if len(problems) > 0 {
			return monitorJSON{}, domain.Invalid(problems...)
		}
	}
	if id != "" {
		call.Answer(http.StatusOK)
	}
	row, err := m.monitors.PutMonitor(ctx, call.Ref(), id, patch)
	if err != nil {
		return monitorJSON{}, err
	}
	if id == "" {
		call.Created("/apps/" + call.Ref().String() + "/monitors/" + row.ID)
	}
	call.About(row.ID)
	return monitorOf(&row), nil
}

// only returns the problems of one field.
func only(problems []domain.FieldError, field string) (out []domain.FieldError) {
	for _, problem := range problems {
		if problem.Field == field {
			out = append(out, problem)
		}
	}
	return out
}

type monitorPath struct {
	api.AppPath
	ID string `path:"id" doc:"The monitor's id."`
}

func (m monitors) delete(ctx context.Context, call *route.Call, in monitorPath) (route.Empty, error) {
	return route.Empty{}, m.monitors.DeleteMonitor(ctx, call.Ref(), in.ID)
}
