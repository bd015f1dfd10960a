package analytics

import (
	"context"

	"svc/domain"
	"svc/domain/filter"
	"svc/domain/funnel"
	"svc/domain/goal"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// Funnels stores the funnels of applications.
type Funnels interface {
	// CreateFunnel saves a funnel of a valid specification. It fails with conflict if the application has
	// funnel.MaxFunnels.
	CreateFunnel(ctx context.Context, ref domain.AppRef, spec funnel.Spec) (funnel.Funnel, error)
	// ChangeFunnel gives a funnel another valid specification. It fails with not_found if the funnel does not exist.
	ChangeFunnel(ctx context.Context, ref domain.AppRef, id string, spec funnel.Spec) (funnel.Funnel, error)
	// DeleteFunnel fails with not_found if the funnel does not exist.
	DeleteFunnel(ctx context.Context, ref domain.AppRef, id string) error
}

// funnels serves the routes of funnels.
type funnels struct {
	funnels Funnels
	results Results
}

func funnelRoutes(ports Ports) []route.Route {
	funnels := funnels{funnels: ports.Funnels, results: ports.Results}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels", Operation: "funnels.list", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppFunnels, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List saved funnels", Handler: route.Typed(funnels.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/funnels", Operation: "funnels.create", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Write, Ledger: "funnel.created", Rate: domain.RateDefault,
			Summary: "Save a funnel", Status: 201, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(funnels.create),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels/{id}", Operation: "funnels.get", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppFunnels, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Read one funnel", Handler: route.Typed(funnels.get),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/funnels/{id}/results", Operation: "funnels.results", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppFunnels, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Step-by-step conversion", Handler: route.Typed(marked(ports.Sampling, funnels.rows)),
		},
		{
			Surface: route.Manage, Method: "PUT", Path: "/apps/{org}/{app}/funnels/{id}", Operation: "funnels.update", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Write, Ledger: "funnel.updated", Rate: domain.RateDefault,
			Summary: "Replace a funnel's name, steps and window", Handler: route.Typed(funnels.update),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/funnels/{id}", Operation: "funnels.delete", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Destructive, Ledger: "funnel.deleted", Rate: domain.RateDefault,
			Summary: "Delete a funnel", Status: 204, Handler: route.Typed(funnels.delete),
		},
	}
}

// funnelJSON is a funnel as answers show it.
type funnelJSON struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Steps       []funnelStep `json:"steps"`
	WindowHours int          `json:"windowHours" doc:"All steps of an attempt happen within these hours of its first one."`
	CreatedAt   route.Time   `json:"createdAt"`
	UpdatedAt   route.Time   `json:"updatedAt"`
}

type funnelStep struct {
	Kind    goal.MatchKind `json:"kind" enum:"path,event"`
	Match   string         `json:"match"`
	Filters []stepFilter   `json:"filters"`
}

type stepFilter struct {
	Property string    `json:"property"`
	Op       filter.Op `json:"op" enum:"eq,neq,contains,not_contains,in,gt,gte,lt,lte,exists"`
	Value    any       `json:"value"`
}

func funnelOf(f *funnel.Funnel) funnelJSON {
	return funnelJSON{
		ID: f.ID, Name: f.Name, WindowHours: f.WindowHours, CreatedAt: route.Time(f.CreatedAt), UpdatedAt: route.Time(f.UpdatedAt),
		Steps: api.Convert(f.Steps, func(s *funnel.Step) funnelStep {
			return funnelStep{Kind: s.Kind, Match: s.Match, Filters: api.Convert(s.Filters, func(f *filter.StepFilter) stepFilter {
				return stepFilter{Property: f.Property, Op: f.Op, Value: f.Value}
			})}
		}),
	}
}

type listFunnels struct {
	api.AppPath
	api.Paging
}

func (f funnels) list(_ context.Context, call *route.Call, in listFunnels) (domain.Page[funnelJSON], error) {
	return api.PageOfAll(call, api.Convert(call.Parts.Funnels, funnelOf), in.Paging, func(row funnelJSON) string { return row.ID })
}

type createFunnel struct {
	api.AppPath
	Body newFunnel `body:"json"`
}

// newFunnel is the body of POST …/funnels.
type newFunnel struct {
	Name        string          `json:"name" required:"true" doc:"The name that people read."`
	Steps       []newFunnelStep `json:"steps" required:"true" doc:"2 to 12 steps in their order."`
	WindowHours *int            `json:"windowHours" doc:"All steps of an attempt happen within these hours of its first one; 1 to 2160." default:"168"`
}

type newFunnelStep struct {
	goal.Matcher
	Filters []newStepFilter `json:"filters" doc:"What the event must be like besides; all filters must hold."`
}

type newStepFilter filter.StepFilter

func (n *newFunnel) spec() funnel.Spec {
	spec := funnel.Spec{Name: n.Name, WindowHours: funnel.DefaultWindowHours}
	if n.WindowHours != nil {
		spec.WindowHours = *n.WindowHours
	}
	spec.Steps = api.Convert(n.Steps, func(s *newFunnelStep) funnel.Step {
		return funnel.Step{Matcher: s.Matcher, Filters: api.Convert(s.Filters, func(f *newStepFilter) filter.StepFilter { return filter.StepFilter(*f) })}
	})
	return spec
}

// Check applies the rules of funnels.
func (c *createFunnel) Check(*route.Call) []domain.FieldError { return c.Body.spec().Validate() }

func (f funnels) create(ctx context.Context, call *route.Call, in createFunnel) (funnelJSON, error) {
	made, err := f.funnels.CreateFunnel(ctx, call.Ref(), in.Body.spec())
	if err != nil {
		return funnelJSON{}, err
	}
	call.Created("/apps/" + call.Ref().String() + "/funnels/" + made.ID)
	return funnelOf(&made), nil
}

type funnelPath struct {
	api.AppPath
	ID string `path:"id" doc:"The funnel's id."`
}

type updateFunnel struct {
	funnelPath
	Body newFunnel `body:"json"`
}

// Check applies the rules of funnels.
func (u *updateFunnel) Check(*route.Call) []domain.FieldError { return u.Body.spec().Validate() }

func (f funnels) update(ctx context.Context, call *route.Call, in updateFunnel) (funnelJSON, error) {
	changed, err := f.funnels.ChangeFunnel(ctx, call.Ref(), in.ID, in.Body.spec())
	return funnelOf(&changed), err
}

// funnelWith returns the funnel with an id in the call's application.
func funnelWith(call *route.Call, id string) (funnel.Funnel, error) {
	for _, funnel := range call.Parts.Funnels {
		if funnel.ID == id {
			return funnel, nil
		}
	}
	return funnel.Funnel{}, domain.NotFound("funnel")
}

func (funnels) get(_ context.Context, call *route.Call, in funnelPath) (funnelJSON, error) {
	found, err := funnelWith(call, in.ID)
	if err != nil {
		return funnelJSON{}, err
	}
	return funnelOf(&found), nil
}

func (f funnels) delete(ctx context.Context, call *route.Call, in funnelPath) (route.Empty, error) {
	return route.Empty{}, f.funnels.DeleteFunnel(ctx, call.Ref(), in.ID)
}
