// Package campaigns has the routes of campaigns: reads of the API, and writes of the console.
package campaigns

import (
	"context"
	"time"

	"svc"
	"svc/http/api"
	"svc/http/route"
)

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct{ Campaigns Campaigns }

// Campaigns stores the campaigns of applications.
type Campaigns interface {
	// List returns the campaigns of an application, the newest first, without their contents.
	List(ctx context.Context, ref svc.AppRef) ([]svc.Mailing, error)
	// Progress returns the progress of campaigns, in their order.
	Progress(ctx context.Context, ref svc.AppRef, campaigns []svc.Mailing) ([]svc.CampaignProgress, error)
	// Get returns a campaign with its content. It fails with not_found if the campaign does not exist.
	Get(ctx context.Context, ref svc.AppRef, id string) (svc.Mailing, error)
	// Create makes a draft. It fails with invalid_request as svc.CampaignSpec.Validate does, and with conflict if there
	// are too many.
	Create(ctx context.Context, app *svc.Application, spec svc.CampaignSpec, by svc.LedgerActor) (svc.Mailing, error)
	// Update changes a draft of a revision, 0 for any. It fails with precondition_failed if the draft has another
	// revision, and with conflict if the campaign is not a draft.
	Update(ctx context.Context, app *svc.Application, id string, patch svc.CampaignPatch, revision uint64, by svc.LedgerActor) (svc.Mailing, error)
	// Submit passes a draft to a second operator for approval.
	Submit(ctx context.Context, ref svc.AppRef, id string, revision uint64, by svc.LedgerActor) (svc.Mailing, error)
	// Decide approves or returns a campaign. It fails with forbidden for its authors.
	Decide(ctx context.Context, ref svc.AppRef, id string, revision uint64, decision svc.CampaignDecision) (svc.Mailing, error)
	// Control starts, pauses, resumes or ends a campaign. It fails with conflict if its status does not permit the
	// action.
	Control(ctx context.Context, ref svc.AppRef, id string, action svc.CampaignAction, at time.Time, revision uint64) (svc.Mailing, error)
}

// campaigns serves the routes of campaigns.
type campaigns struct{ campaigns Campaigns }

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	c := campaigns{ports.Campaigns}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/campaigns", Operation: "campaigns.list", Module: svc.ModuleCommunications, Scope: svc.ScopeRead, Permission: svc.PermCommunicationsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List campaigns with counts by status, newest first", Handler: route.Typed(c.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/campaigns/{id}", Operation: "campaigns.get", Module: svc.ModuleCommunications, Scope: svc.ScopeRead, Permission: svc.PermCommunicationsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "One campaign with its text and its delivery statistics; its ETag is for If-Match", Handler: route.Typed(c.get),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns", Operation: "console.campaigns.create", Module: svc.ModuleCommunications, Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.Write, Ledger: "campaign.created", Rate: svc.RateDefault,
			Summary: "Begin a campaign, as a draft", Status: 201, Codes: []svc.Code{svc.CodeConflict}, Handler: route.Typed(c.create),
		},
		{
			Surface: route.Console, Method: "PATCH", Path: "/apps/{org}/{app}/campaigns/{id}", Operation: "console.campaigns.update", Module: svc.ModuleCommunications, Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.Write, Ledger: "campaign.updated", Rate: svc.RateDefault,
			Summary: "Change a draft", Codes: []svc.Code{svc.CodeConflict, svc.CodePrecondition}, Handler: route.Typed(c.update),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns/{id}/submit", Operation: "console.campaigns.submit", Module: svc.ModuleCommunications, Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.Write, Ledger: "campaign.submitted", Rate: svc.RateDefault,
			Summary: "Have a draft wait for the approval of a second member", Codes: []svc.Code{svc.CodeConflict, svc.CodePrecondition}, Handler: route.Typed(c.submit),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns/{id}/decide", Operation: "console.campaigns.decide", Module: svc.ModuleCommunications, Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.External, Ledger: "campaign.returned", Rate: svc.RateDefault,
			Summary: "Approve a campaign that another member wrote, soon after signing in with a passkey, or return it with a reason", Codes: []svc.Code{svc.CodeConflict, svc.CodePrecondition, svc.CodePasskeyRequired}, Handler: route.Typed(c.decide),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/campaigns/{id}/control", Operation: "console.campaigns.control", Module: svc.ModuleCommunications, Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.External, Ledger: "campaign.controlled", Rate: svc.RateDefault,
			Summary: "Schedule, send, pause, resume or cancel a campaign", Codes: []svc.Code{svc.CodeConflict, svc.CodePrecondition}, Handler: route.Typed(c.control),
		},
	}
}

type campaignPath struct {
	api.AppPath
	ID string `path:"id" doc:"The campaign's id."`
}

// actorOf returns the member that makes a call.
func actorOf(call *route.Call) (svc.LedgerActor, error) {
	user, err := api.SignedIn(call)
	return svc.LedgerActor{ID: user.ID, Name: user.Name}, err
}
