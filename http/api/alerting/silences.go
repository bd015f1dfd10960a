package alerting

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// Silences stores the maintenance windows in which incidents cause no notices.
type Silences interface {
	// Silences returns the silences of an application, ordered by their end, the latest first.
	Silences(ctx context.Context, ref domain.AppRef) ([]alert.Silence, error)
	// PutSilence makes a silence, or changes the one with an id. It fails with not_found if no silence has the id, with
	// invalid_request as alert.SilenceSpec.Validate does, and with conflict if there are too many.
	PutSilence(ctx context.Context, ref domain.AppRef, id string, patch alert.SilencePatch, by domain.LedgerActor) (alert.Silence, error)
	DeleteSilence(ctx context.Context, ref domain.AppRef, id string) error
}

// silences serves the routes of silences.
type silences struct{ silences Silences }

func silenceRoutes(ports Ports) []route.Route { //nolint:dupl // rows of a table look alike
	silences := silences{ports.Silences}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/silences", Operation: "silences.list", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Maintenance windows, those that end last first", Handler: route.Typed(silences.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/silences", Operation: "silences.put", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Write, Ledger: "silence.updated", Rate: domain.RateDefault,
			Summary: "Create a maintenance window, or change the one of the id; fields that are absent keep their values", Status: 201, Also: 200, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(silences.put),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/silences/{id}", Operation: "silences.delete", Module: domain.ModuleMetrics, Scope: domain.ScopeWrite, Permission: domain.PermMetricsWrite, Effect: route.Destructive, Ledger: "silence.deleted", Rate: domain.RateDefault,
			Summary: "Delete a maintenance window; people are told of the open incidents that it kept quiet", Status: 204, Handler: route.Typed(silences.delete),
		},
	}
}

// silence is a maintenance window as answers show it.
type silence struct {
	ID          string             `json:"id"`
	Name        string             `json:"name"`
	RuleID      *string            `json:"ruleId" doc:"Incidents of this rule; of all where it is null."`
	MonitorID   *string            `json:"monitorId" doc:"Incidents about this monitor."`
	Environment *string            `json:"environment" doc:"Incidents of this environment; of all where it is null."`
	Labels      map[string]string  `json:"labels" doc:"Incidents whose labels hold all of these."`
	StartsAt    route.Time         `json:"startsAt"`
	EndsAt      route.Time         `json:"endsAt"`
	State       alert.SilenceState `json:"state" observed:"true"`
	CreatedAt   route.Time         `json:"createdAt"`
	UpdatedAt   route.Time         `json:"updatedAt"`
	CreatedBy   *views.Actor       `json:"createdBy"`
}

func silenceOf(now time.Time) func(s *alert.Silence) silence {
	return func(s *alert.Silence) silence {
		row := silence{
			ID: s.ID, Name: s.Name, RuleID: api.OrNull(s.RuleID), MonitorID: api.OrNull(s.MonitorID), Environment: api.OrNull(s.Environment), Labels: s.Labels,
			StartsAt: route.Time(s.StartsAt), EndsAt: route.Time(s.EndsAt), State: s.At(now), CreatedAt: route.Time(s.CreatedAt), UpdatedAt: route.Time(s.UpdatedAt),
		}
		if row.Labels == nil {
			row.Labels = map[string]string{}
		}
		if s.CreatedBy.ID != "" {
			row.CreatedBy = views.ActorOf(&s.CreatedBy)
		}
		return row
	}
}

type listSilences struct {
	api.AppPath
	api.Paging
}

func (s silences) list(ctx context.Context, call *route.Call, in listSilences) (domain.Page[silence], error) {
	all, err := s.silences.Silences(ctx, call.Ref())
	if err != nil {
		return domain.Page[silence]{}, err
	}
	return api.PageOfAll(call, api.Convert(all, silenceOf(call.Now)), in.Paging, func(row silence) string {
		return fmt.Sprintf("%020d %s", math.MaxInt64-time.Time(row.EndsAt).UnixMilli(), row.ID)
	})
}

type putSilence struct {
	api.AppPath
	Body silenceBody `body:"json"`
}

// silenceBody is the body of POST …/silences.
type silenceBody struct {
	ID          *string                           `json:"id" doc:"The window to change; without it, one is made."`
	Name        *string                           `json:"name" doc:"Why nobody is told; a new window needs one."`
	RuleID      route.Nullable[string]            `json:"ruleId" doc:"Incidents of this rule alone."`
	MonitorID   route.Nullable[string]            `json:"monitorId" doc:"Incidents about this monitor alone."`
	Environment route.Nullable[string]            `json:"environment" doc:"Incidents of this environment alone."`
	Labels      route.Nullable[map[string]string] `json:"labels" doc:"Incidents whose labels hold all of these alone."`
	StartsAt    *route.Time                       `json:"startsAt" doc:"Now where it is absent."`
	EndsAt      *route.Time                       `json:"endsAt" doc:"A new window needs one; up to 366 days after startsAt."`
}

func (b *silenceBody) patch() alert.SilencePatch {
	patch := alert.SilencePatch{
		Name: b.Name, RuleID: cleared(b.RuleID), MonitorID: cleared(b.MonitorID), Environment: cleared(b.Environment),
		StartsAt: (*time.Time)(b.StartsAt), EndsAt: (*time.Time)(b.EndsAt),
	}
	if b.Labels.Set {
		labels := map[string]string{}
		if b.Labels.Value != nil {
			labels = *b.Labels.Value
		}
		patch.Labels = &labels
	}
	return patch
}

// Check requires an environment that the application has.
func (p *putSilence) Check(call *route.Call) []domain.FieldError {
	slug := p.Body.Environment.Value
	if slug == nil || *slug == "" {
		return nil
	}
	if _, known := call.App.Environment(*slug); known {
		return nil
	}
	slugs := make([]string, 0, len(call.App.Environments))
	for _, environment := range call.App.Environments {
		slugs = append(slugs, environment.Slug)
	}
	return []domain.FieldError{api.UnknownWord("environment", "environment", *slug, slugs)}
}

func (s silences) put(ctx context.Context, call *route.Call, in putSilence) (silence, error) {
	id := valueOf(in.Body.ID)
	if in.Body.ID != nil && id == "" { // A client that lost the id does not intend a new silence.
		return silence{}, domain.NotFound("silence")
	}
	made, err := s.silences.PutSilence(ctx, call.Ref(), id, in.Body.patch(), actorOf(call))
	if err != nil {
		return silence{}, err
	}
	if id == "" {
		call.Created("/apps/" + call.Ref().String() + "/silences/" + made.ID)
	} else {
		call.Answer(http.StatusOK)
	}
	call.About(made.ID)
	return silenceOf(call.Now)(&made), nil
}

type silencePath struct {
	api.AppPath
	ID string `path:"id" doc:"The window's id."`
}

func (s silences) delete(ctx context.Context, call *route.Call, in silencePath) (route.Empty, error) {
	return route.Empty{}, s.silences.DeleteSilence(ctx, call.Ref(), in.ID)
}
