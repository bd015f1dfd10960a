// Package campaigns has the routes of campaigns: reads of the API, and writes of the console.
package campaigns

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/campaign"
	"svc/http/api"
	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct{ Campaigns Campaigns }

// Campaigns stores the campaigns of applications.
type Campaigns interface {
	// List returns the campaigns of an application, the newest first, without their contents.
	List(ctx context.Context, ref domain.AppRef) ([]campaign.Mailing, error)
	// Progress returns the progress of campaigns, in their order.
	Progress(ctx context.Context, ref domain.AppRef, campaigns []campaign.Mailing) ([]campaign.Progress, error)
	// Get returns a campaign with its content. It fails with not_found if the campaign does not exist.
	Get(ctx context.Context, ref domain.AppRef, id string) (campaign.Mailing, error)
	// Create makes a draft. It fails with invalid_request as campaign.Spec.Validate does, and with conflict if there
	// are too many.
	Create(ctx context.Context, app *domain.Application, spec campaign.Spec, by domain.LedgerActor) (campaign.Mailing, error)
	// Update changes a draft of a revision, 0 for any. It fails with precondition_failed if the draft has another
	// revision, and with conflict if the campaign is not a draft.
	Update(ctx context.Context, app *domain.Application, id string, patch campaign.Patch, revision uint64, by domain.LedgerActor) (campaign.Mailing, error)
	// Submit passes a draft to a second operator for approval.
	Submit(ctx context.Context, ref domain.AppRef, id string, revision uint64, by domain.LedgerActor) (campaign.Mailing, error)
	// Decide approves or returns a campaign. It fails with forbidden for its authors.
	Decide(ctx context.Context, ref domain.AppRef, id string, revision uint64, decision campaign.Decision) (campaign.Mailing, error)
	// Control starts, pauses, resumes or ends a campaign. It fails with conflict if its status does not permit the
	// action.
	Control(ctx context.Context, ref domain.AppRef, id string, action campaign.Action, at time.Time, revision uint64) (campaign.Mailing, error)
}

// campaigns serves the routes of campaigns.
type campaigns struct{ campaigns Campaigns }

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	c := campaigns{ports.Campaigns}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/campaigns", Operation: "campaigns.list", Module: domain.ModuleCommunications, Scope: domain.ScopeRead, Permission: domain.PermCommunicationsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List campaigns with counts by status, newest first", Handler: route.Typed(c.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/campaigns/{id}", Operation: "campaigns.get", Module: domain.ModuleCommunications, Scope: domain.ScopeRead, Permission: domain.PermCommunicationsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "One campaign with its text and its delivery statistics; its ETag is for If-Match", Handler: route.Typed(c.get),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns", Operation: "console.campaigns.create", Module: domain.ModuleCommunications, Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Write, Ledger: "campaign.created", Rate: domain.RateDefault,
			Summary: "Begin a campaign, as a draft", Status: 201, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(c.create),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/apps/{org}/{app}/campaigns/{id}", Operation: "console.campaigns.update", Module: domain.ModuleCommunications, Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Write, Ledger: "campaign.updated", Rate: domain.RateDefault,
			Summary: "Change a draft", Codes: []domain.Code{domain.CodeConflict, domain.CodePrecondition}, Handler: route.Typed(c.update),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns/{id}/submit", Operation: "console.campaigns.submit", Module: domain.ModuleCommunications, Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Write, Ledger: "campaign.submitted", Rate: domain.RateDefault,
			Summary: "Have a draft wait for the approval of a second member", Codes: []domain.Code{domain.CodeConflict, domain.CodePrecondition}, Handler: route.Typed(c.submit),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns/{id}/decide", Operation: "console.campaigns.decide", Module: domain.ModuleCommunications, Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.External, Ledger: "campaign.returned", Rate: domain.RateDefault,
			Summary: "Approve a campaign that another member wrote, soon after signing in with a passkey, or return it with a reason", Codes: []domain.Code{domain.CodeConflict, domain.CodePrecondition, domain.CodePasskeyRequired}, Handler: route.Typed(c.decide),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns/{id}/control", Operation: "console.campaigns.control", Module: domain.ModuleCommunications, Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.External, Ledger: "campaign.controlled", Rate: domain.RateDefault,
			Summary: "Schedule, send, pause, resume or cancel a campaign", Codes: []domain.Code{domain.CodeConflict, domain.CodePrecondition}, Handler: route.Typed(c.control),
		},
	}
}

type campaignPath struct {
	api.AppPath
	ID string `path:"id" doc:"The campaign's id."`
}

// actorOf returns the member that makes a call.
func actorOf(call *route.Call) (domain.LedgerActor, error) {
	user, err := api.SignedIn(call)
	return domain.LedgerActor{ID: user.ID, Name: user.Name}, err
}
