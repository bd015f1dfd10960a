package analytics

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/annotation"
	"svc/domain/release"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// Annotations stores the marks on the time axes of applications.
type Annotations interface {
	// Annotations returns the annotations that people made.
	Annotations(ctx context.Context, ref domain.AppRef) ([]annotation.Annotation, error)
	// PutAnnotation makes an annotation, or changes the one with an id. It fails with not_found if no annotation has
	// the id, with invalid_request as annotation.Spec.Validate does, and with conflict if there are too many.
	PutAnnotation(ctx context.Context, ref domain.AppRef, id string, patch annotation.Patch, by domain.LedgerActor) (annotation.Annotation, error)
	// DeleteAnnotation fails with not_found if the annotation does not exist.
	DeleteAnnotation(ctx context.Context, ref domain.AppRef, id string) error
}

// Releases reads the announced releases.
type Releases interface {
	// Releases returns releases of an application, the newest first, beginning after the release after, and whether
	// more follow.
	Releases(ctx context.Context, org, app string, after *release.Release, limit int) ([]release.Release, bool, error)
}

// annotations serves the routes of annotations.
type annotations struct {
	annotations Annotations
	releases    Releases
}

func annotationRoutes(ports Ports) []route.Route {
	annotations := annotations{ports.Annotations, ports.Releases}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/annotations", Operation: "annotations.list", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Marks on the time axis: notes, campaigns and releases, the newest first", Handler: route.Typed(annotations.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/annotations", Operation: "annotations.put", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Write, Ledger: "annotation.updated", Rate: domain.RateDefault,
			Summary: "Make a mark, or change the one of the id; fields that are absent keep their values", Status: 201, Also: 200, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(annotations.put),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/annotations/{id}", Operation: "annotations.delete", Module: domain.ModuleAnalytics, Scope: domain.ScopeWrite, Permission: domain.PermAnalyticsWrite, Effect: route.Destructive, Ledger: "annotation.deleted", Rate: domain.RateDefault,
			Summary: "Delete a mark", Status: 204, Handler: route.Typed(annotations.delete),
		},
	}
}

// annotationJSON is a mark as answers show it.
type annotationJSON struct {
	ID          string          `json:"id"`
	Kind        annotation.Kind `json:"kind"`
	At          route.Time      `json:"at"`
	Title       string          `json:"title"`
	Text        *string         `json:"text"`
	Environment *string         `json:"environment" doc:"Null where the mark concerns all."`
	Automatic   bool            `json:"automatic" doc:"Made by the service, of a release that was announced; it cannot be changed."`
	CreatedAt   route.Time      `json:"createdAt"`
	UpdatedAt   route.Time      `json:"updatedAt"`
	CreatedBy   *views.Actor    `json:"createdBy"`
}

func annotationOf(a *annotation.Annotation) annotationJSON {
	row := annotationJSON{
		ID: a.ID, Kind: a.Kind, At: route.Time(a.At), Title: a.Title, Text: api.OrNull(a.Text), Environment: api.OrNull(a.Environment), Automatic: a.Automatic,
		CreatedAt: route.Time(a.CreatedAt), UpdatedAt: route.Time(a.UpdatedAt),
	}
	if a.CreatedBy.ID != "" {
		row.CreatedBy = views.ActorOf(&a.CreatedBy)
	}
	return row
}

type listAnnotations struct {
	api.AppPath
	api.Paging
	Env   api.Env `query:"env" doc:"The environment's slug; marks of all environments are listed as well."`
	Range window  `query:"range" doc:"The span of time; custom:<YYYY-MM-DD>..<YYYY-MM-DD> takes up to 400 days."`
}

// annotationPage is the answer of …/annotations.
type annotationPage struct {
	domain.Page[annotationJSON]
	Environment string `json:"environment"`
}

