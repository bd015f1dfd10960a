package assistant

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// Approvals is the approval queues of organizations.
type Approvals interface {
	// Requests returns the requests to external systems that a person made or could make, the newest last.
	Requests(ctx context.Context, by conversation.Principal) ([]conversation.Approval, error)
	// ApproveRequest sends a request once, after a second operator's decision, and returns the result. It fails with
	// forbidden for the person that made the request, and for a person that may not make the call. It fails with
	// conflict if the request is decided or expired, or was made for another target than the present one.
	ApproveRequest(ctx context.Context, by conversation.Principal, id, reason string) (conversation.Approval, error)
	RejectRequest(ctx context.Context, by conversation.Principal, id, reason string) (conversation.Approval, error)
}

// approvals serves the console's routes of approval queues.
type approvals struct{ queue Approvals }

func consoleApprovalRoutes(ports Ports) []route.Route {
	queue := approvals{ports.Approvals}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/approvals", Operation: "console.approvals.list", Scope: domain.ScopeRead, Permission: domain.PermAIUse, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the requests to the outside that wait for a second operator, and what became of others", Handler: route.Typed(queue.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs/{org}/approvals/{id}/approve", Operation: "console.approvals.approve", Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.External, Unrecorded: "the conversation records the decision", Rate: domain.RateDefault,
			Summary: "Send another member's request, once", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(queue.approve),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/orgs/{org}/approvals/{id}/reject", Operation: "console.approvals.reject", Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Write, Unrecorded: "the conversation records the decision", Rate: domain.RateDefault,
			Summary: "Refuse another member's request", Codes: []domain.Code{domain.CodeConflict}, Handler: route.Typed(queue.reject),
		},
	}
}

// approval is a request to an external system as answers show it.
type approval struct {
	action
	App         string      `json:"app" doc:"The application's slug."`
	RequestedBy views.Actor `json:"requestedBy"`
	Question    string      `json:"question" doc:"What the member had asked the assistant."`
	MayDecide   bool        `json:"mayDecide" doc:"Whether the signed-in person may be the second operator."`
}

func approvalOf(entry *conversation.Approval, by *domain.User) approval {
	return approval{
		action: actionOf(&entry.Action), App: entry.App, RequestedBy: views.Actor{ID: entry.Member.ID, Name: entry.Member.Name}, Question: entry.Action.Question,
		MayDecide: entry.Member.ID != by.ID && entry.Action.Status == conversation.ActionProposed,
	}
}

type listApprovals struct {
	api.OrgPath
	api.Paging
	Status actionFilter `query:"status" doc:"Only requests of this status."`
}

// decider returns the signed-in person that decides; tokens decide no requests.
func decider(call *route.Call, org string) (conversation.Principal, error) {
	who, err := asker(call)
	who.Ref = domain.AppRef{Org: org}
	return who, err
}

func (a approvals) list(ctx context.Context, call *route.Call, in listApprovals) (domain.Page[approval], error) {
	who, err := decider(call, in.Org)
	if err != nil {
		return domain.Page[approval]{}, err
	}
	rows, err := a.queue.Requests(ctx, who)
	if err != nil {
		return domain.Page[approval]{}, err
	}
	rows = slices.DeleteFunc(rows, func(row conversation.Approval) bool {
		return in.Status != allActions && row.Action.Status != conversation.ActionStatus(in.Status)
	})
	shown := api.Convert(rows, func(row *conversation.Approval) approval { return approvalOf(row, &who.User) })
	return newestFirst(call, shown, in.Paging, func(row approval) string { return row.ID })
}

type approvalPath struct {
	api.OrgPath
	ID string `path:"id" doc:"The action's id."`
}

type decideApproval struct {
	approvalPath
	Body refusalBody `body:"json"`
}

// Check applies the limits of reasons.
func (d *decideApproval) Check(*route.Call) []domain.FieldError {
	return checkReason(d.Body.Reason, true)
}

func (a approvals) approve(ctx context.Context, call *route.Call, in decideApproval) (approval, error) {
	return a.decide(ctx, call, in, a.queue.ApproveRequest)
}

func (a approvals) reject(ctx context.Context, call *route.Call, in decideApproval) (approval, error) {
	return a.decide(ctx, call, in, a.queue.RejectRequest)
}

// decide makes a decision; its audit row names the other of the two people.
func (a approvals) decide(ctx context.Context, call *route.Call, in decideApproval, decide func(ctx context.Context, by conversation.Principal, id, reason string) (conversation.Approval, error)) (approval, error) {
	who, err := decider(call, in.Org)
	if err != nil {
		return approval{}, err
	}
	entry, err := decide(ctx, who, in.ID, in.Body.Reason)
	if err != nil {
		return approval{}, err
	}
	call.Note("requested by " + entry.Member.ID)
	return approvalOf(&entry, &who.User), nil
}
