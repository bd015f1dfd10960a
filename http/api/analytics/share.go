package analytics

import (
	"context"

	"svc"
	"svc/http/api"
	"svc/http/route"
)

// Shares stores the public pages of applications. Handlers read them from the call (route.Call.Parts).
type Shares interface {
	// PublishShare publishes the page under a new link and changes settings. It fails with conflict if the page is
	// published already.
	PublishShare(ctx context.Context, ref svc.AppRef, patch svc.SharePatch) (svc.Share, error)
	// ConfigureShare changes settings; they apply from the next read.
	ConfigureShare(ctx context.Context, ref svc.AppRef, patch svc.SharePatch) (svc.Share, error)
	// RotateShare replaces the link; the earlier one ends at once. It fails with conflict if the page is not published.
	RotateShare(ctx context.Context, ref svc.AppRef) (svc.Share, error)
	// DisableShare removes the page at once. It fails with not_found if the page is not published.
	DisableShare(ctx context.Context, ref svc.AppRef) error
}

// consoleShare serves the console's routes of an application's public page.
type consoleShare struct{ shares Shares }

// consoleShareRoutes lists the administrator's routes for an application's public page. Package share serves the page
// itself.
func consoleShareRoutes(ports Ports) []route.Route {
	shares := consoleShare{shares: ports.Shares}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/share", Operation: "console.share.get", Scope: svc.ScopeRead, Permission: svc.PermAppsRead, Role: svc.RoleAdmin, AppPart: svc.AppShare, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Read the settings of the public page", Handler: route.Typed(shares.get),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/share", Operation: "console.share.publish", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Write, Ledger: "share.published", Rate: svc.RateDefault,
			Summary: "Publish the public page under a new link", Status: 201, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(shares.publish),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/apps/{org}/{app}/share", Operation: "console.share.configure", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Write, Ledger: "share.updated", Rate: svc.RateDefault,
			Summary: "Choose what the public page shows", Handler: route.Typed(shares.configure),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/share/rotate", Operation: "console.share.rotate", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Destructive, Ledger: "share.rotated", Rate: svc.RateDefault,
			Summary: "Replace the public page's link; earlier ones end at once", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(shares.rotate),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/apps/{org}/{app}/share", Operation: "console.share.disable", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Destructive, Ledger: "share.disabled", Rate: svc.RateDefault,
			Summary: "Take the public page away at once", Status: 204, Handler: route.Typed(shares.disable),
		},
	}
}

// share is the public page as answers show it.
type share struct {
	Published    bool        `json:"published"`
	ShareID      *string     `json:"shareId" doc:"24 hex digits; null while the page is not published."`
	Path         *string     `json:"path" doc:"The page."`
	EmbedPath    *string     `json:"embedPath" doc:"The page for frames of other sites."`
	LegacyPath   *string     `json:"legacyPath" doc:"The page under the slugs of organization and application; null where it is not found there."`
	Pages        bool        `json:"pages"`
	Campaigns    bool        `json:"campaigns"`
	Locations    bool        `json:"locations"`
	Browsers     bool        `json:"browsers"`
	PrivatePaths []string    `json:"privatePaths"`
	PublishedAt  *route.Time `json:"publishedAt"`
	UpdatedAt    *route.Time `json:"updatedAt"`
}

func shareOf(ref svc.AppRef, s *svc.Share) share {
	shown := share{
		Published: s.Published(), ShareID: api.OrNull(s.ID), Pages: s.Pages, Campaigns: s.Campaigns, Locations: s.Locations, Browsers: s.Browsers,
		PrivatePaths: append([]string{}, s.PrivatePaths...), PublishedAt: route.TimeOf(s.PublishedAt), UpdatedAt: route.TimeOf(s.UpdatedAt),
	}
	for i, link := range s.Links(ref) {
		if i > 0 {
			shown.LegacyPath = api.OrNull("/s/" + link)
			continue
		}
		shown.Path, shown.EmbedPath = api.OrNull("/s/"+link), api.OrNull("/embed/"+link)
	}
	return shown
}

// about makes the application the subject of the ledger entry, because the id of a share opens the page.
func about(call *route.Call) { call.About(call.App.ID) }

// answer makes an answer of a port's result.
func (consoleShare) answer(call *route.Call, s svc.Share, err error) (share, error) {
	if err != nil {
		return share{}, err
	}
	return shareOf(call.Ref(), &s), nil
}

func (c consoleShare) get(_ context.Context, call *route.Call, _ api.AppPath) (share, error) {
	return c.answer(call, *call.Parts.Share, nil)
}

// publishShare accepts the settings of configureShare, all of them optional.
type publishShare struct {
	api.AppPath
	Body svc.SharePatch `body:"json" optional:"true"`
}

// Check applies the rules of the settings.
func (p *publishShare) Check(*route.Call) []svc.FieldError { return p.Body.Validate() }

func (c consoleShare) publish(ctx context.Context, call *route.Call, in publishShare) (share, error) {
	about(call)
	s, err := c.shares.PublishShare(ctx, call.Ref(), in.Body)
	if err == nil {
		call.Created("/apps/" + call.Ref().String() + "/share")
	}
	return c.answer(call, s, err)
}

type configureShare struct {
	api.AppPath
	Body svc.SharePatch `body:"json"`
}

// Check validates the settings.
func (p *configureShare) Check(call *route.Call) []svc.FieldError {
	var tried svc.Share
	return api.ProblemsOf(tried.Configure(p.Body, call.Now))
}

func (c consoleShare) configure(ctx context.Context, call *route.Call, in configureShare) (share, error) {
	about(call)
	s, err := c.shares.ConfigureShare(ctx, call.Ref(), in.Body)
	return c.answer(call, s, err)
}

func (c consoleShare) rotate(ctx context.Context, call *route.Call, _ api.AppPath) (share, error) {
	about(call)
	s, err := c.shares.RotateShare(ctx, call.Ref())
	return c.answer(call, s, err)
}

func (c consoleShare) disable(ctx context.Context, call *route.Call, _ api.AppPath) (route.Empty, error) {
	about(call)
	return route.Empty{}, c.shares.DisableShare(ctx, call.Ref())
}
