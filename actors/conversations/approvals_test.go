package conversations

import (
	"context"
	"slices"
	"strings"

	"svc"
)

// outside says whether an action is a request to the outside.
func outside(action string) bool { return strings.HasPrefix(action, "act_ext") }

// sent is how far a request has got in a status, after an equals sign.
func sent(id string, status svc.ActionStatus) string {
	states := map[svc.ActionStatus]svc.Sending{svc.ActionExecuting: svc.SendingClaimed, svc.ActionExecuted: svc.SendingSent, svc.ActionFailed: svc.SendingUncertain}
	if !outside(id) || states[status] == "" {
		return ""
	}
	return "=" + string(states[status])
}

// queued compares the organization's queue with what the conversation says. A request
// whose proposal the proposer was not told of may be missing.
func (h *talk) queued(exchange *svc.Exchange) {
	h.t.Helper()
	queue, err := h.Conversations.Approvals(context.Background(), "acme")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, entry := range queue {
		noted, real := entry.Action, svc.Approval{Action: svc.Action{ID: entry.Action.ID}}
		real.Take(exchange)
		if noted.Status != real.Action.Status || noted.Sending != real.Action.Sending || entry.Member != member() || !outside(noted.ID) {
			h.t.Errorf("the queue has %s as %s %s of %v, the conversation as %s %s", noted.ID, noted.Status, noted.Sending, entry.Member, real.Action.Status, real.Action.Sending)
		}
	}
	for _, action := range exchange.Actions {
		if outside(action.ID) && !h.faulted && !slices.ContainsFunc(queue, func(entry svc.Approval) bool { return entry.Action.ID == action.ID }) {
			h.t.Errorf("the queue lacks %s", action.ID)
		}
	}
}
