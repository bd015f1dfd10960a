package alerting

import (
	"context"
	"slices"

	"svc"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// Incidents reads the incidents of applications.
type Incidents interface {
	// Incidents returns a page, and whether more follow.
	Incidents(ctx context.Context, query svc.IncidentQuery) (page []svc.Incident, more bool, err error)
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
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/incidents", Operation: "incidents.list", Module: svc.ModuleMetrics, Scope: svc.ScopeRead, Permission: svc.PermMetricsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Alert incidents, the newest first", Handler: route.Typed(incidents.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/incidents/{id}/acknowledge", Operation: "console.incidents.acknowledge", Module: svc.ModuleMetrics, Scope: svc.ScopeWrite, Permission: svc.PermMetricsWrite, Effect: route.Write, Ledger: "incident.acknowledged", Rate: svc.RateDefault,
			Summary: "Say that somebody looks after an incident; its repeats are silent", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(incidents.acknowledge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/incidents/{id}/resolve", Operation: "console.incidents.resolve", Module: svc.ModuleMetrics, Scope: svc.ScopeWrite, Permission: svc.PermMetricsWrite, Effect: route.Write, Ledger: "incident.resolved", Rate: svc.RateDefault,
			Summary: "Resolve an incident by hand", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(incidents.resolve),
		},
	}
}

// incidentOf returns the function that shows an incident of the call's application.
func incidentOf(call *route.Call) func(i *svc.Incident) views.Incident {
	return func(i *svc.Incident) views.Incident {
		shown := *i
		if !call.Grant.May(svc.PermPeoplePIIRead) {
			shown = shown.Masked()
		}
		return views.IncidentOf(call.Origin(), call.Ref(), &shown)
	}
}

// textOf returns the function that shows a text. Such a text may quote values of measurements and errors.
func textOf(call *route.Call) func(text string) string {
	if call.Grant.May(svc.PermPeoplePIIRead) {
		return func(text string) string { return text }
	}
	return svc.MaskShapes
}

// incidentStatus is the parameter status of the list.
type incidentStatus svc.IncidentStatus

func incidentWords() []string { return []string{"open", "acknowledged", "resolved", "all"} }

// Parse reads the status; the default is open.
func (s *incidentStatus) Parse(_ *route.Call, words []string) []svc.FieldError {
	word := api.First(words)
	switch {
	case word == "":
		*s = incidentStatus(svc.IncidentOpen)
	case !slices.Contains(incidentWords(), word):
		return []svc.FieldError{api.UnknownWord("status", "status", word, incidentWords())}
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

func (i incidents) list(ctx context.Context, call *route.Call, in listIncidents) (svc.Page[views.Incident], error) {
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return svc.Page[views.Incident]{}, err
	}
	page, more, err := i.incidents.Incidents(ctx, svc.IncidentQuery{
		App: call.Ref(), Status: svc.IncidentStatus(in.Status), Environment: in.Env.Slug, Before: api.First(keyset), Limit: int(in.Limit),
	})
	if err != nil {
		return svc.Page[views.Incident]{}, err
	}
	return route.PageOf(call, api.Convert(page, incidentOf(call)), more, func(last views.Incident) []string { return []string{last.ID} }), nil
}

type incidentPath struct {
	api.AppPath
	ID string `path:"id" doc:"The incident's id."`
}

// actorOf returns the person that makes a call.
func actorOf(call *route.Call) svc.LedgerActor {
	if user := call.Grant.Token.User; user != nil {
		return svc.LedgerActor{ID: user.ID, Name: user.Name}
	}
	return svc.LedgerActor{}
}

func (i incidents) acknowledge(ctx context.Context, call *route.Call, in incidentPath) (views.Incident, error) {
	changed, err := i.alerts.Acknowledge(ctx, call.Ref(), in.ID, actorOf(call))
	return incidentOf(call)(&changed), err
}

func (i incidents) resolve(ctx context.Context, call *route.Call, in incidentPath) (views.Incident, error) {
	changed, err := i.alerts.Resolve(ctx, call.Ref(), in.ID, actorOf(call))
	return incidentOf(call)(&changed), err
}
