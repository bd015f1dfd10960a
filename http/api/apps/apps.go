package apps

import (
	"context"
	"encoding/json"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// Apps stores the applications.
type Apps interface {
	// List returns a page of an organization's applications in the order of their slugs, beginning after the slug
	// after, and whether more follow.
	List(ctx context.Context, org, after string, limit int) (page []domain.Application, more bool, err error)
	// Get fails with not_found if the application does not exist.
	Get(ctx context.Context, ref domain.AppRef) (domain.Application, error)
	// Create makes an application of a valid specification; an empty slug is derived from the name. It fails with
	// conflict if an explicit slug is taken.
	Create(ctx context.Context, org string, spec domain.AppSpec) (domain.Application, error)
	// Update applies a patch (domain.Application.Apply). It fails with precondition_failed if ifMatch is set and differs
	// from the present revision.
	Update(ctx context.Context, ref domain.AppRef, patch domain.AppPatch, ifMatch *uint64) (domain.Application, error)
	// Delete deletes an application. When it returns, none of its keys is accepted and its data is no longer shown. It
	// may be repeated.
	Delete(ctx context.Context, ref domain.AppRef) error
}

// apps serves the routes of applications.
type apps struct {
	apps       Apps
	connectors Connectors
}

func appRoutes(ports Ports) []route.Route {
	apps := apps{ports.Apps, ports.Connectors}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/orgs/{org}/apps", Operation: "apps.list", Scope: domain.ScopeRead, Permission: domain.PermAppsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List applications", Handler: route.Typed(apps.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/orgs/{org}/apps", Operation: "apps.create", Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Write, Ledger: "app.created", Rate: domain.RateDefault,
			Summary: "Create an application with its three environments", Status: 201, Handler: route.Typed(apps.create),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}", Operation: "apps.get", Scope: domain.ScopeRead, Permission: domain.PermAppsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Read one application", Handler: route.Typed(apps.get),
		},
		{
			Surface: route.Manage, Method: "PATCH", Path: "/apps/{org}/{app}", Operation: "apps.update", Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Destructive, Ledger: "app.updated", Rate: domain.RateDefault,
			Summary: "Update settings", Codes: []domain.Code{domain.CodePrecondition}, Handler: route.Typed(apps.update),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/install", Operation: "apps.install", Scope: domain.ScopeRead, Permission: domain.PermAppsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Show what to put where, to send from a framework", Handler: route.Typed(apps.guide),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/apps/{org}/{app}", Operation: "console.apps.delete", Scope: domain.ScopeAdmin, Permission: domain.PermAppsWrite, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "app.deleted", Rate: domain.RateDefault,
			Summary: "Delete an application and everything of it, soon after signing in with a passkey; its slug stays taken", Status: 204, Codes: []domain.Code{domain.CodePasskeyRequired}, Handler: route.Typed(apps.remove),
		},
	}
}

// application is an application as answers show it.
type application struct {
	ID              string              `json:"id"`
	Slug            string              `json:"slug"`
	Name            string              `json:"name"`
	Platform        string              `json:"platform"`
	URL             *string             `json:"url"`
	Timezone        string              `json:"timezone"`
	Modules         []domain.Module     `json:"modules" doc:"The modules that are switched on, of those that this service is built with."`
	RetentionDays   int                 `json:"retentionDays"`
	AllowedOrigins  []string            `json:"allowedOrigins"`
	RequireUserHash bool                `json:"requireUserHash" doc:"identify, alias and group of public keys need a userHash."`
	PersonalFields  []string            `json:"personalFields" doc:"Names of traits and properties that are masked in addition to the list in the documentation."`
	Connector       *connectorJSON      `json:"connector" doc:"Null unless a signed connector is configured."`
	Organization    domain.Organization `json:"organization"`
	Environments    []environmentShape  `json:"environments"`
	CreatedAt       route.Time          `json:"createdAt"`
	UpdatedAt       route.Time          `json:"updatedAt"`
}

type environmentShape struct {
	ID   string `json:"id"`
	Slug string `json:"slug"`
	Name string `json:"name"`
	// IngestID is the last part of a Sentry DSN.
	IngestID string `json:"ingestId" doc:"The number that ends a Sentry DSN: https://<public key>@<host>/sentry/<ingestId>."`
}

