package api

import (
	"slices"

	"svc"
	"svc/http/route"
)

// Ports is everything that the handlers reach for.
type Ports struct {
	Organizations Organizations
	Members       Members
	Invitations   Invitations
	Tokens        Tokens
	Apps          Apps
	Keys          Keys
	Analytics     Analytics
	Presence      Presence
	Reads         Reads
	Events        Events
	Docs          Docs
	Ledger        Ledger
	Goals         Goals
	Funnels       Funnels
	Results       Results
	Monitors      Monitors
	Alerts        Alerts
	Incidents     Incidents
	Channels      Channels
	Shares        Shares
	Issues        Issues
	Occurrences   Occurrences
	IssueChanges  IssueChanges
	Assistant     Assistant
	Approvals     Approvals
	Passkeys      Passkeys
	AISettings    AISettings
	AITools       AITools
	Metrics       Metrics
	// Limits is shown by GET /me.
	Limits Limits
}

// Routes returns THE table: every gated route of the service.
func Routes(ports Ports) []route.Route {
	return withLedger(slices.Concat(
		identityRoutes(ports), appRoutes(ports), keyRoutes(ports), analyticsRoutes(ports), readRoutes(ports), goalRoutes(ports), eventRoutes(ports), docRoutes(ports),
		errorRoutes(ports), metricRoutes(ports),
		consoleOrgRoutes(ports), consoleMemberRoutes(ports), consoleInvitationRoutes(ports), consoleTokenRoutes(ports), ledgerRoutes(ports),
		consoleShareRoutes(ports),
		monitorRoutes(ports), alertRoutes(ports), channelRoutes(ports),
		assistantRoutes(ports), consoleAIRoutes(ports), consoleApprovalRoutes(ports), consolePasskeyRoutes(ports),
	))
}

func identityRoutes(ports Ports) []route.Route {
	me := me{organizations: ports.Organizations, tokens: ports.Tokens, limits: ports.Limits}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/me", Operation: "me.get", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Describe the token and who it acts as", Handler: route.Typed(me.get),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/me/tokens", Operation: "me.listTokens", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List the caller's own tokens", Handler: route.Typed(me.listTokens),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/me/tokens/{id}", Operation: "me.revokeToken", Scope: svc.ScopeAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Revoke one of the caller's own tokens", Status: 204, Handler: route.Typed(me.revokeToken),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/orgs", Operation: "orgs.list", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List the organizations that the token may address", Handler: route.Typed(me.listOrganizations),
		},
	}
}

func appRoutes(ports Ports) []route.Route {
	apps := apps{apps: ports.Apps}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/orgs/{org}/apps", Operation: "apps.list", Scope: svc.ScopeRead, Permission: svc.PermAppsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List applications", Handler: route.Typed(apps.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/orgs/{org}/apps", Operation: "apps.create", Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Create an application with its three environments", Status: 201, Handler: route.Typed(apps.create),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}", Operation: "apps.get", Scope: svc.ScopeRead, Permission: svc.PermAppsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Read one application", Handler: route.Typed(apps.get),
		},
		{
			Surface: route.Manage, Method: "PATCH", Path: "/apps/{org}/{app}", Operation: "apps.update", Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Update settings", Codes: []svc.Code{svc.CodePrecondition}, Handler: route.Typed(apps.update),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/install", Operation: "apps.install", Scope: svc.ScopeRead, Permission: svc.PermAppsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Show what to put where, to send from a framework", Handler: route.Typed(apps.guide),
		},
	}
}

func keyRoutes(ports Ports) []route.Route {
	keys := keys{keys: ports.Keys}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/keys", Operation: "keys.list", Scope: svc.ScopeAdmin, Permission: svc.PermKeysRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List ingest keys", Handler: route.Typed(keys.list),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/keys", Operation: "keys.create", Scope: svc.ScopeAdmin, Permission: svc.PermKeysWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Mint an ingest key; the answer shows it once", Status: 201, Handler: route.Typed(keys.create),
		},
		{
			Surface: route.Manage, Method: "DELETE", Path: "/apps/{org}/{app}/keys/{id}", Operation: "keys.revoke", Scope: svc.ScopeAdmin, Permission: svc.PermKeysWrite, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Revoke an ingest key", Status: 204, Handler: route.Typed(keys.revoke),
		},
	}
}