// list returns the marks of a window, including the marks of announced releases.
func (a annotations) list(ctx context.Context, call *route.Call, in listAnnotations) (annotationPage, error) {
	all, err := a.annotations.Annotations(ctx, call.Ref())
	if err != nil {
		return annotationPage{}, err
	}
	marks, err := a.releaseMarks(ctx, call.Ref(), in.Env.Slug)
	if err != nil {
		return annotationPage{}, err
	}
	rows := []annotationJSON{}
	for _, mark := range append(all, marks...) {
		if mark.Within(in.Range.Window, in.Env.Slug) {
			rows = append(rows, annotationOf(&mark))
		}
	}
	page, err := api.PageOfAll(call, rows, in.Paging, func(row annotationJSON) string {
		return fmt.Sprintf("%020d %s", math.MaxInt64-time.Time(row.At).UnixMilli(), row.ID)
	})
	return annotationPage{Page: page, Environment: in.Env.Slug}, err
}

// releaseMarks returns the marks of the announced releases. There are at most release.MaxReleases.
func (a annotations) releaseMarks(ctx context.Context, ref domain.AppRef, environment string) (marks []annotation.Annotation, err error) {
	var after *release.Release
	for more := true; more; {
		var page []release.Release
		if page, more, err = a.releases.Releases(ctx, ref.Org, ref.App, after, domain.MaxPageSize); err != nil || len(page) == 0 {
			return marks, err
		}
		for i := range page {
			marks = append(marks, release.Marks(&page[i], environment)...)
		}
		after = &page[len(page)-1]
	}
	return marks, nil
}

type putAnnotation struct {
	api.AppPath
	Body annotationBody `body:"json"`
}

// annotationBody is the body of POST …/annotations.
type annotationBody struct {
	ID          *string                `json:"id" doc:"The mark to change; without it, one is made."`
	Kind        *annotation.Kind       `json:"kind" doc:"note where it is absent."`
	At          *route.Time            `json:"at" doc:"Now where it is absent."`
	Title       *string                `json:"title" doc:"What people read; a new mark needs one."`
	Text        route.Nullable[string] `json:"text"`
	Environment route.Nullable[string] `json:"environment" doc:"The slug of the environment that it concerns; all where it is null."`
}

// Check requires an environment that the application has.
func (p *putAnnotation) Check(call *route.Call) []domain.FieldError {
	if slug := p.Body.Environment.Value; slug != nil && *slug != "" {
		if _, known := call.App.Environment(*slug); !known {
			return []domain.FieldError{{Field: "environment", Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", *slug)}}
		}
	}
	return nil
}

// emptied returns a text that a request sets, empty if it is null.
func emptied(text route.Nullable[string]) *string {
	if text.Set && text.Value == nil {
		return new(string)
	}
	return text.Value
}

func (a annotations) put(ctx context.Context, call *route.Call, in putAnnotation) (annotationJSON, error) {
	body, id := &in.Body, ""
	if body.ID != nil {
		if id = *body.ID; id == "" || strings.HasPrefix(id, "release:") {
			return annotationJSON{}, domain.NotFound("annotation")
		}
	}
	patch := annotation.Patch{Kind: body.Kind, At: (*time.Time)(body.At), Title: body.Title, Text: emptied(body.Text), Environment: emptied(body.Environment)}
	var by domain.LedgerActor
	if user := call.Grant.Token.User; user != nil {
		by = domain.LedgerActor{ID: user.ID, Name: user.Name}
	}
	made, err := a.annotations.PutAnnotation(ctx, call.Ref(), id, patch, by)
	if err != nil {
		return annotationJSON{}, err
	}
	if id == "" {
		call.Created("/apps/" + call.Ref().String() + "/annotations/" + made.ID)
	} else {
		call.Answer(http.StatusOK)
	}
	call.About(made.ID)
	return annotationOf(&made), nil
}

type annotationPath struct {
	api.AppPath
	ID string `path:"id" doc:"The mark's id."`
}

func (a annotations) delete(ctx context.Context, call *route.Call, in annotationPath) (route.Empty, error) {
	return route.Empty{}, a.annotations.DeleteAnnotation(ctx, call.Ref(), in.ID)
}
