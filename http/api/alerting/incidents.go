package alerting

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/alert"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// Incidents reads the incidents of applications.
type Incidents interface {
	// Incidents returns a page, and whether more follow.
	Incidents(ctx context.Context, query alert.IncidentQuery) (page []alert.Incident, more bool, err error)
}

// incidents serves the routes of incidents.
type incidents struct {
	alerts    Alerts
	incidents Incidents
}

func incidentRoutes(ports Ports) []route.Route {
	incidents := incidents{ports.Alerts, ports.Incidents}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/incidents", Operation: "incidents.list", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Alert incidents, the newest first", Handler: route.Typed(incidents.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/incidents/{id}/acknowledge", Operation: "console.incidents.acknowledge", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Write, Ledger: "incident.acknowledged", Rate: domain.RateDefault,
			Summary: "Say that somebody looks after an incident; its repeats are silent", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(incidents.acknowledge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/incidents/{id}/resolve", Operation: "console.incidents.resolve", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Write, Ledger: "incident.resolved", Rate: domain.RateDefault,
			Summary: "Resolve an incident by hand", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(incidents.resolve),
		},
	}
}

// incidentOf returns the function that shows an incident of the call's application.
func incidentOf(call *route.Call) func(i *alert.Incident) views.Incident {
	return func(i *alert.Incident) views.Incident {
		shown := *i
		if !call.Grant.May(domain.PermPeoplePIIRead) {
			shown = shown.Masked()
		}
		return views.IncidentOf(call.Origin(), call.Ref(), &shown)
	}
}

// textOf returns the function that shows a text. Such a text may quote values of measurements and errors.
func textOf(call *route.Call) func(text string) string {
	if call.Grant.May(domain.PermPeoplePIIRead) {
		return func(text string) string { return text }
	}
	return domain.MaskShapes
}

// incidentStatus is the parameter status of the list.
type incidentStatus alert.IncidentStatus

func incidentWords() []string { return []string{"open", "acknowledged", "resolved", "all"} }

// Parse reads the status; the default is open.
func (s *incidentStatus) Parse(_ *route.Call, words []string) []domain.FieldError {
	word := api.First(words)
	switch {
	case word == "":
		*s = incidentStatus(alert.IncidentOpen)
	case !slices.Contains(incidentWords(), word):
		return []domain.FieldError{api.UnknownWord("status", "status", word, incidentWords())}
	case word != "all":
		*s = incidentStatus(word)
	}
	return nil
}

// Schema describes the parameter.
func (incidentStatus) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": incidentWords(), "default": "open"}
}

type listIncidents struct {
	api.AppPath
	api.Paging
	Status incidentStatus `query:"status" doc:"Where the incidents stand."`
	Env    api.EachEnv    `query:"env" all:"all" doc:"The environment of the incidents; all shows those of every environment."`
}

func (i incidents) list(ctx context.Context, call *route.Call, in listIncidents) (domain.Page[views.Incident], error) {
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return domain.Page[views.Incident]{}, err
	}
	page, more, err := i.incidents.Incidents(ctx, alert.IncidentQuery{
		App: call.Ref(), Status: alert.IncidentStatus(in.Status), Environment: in.Env.Slug, Before: api.First(keyset), Limit: int(in.Limit),
	})
	if err != nil {
		return domain.Page[views.Incident]{}, err
	}
	return route.PageOf(call, api.Convert(page, incidentOf(call)), more, func(last views.Incident) []string { return []string{last.ID} }), nil
}

type incidentPath struct {
	api.AppPath
	ID string `path:"id" doc:"The incident's id."`
}

// actorOf returns the person that makes a call.
func actorOf(call *route.Call) domain.LedgerActor {
	if user := call.Grant.Token.User; user != nil {
		return domain.LedgerActor{ID: user.ID, Name: user.Name}
	}
	return domain.LedgerActor{}
}

func (i incidents) acknowledge(ctx context.Context, call *route.Call, in incidentPath) (views.Incident, error) {
	changed, err := i.alerts.Acknowledge(ctx, call.Ref(), in.ID, actorOf(call))
	return incidentOf(call)(&changed), err
}

func (i incidents) resolve(ctx context.Context, call *route.Call, in incidentPath) (views.Incident, error) {
	changed, err := i.alerts.Resolve(ctx, call.Ref(), in.ID, actorOf(call))
	return incidentOf(call)(&changed), err
}
