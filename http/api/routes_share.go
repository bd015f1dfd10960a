package api

import (
	"svc"
	"svc/http/route"
)

// consoleShareRoutes lists what an administrator does with an application's
// public page; the page itself is served by package share.
func consoleShareRoutes(ports Ports) []route.Route {
	shares := consoleShare{shares: ports.Shares}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/apps/{org}/{app}/share", Operation: "console.share.get", Scope: svc.ScopeRead, Permission: svc.PermAppsRead, Role: svc.RoleAdmin, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Read the settings of the public page", Handler: route.Typed(shares.get),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/share", Operation: "console.share.publish", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Publish the public page under a new link", Status: 201, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(shares.publish),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/apps/{org}/{app}/share", Operation: "console.share.configure", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Choose what the public page shows", Handler: route.Typed(shares.configure),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/share/rotate", Operation: "console.share.rotate", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Replace the public page's link; earlier ones end at once", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(shares.rotate),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/apps/{org}/{app}/share", Operation: "console.share.disable", Scope: svc.ScopeAdmin, Permission: svc.PermAppsWrite, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Take the public page away at once", Status: 204, Handler: route.Typed(shares.disable),
		},
	}
}
