package assistant

import (
	"context"
	"errors"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// Requests returns the external requests of an organization that concern a user, the newest last: requests that the
// user made or may decide on.
func (a *Assistant) Requests(ctx context.Context, by conversation.Principal) ([]conversation.Approval, error) {
	all, err := a.Approvals.Approvals(ctx, by.Ref.Org)
	if err != nil {
		return nil, err
	}
	seen := []conversation.Approval{}
	for _, entry := range all {
		tool, known := a.Tools.Tool(entry.Action.Tool)
		if entry.Member.ID == by.User.ID || known && entry.CheckSecond(by.User, &by.Grant, &tool) == nil {
			seen = append(seen, entry)
		}
	}
	return seen, nil
}

// ApproveRequest sends a request to the outside after a second operator's decision and returns its result. It fails
// with not_found for a request that is not in the queue of the organization, and as conversation.Approval.CheckSecond and
// CheckSend do. It fails with conflict if the request is decided, its time is over or its target has changed. After the
// claim it does not fail: the answer contains the result.
func (a *Assistant) ApproveRequest(ctx context.Context, by conversation.Principal, id, reason string) (conversation.Approval, error) {
	entry, exchange, tool, err := a.request(ctx, by, id)
	if err != nil {
		return entry, err
	}
	who, policy, err := a.requester(ctx, &entry)
	if err != nil {
		return entry, err
	}
	outlook := conversation.SendContext{Requester: who.Grant, Operator: by.Grant, Modules: who.App.Modules, Policy: policy}
	if err := entry.CheckSend(by.User, &tool, &outlook); err != nil {
		return entry, err
	}
	if err := a.sameTarget(ctx, who, policy, &entry.Action); err != nil {
		return entry, err
	}
	model := a.commentator(ctx, by.Ref.Org)
	began := a.Now()
	after := entry.Action
	after.Status, after.DecidedBy, after.Sending = conversation.ActionExecuting, &by.User, conversation.SendingClaimed
	carrying, enter := a.carrying(ctx, a.entry(&exchange.Conversation, &after, by.User, "ai.action.approved", reason, by.Grant.Token))
	claimed, err := a.Approvals.ClaimSecond(carrying, &exchange.Conversation, id, by.User, reason)
	if err != nil {
		return entry, err
	}
	enter()
	entry.Take(&claimed)
	turn, err := a.startApproved(who, model, claimed, id, began) //nolint:contextcheck // a turn outlives its request
	if err != nil {
		return entry, err
	}
	turn.waitForAction(ctx)
	return a.reread(ctx, entry)
}

// RejectRequest refuses a request to the outside in a second operator's name.
func (a *Assistant) RejectRequest(ctx context.Context, by conversation.Principal, id, reason string) (conversation.Approval, error) {
	entry, exchange, _, err := a.request(ctx, by, id)
	if err != nil {
		return entry, err
	}
	after := entry.Action
	after.Status, after.DecidedBy = conversation.ActionRejected, &by.User
	carrying, enter := a.carrying(ctx, a.entry(&exchange.Conversation, &after, by.User, "ai.action.rejected", reason, by.Grant.Token))
	decided, err := a.Approvals.DecideSecond(carrying, &exchange.Conversation, id, by.User, reason)
	if err != nil {
		return entry, err
	}
	enter()
	entry.Take(&decided)
	return entry, nil
}

// request finds a request that a second operator may decide on.
func (a *Assistant) request(ctx context.Context, by conversation.Principal, id string) (conversation.Approval, conversation.Transcript, conversation.Tool, error) {
	entry, exchange, err := a.Approvals.Approval(ctx, by.Ref.Org, id)
	if err != nil {
		return entry, exchange, conversation.Tool{}, err
	}
	tool, known := a.Tools.Tool(entry.Action.Tool)
	if !known {
		return entry, exchange, tool, entry.Action.TargetChanged()
	}
	if err := entry.CheckSecond(by.User, &by.Grant, &tool); err != nil {
		return entry, exchange, tool, err
	}
	return entry, exchange, tool, entry.Action.CheckDecide(a.Now())
}

// requester returns the member that asked, with the member's current rights, limited to the scopes of the token of the
// question. A member that left the organization has no rights.
func (a *Assistant) requester(ctx context.Context, entry *conversation.Approval) (who conversation.Principal, policy conversation.AIPolicy, err error) {
	who = conversation.Principal{User: entry.Member, Ref: domain.AppRef{Org: entry.Org, App: entry.App}}
	settings, err := a.Settings.Settings(ctx, entry.Org, entry.Member.ID)
	if err != nil {
		return who, policy, err
	}
	if who.App, err = a.Apps.Get(ctx, who.Ref); err != nil {
		return who, policy, err
	}
	who.Grant, err = a.grant(ctx, entry.Org, entry.Member, entry.Action.Scopes)
	return who, settings.Policy, err
}

// grant returns a user's current rights in an organization, with scopes.
func (a *Assistant) grant(ctx context.Context, org string, person domain.User, scopes []domain.Scope) (domain.Grant, error) {
	grant := domain.Grant{Token: domain.Token{User: &person, Scopes: scopes}}
	role, err := a.Roles.Role(ctx, org, person.ID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return grant, nil
	}
	grant.Role, grant.Permissions = role, domain.EffectivePermissions(role, scopes)
	return grant, err
}

// rereadTime bounds the reading of a request's result while a caller waits.
const rereadTime = 5 * time.Second

// reread returns a request in the current state of its conversation.
func (a *Assistant) reread(ctx context.Context, entry conversation.Approval) (conversation.Approval, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rereadTime)
	defer cancel()
	now, _, err := a.Approvals.Approval(ctx, entry.Org, entry.Action.ID)
	if err != nil {
		a.Logger.Error("reading what became of a request failed", "action", entry.Action.ID, "error", err)
		return entry, nil // it is claimed; its result is unknown here
	}
	return now, nil
}

