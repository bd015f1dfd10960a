package analytics

import (
	"context"

	"svc/domain"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// Shares stores the public pages of applications. Handlers read them from the call (route.Call.Parts).
type Shares interface {
	// PublishShare publishes the page under a new link and changes settings. It fails with conflict if the page is
	// published already.
	PublishShare(ctx context.Context, ref domain.AppRef, patch share.Patch) (share.Share, error)
	// ConfigureShare changes settings; they apply from the next read.
	ConfigureShare(ctx context.Context, ref domain.AppRef, patch share.Patch) (share.Share, error)
	// RotateShare replaces the link; the earlier one ends at once. It fails with conflict if the page is not published.
	RotateShare(ctx context.Context, ref domain.AppRef) (share.Share, error)
	// DisableShare removes the page at once. It fails with not_found if the page is not published.
	DisableShare(ctx context.Context, ref domain.AppRef) error
}

// consoleShare serves the console's routes of an application's public page.
type consoleShare struct{ shares Shares }

// consoleShareRoutes lists the administrator's routes for an application's public page. Package share serves the page
// itself.
func consoleShareRoutes(ports Ports) []route.Route {
	shares := consoleShare{shares: ports.Shares}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/share", Operation: "console.share.get", Scope: domain.ScopeRead, Permission: domain.PermAppsRead, Role: domain.RoleAdmin, AppPart: share.AppShare, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Read the settings of the public page", Handler: route.Typed(shares.get),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/share", Operation: "console.share.publish", Scope: domain.ScopeAdmin, Permission: domain.PermAppsWrite, Role: domain.RoleAdmin, Effect: route.Write, Ledger: "share.published", Rate: domain.RateDefault,
			Summary: "Publish the public page under a new link", Status: 201, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(shares.publish),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/apps/{org}/{app}/share", Operation: "console.share.configure", Scope: domain.ScopeAdmin, Permission: domain.PermAppsWrite, Role: domain.RoleAdmin, Effect: route.Write, Ledger: "share.updated", Rate: domain.RateDefault,
			Summary: "Choose what the public page shows", Handler: route.Typed(shares.configure),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/share/rotate", Operation: "console.share.rotate", Scope: domain.ScopeAdmin, Permission: domain.PermAppsWrite, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "share.rotated", Rate: domain.RateDefault,
			Summary: "Replace the public page's link; earlier ones end at once", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(shares.rotate),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/apps/{org}/{app}/share", Operation: "console.share.disable", Scope: domain.ScopeAdmin, Permission: domain.PermAppsWrite, Role: domain.RoleAdmin, Effect: route.Destructive, Ledger: "share.disabled", Rate: domain.RateDefault,
			Summary: "Take the public page away at once", Status: 204, Handler: route.Typed(shares.disable),
		},
	}
}

// shareJSON is the public page as answers show it.
type shareJSON struct {
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

func shareOf(ref domain.AppRef, s *share.Share) shareJSON {
	shown := shareJSON{
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
func (consoleShare) answer(call *route.Call, s share.Share, err error) (shareJSON, error) {
	if err != nil {
		return shareJSON{}, err
	}
	return shareOf(call.Ref(), &s), nil
}

func (c consoleShare) get(_ context.Context, call *route.Call, _ api.AppPath) (shareJSON, error) {
	return c.answer(call, *call.Parts.Share, nil)
}

// publishShare accepts the settings of configureShare, all of them optional.
type publishShare struct {
	api.AppPath
	Body share.Patch `body:"json" optional:"true"`
}

// Check applies the rules of the settings.
func (p *publishShare) Check(*route.Call) []domain.FieldError { return p.Body.Validate() }

func (c consoleShare) publish(ctx context.Context, call *route.Call, in publishShare) (shareJSON, error) {
	about(call)
	s, err := c.shares.PublishShare(ctx, call.Ref(), in.Body)
	if err == nil {
		call.Created("/apps/" + call.Ref().String() + "/share")
	}
	return c.answer(call, s, err)
}

type configureShare struct {
	api.AppPath
	Body share.Patch `body:"json"`
}

// Check validates the settings.
func (p *configureShare) Check(call *route.Call) []domain.FieldError {
	var tried share.Share
	return api.ProblemsOf(tried.Configure(p.Body, call.Now))
}

func (c consoleShare) configure(ctx context.Context, call *route.Call, in configureShare) (shareJSON, error) {
	about(call)
	s, err := c.shares.ConfigureShare(ctx, call.Ref(), in.Body)
	return c.answer(call, s, err)
}

func (c consoleShare) rotate(ctx context.Context, call *route.Call, _ api.AppPath) (shareJSON, error) {
	about(call)
	s, err := c.shares.RotateShare(ctx, call.Ref())
	return c.answer(call, s, err)
}

func (c consoleShare) disable(ctx context.Context, call *route.Call, _ api.AppPath) (route.Empty, error) {
	about(call)
	return route.Empty{}, c.shares.DisableShare(ctx, call.Ref())
}
