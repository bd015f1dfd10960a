package conversations

import (
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// onClaim claims an action for execution and begins the turn that executes it. An external request is claimed
// by its second operator, and only once.
func (c *conversationActor) onClaim(now time.Time, m claimAction) (grain.Outcome[conversationView], error) {
	action, err := c.decidable(now, m)
	if err != nil {
		return grain.Outcome[conversationView]{}, err
	}
	if c.running(now) || c.takenBefore(now, "") {
		return grain.Outcome[conversationView]{}, turnRunning(c.conversation.ID)
	}
	h := c.change(now)
	c.endLostTurn(h)
	action.Status, action.DecidedAt, action.DecidedBy, action.Reason = conversation.ActionExecuting, &now, &m.By, m.Reason
	if action.Effect == conversation.EffectExternal {
		action.Sending = conversation.SendingClaimed
	}
	c.start(h)
	h.putAction(action)
	return h.outcome(), nil
}

// decidable returns an action that a member may claim. For every other user the action is not found, unless it is an
// external request and the user decides as its second operator.
func (c *conversationActor) decidable(now time.Time, m claimAction) (conversation.Action, error) {
	action, known := c.actions[m.Action]
	if !known || !c.addressed(&action, m.By, m.Second) {
		return conversation.Action{}, domain.NotFound("action")
	}
	if err := action.CheckDecide(now); err != nil {
		return conversation.Action{}, err
	}
	if (action.Effect == conversation.EffectExternal) != m.Second {
		return conversation.Action{}, conversation.SecondOperatorRequired()
	}
	return action, nil
}

// addressed reports whether a user may decide on an action: its member, or another user as the second operator of an
// external request.
func (c *conversationActor) addressed(action *conversation.Action, by domain.User, second bool) bool {
	return second == (by.ID != c.conversation.Member.ID) && (!second || action.Effect == conversation.EffectExternal)
}

// refusedContent is the result that the model reads for an action that was not executed.
func refusedContent(status conversation.ActionStatus, reason string) string {
	words := map[conversation.ActionStatus]string{
		conversation.ActionRejected: "The member refused the action. Nothing was written. The reason: ",
		conversation.ActionRevoked:  "An administrator denied the action. Nothing was written. The reason: ",
		conversation.ActionExpired:  "Nobody decided on the action in time, so it expired. Nothing was written.",
	}
	return words[status] + reason
}

// onDecide ends a proposed action without executing it: the member or a second operator
// rejects it, or an administrator revokes it.
func (c *conversationActor) onDecide(now time.Time, m decideAction) (grain.Outcome[conversationView], error) {
	action, known := c.actions[m.Action]
	if !known || m.Status == conversation.ActionRejected && !c.addressed(&action, m.By, m.Second) {
		return grain.Outcome[conversationView]{}, domain.NotFound("action")
	}
	if err := action.CheckDecide(now); err != nil {
		return grain.Outcome[conversationView]{}, err
	}
	h := c.change(now)
	action.Status, action.DecidedAt, action.DecidedBy, action.Reason = m.Status, &now, &m.By, m.Reason
	h.putAction(action)
	content := refusedContent(m.Status, m.Reason)
	if m.Second {
		content = "A second operator refused the request. Nothing was sent. The reason: " + m.Reason
	}
	h.result(&action, false, content)
	return h.outcome(), nil
}