func analyticsRoutes(ports Ports) []route.Route {
	analytics := analytics{analytics: ports.Analytics}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/overview", Operation: "analytics.overview", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Headline metrics with a comparison window", Handler: route.Typed(analytics.overview),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/timeseries", Operation: "analytics.timeseries", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermAnalyticsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "One metric bucketed over a range", Handler: route.Typed(analytics.timeseries),
		},
	}
}

func eventRoutes(ports Ports) []route.Route {
	events := events{events: ports.Events}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events", Operation: "events.list", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermEventsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Raw event feed, newest first", Handler: route.Typed(events.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/events/names", Operation: "events.names", Module: svc.ModuleAnalytics, Scope: svc.ScopeRead, Permission: svc.PermEventsRead, Effect: route.Read, Rate: svc.RateQuery,
			Summary: "Event names seen in a range, with counts", Handler: route.Typed(events.names),
		},
	}
}

func consoleOrgRoutes(ports Ports) []route.Route {
	orgs := consoleOrgs{organizations: ports.Organizations}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs", Operation: "console.orgs.list", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List the organizations of the signed-in person", Handler: route.Typed(orgs.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs", Operation: "console.orgs.create", Scope: svc.ScopeWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Create an organization whose owner is the signed-in person", Status: 201, Handler: route.Typed(orgs.create),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/orgs/{org}", Operation: "console.orgs.rename", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Rename an organization", Handler: route.Typed(orgs.rename),
		},
	}
}

func consoleMemberRoutes(ports Ports) []route.Route {
	members := consoleMembers{members: ports.Members}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/members", Operation: "console.members.list", Scope: svc.ScopeRead, Permission: svc.PermOrgRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List members", Handler: route.Typed(members.list),
		},
		{
			Surface: route.Console, Method: "PUT", Path: "/orgs/{org}/members/{email}", Operation: "console.members.put", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Change a member's role, or invite the person, who has 72 hours to accept", Also: 202, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(members.put),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/members/{email}", Operation: "console.members.remove", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Remove a member, or withdraw an invitation", Status: 204, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(members.remove),
		},
	}
}

func consoleTokenRoutes(ports Ports) []route.Route {
	tokens := consoleTokens{tokens: ports.Tokens, organizations: ports.Organizations}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/me/tokens", Operation: "console.tokens.list", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List personal tokens", Handler: route.Typed(tokens.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/me/tokens", Operation: "console.tokens.create", Scope: svc.ScopeAdmin, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Issue a personal token; the answer shows it once", Status: 201, Handler: route.Typed(tokens.create),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/me/tokens/{id}", Operation: "console.tokens.revoke", Scope: svc.ScopeAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Revoke a personal token", Status: 204, Handler: route.Typed(tokens.revoke),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/tokens", Operation: "console.orgTokens.list", Scope: svc.ScopeRead, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List organization tokens", Handler: route.Typed(tokens.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs/{org}/tokens", Operation: "console.orgTokens.create", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Issue an organization token; the answer shows it once", Status: 201, Handler: route.Typed(tokens.create),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/orgs/{org}/tokens/{id}", Operation: "console.orgTokens.revoke", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleAdmin, Effect: route.Destructive, Rate: svc.RateDefault,
			Summary: "Revoke an organization token", Status: 204, Handler: route.Typed(tokens.revoke),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs/{org}/tokens/{id}/adopt", Operation: "console.orgTokens.adopt", Scope: svc.ScopeAdmin, Permission: svc.PermOrgRead, Role: svc.RoleOwner, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Act as the person of an organization token whose own person has left", Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(tokens.adopt),
		},
	}
}