// shown is an application as a caller sees it.
func (a apps) shown(call *route.Call, app *domain.Application) application {
	return application{
		ID: app.ID, Slug: app.Slug, Name: app.Name, Platform: app.Platform, URL: api.OrNull(app.URL), Timezone: app.Timezone,
		Modules: app.Available(), RetentionDays: app.RetentionDays, RequireUserHash: app.RequireUserHash,
		AllowedOrigins: append([]string{}, app.AllowedOrigins...), PersonalFields: append([]string{}, app.PersonalFields...), Connector: connectorOf(call, a.connectors.Connector(app.Ref())), Organization: app.Organization,
		Environments: api.Convert(app.Environments, func(env *domain.Environment) environmentShape {
			return environmentShape{ID: env.ID, Slug: env.Slug, Name: env.Name, IngestID: env.IngestID()}
		}),
		CreatedAt: route.Time(app.CreatedAt), UpdatedAt: route.Time(app.UpdatedAt),
	}
}

type listApps struct {
	api.OrgPath
	api.Paging
}

func (a apps) list(ctx context.Context, call *route.Call, in listApps) (domain.Page[application], error) {
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return domain.Page[application]{}, err
	}
	rows, more, err := a.apps.List(ctx, in.Org, api.First(keyset), int(in.Limit))
	if err != nil {
		return domain.Page[application]{}, err
	}
	return route.PageOf(call, api.Convert(rows, func(app *domain.Application) application { return a.shown(call, app) }), more, func(last application) []string { return []string{last.Slug} }), nil
}

type createApp struct {
	api.OrgPath
	Body newApplication `body:"json"`
}

// newApplication is the body of POST …/apps.
type newApplication struct {
	Name     string           `json:"name" required:"true" doc:"The name that people read."`
	Slug     string           `json:"slug" doc:"The address within the organization; derived from the name where it is absent."`
	Platform string           `json:"platform" doc:"web where it is absent." enum:"web,ios,android,react-native,flutter,server,desktop,other"`
	URL      string           `json:"url"`
	Modules  *[]domain.Module `json:"modules" doc:"analytics, people, errors, metrics and flags where it is absent. A module that this service is not built with is kept, and not shown."`
	Timezone string           `json:"timezone" doc:"An IANA time-zone name; UTC where it is absent."`
}

func (n *newApplication) spec() domain.AppSpec {
	spec := domain.AppSpec{Name: n.Name, Slug: n.Slug, Platform: n.Platform, URL: n.URL, Timezone: n.Timezone}
	if n.Modules != nil {
		spec.Modules = append([]domain.Module{}, *n.Modules...)
	}
	return spec
}

// Check applies the rules of applications.
func (c *createApp) Check(*route.Call) []domain.FieldError { return c.Body.spec().Validate() }

func (a apps) create(ctx context.Context, call *route.Call, in createApp) (application, error) {
	app, err := a.apps.Create(ctx, in.Org, in.Body.spec())
	if err != nil {
		return application{}, err
	}
	call.Created("/apps/" + app.Ref().String())
	call.Tag(app.Revision)
	return a.shown(call, &app), nil
}

func (a apps) get(_ context.Context, call *route.Call, _ api.AppPath) (application, error) {
	shown := a.shown(call, &call.App)
	part := ""
	if shown.Connector != nil { // The connector changes without a new revision.
		encoded, err := json.Marshal(shown.Connector)
		if err != nil {
			return application{}, err
		}
		part = string(encoded)
	}
	call.TagWith(call.App.Revision, part)
	return shown, nil
}

type updateApp struct {
	api.AppPath
	Body domain.AppPatch `body:"json"`
}

// Check applies the patch to the application as it was read, and returns the problems.
func (u *updateApp) Check(call *route.Call) []domain.FieldError {
	app := call.App
	_, err := app.Apply(u.Body, call.Now)
	return api.ProblemsOf(err)
}

func (a apps) update(ctx context.Context, call *route.Call, in updateApp) (application, error) {
	ifMatch, err := call.IfMatch(call.App.Revision)
	if err != nil {
		return application{}, err
	}
	app, err := a.apps.Update(ctx, call.Ref(), in.Body, ifMatch)
	if err != nil {
		return application{}, err
	}
	call.Tag(app.Revision)
	return a.shown(call, &app), nil
}

func (a apps) remove(ctx context.Context, call *route.Call, _ api.AppPath) (route.Empty, error) {
	if err := api.FreshPasskey(call); err != nil {
		return route.Empty{}, err
	}
	call.About(call.App.ID)
	return route.Empty{}, a.apps.Delete(ctx, call.Ref())
}