// waitForAction waits until the action with which the turn began has ended, or ctx ends.
func (t *Turn) waitForAction(ctx context.Context) {
	t.turn.frames.follow(ctx, 0, func(frame conversation.TurnFrame) bool { return frame.Event != "action" })
}

// checkSend checks all conditions of an external request after the claim, right before the sending.
func (t *turn) checkSend(ctx context.Context) error {
	action := t.approved
	if action.Effect != conversation.EffectExternal {
		return nil
	}
	tool, known := t.Tools.Tool(action.Tool)
	if !known || action.DecidedBy == nil {
		return action.TargetChanged()
	}
	// A second operator decides in a console session, which carries every scope.
	operator, err := t.grant(ctx, t.who.Ref.Org, *action.DecidedBy, domain.Scopes())
	if err != nil {
		return err
	}
	entry := conversation.Approval{Org: t.who.Ref.Org, App: t.who.Ref.App, Member: t.who.User, Action: *action}
	outlook := conversation.SendContext{Requester: t.audience.Grant, Operator: operator, Modules: t.audience.Modules, Policy: t.settings.Policy}
	if err := entry.CheckSend(*action.DecidedBy, &tool, &outlook); err != nil {
		return err
	}
	return t.unchanged(ctx, t.secret, t.who.Ref, action)
}

// drop records that a claimed action was not executed at all, with the reason.
func (t *turn) drop(ctx context.Context, cause error) {
	action := t.approved
	why := "the service could not find out whether it may be"
	if known, ok := errors.AsType[*domain.Error](cause); ok && known.Code != domain.CodeInternal {
		why = known.Message
	}
	if errors.Is(cause, errRevoked) {
		why = "the member may not use the assistant of this application any more"
	}
	action.Status, action.Result = conversation.ActionFailed, &conversation.ActionResult{Summary: "Not executed: " + why}
	if action.Effect == conversation.EffectExternal {
		action.Sending = conversation.SendingRefused
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	carrying, enter := t.carrying(ctx, t.entry(&t.conversation, action, t.who.User, "ai.action.failed", action.Question, t.token))
	if _, err := t.Conversations.Settle(carrying, &t.conversation, action, action.Result.Summary); err != nil {
		t.Logger.Error("recording that an action was not executed failed", "action", action.ID, "error", err)
		return // the end of the turn marks it as lost
	}
	enter()
	t.reportAction(action)
}
