package conversations

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// outside reports whether an action is a request to the outside.
func outside(action string) bool { return strings.HasPrefix(action, "act_ext") }

// sent is the progress of sending a request in a status, after an equals sign.
func sent(id string, status conversation.ActionStatus) string {
	states := map[conversation.ActionStatus]conversation.Sending{conversation.ActionExecuting: conversation.SendingClaimed, conversation.ActionExecuted: conversation.SendingSent, conversation.ActionFailed: conversation.SendingUncertain}
	if !outside(id) || states[status] == "" {
		return ""
	}
	return "=" + string(states[status])
}

// queued compares the organization's queue with the conversation. A request may be missing if its proposer did not
// receive the answer to the proposal.
func (h *talk) queued(exchange *conversation.Transcript) {
	h.t.Helper()
	queue, err := h.Conversations.Approvals(context.Background(), "acme")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, entry := range queue {
		noted, real := entry.Action, conversation.Approval{Action: conversation.Action{ID: entry.Action.ID}}
		real.Take(exchange)
		if noted.Status != real.Action.Status || noted.Sending != real.Action.Sending || entry.Member != member() || !outside(noted.ID) {
			h.t.Errorf("the queue has %s as %s %s of %v, the conversation as %s %s", noted.ID, noted.Status, noted.Sending, entry.Member, real.Action.Status, real.Action.Sending)
		}
	}
	for _, action := range exchange.Actions {
		if outside(action.ID) && !h.faulted && !slices.ContainsFunc(queue, func(entry conversation.Approval) bool { return entry.Action.ID == action.ID }) {
			h.t.Errorf("the queue lacks %s", action.ID)
		}
	}
}

// TestOneBadRequestDoesNotHideTheQueue restores a queue with one request that cannot be decoded.
func TestOneBadRequestDoesNotHideTheQueue(t *testing.T) {
	t.Parallel()
	good, err := json.Marshal(conversation.Approval{Action: conversation.Action{ID: "act_2", Status: conversation.ActionExecuted}})
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	queue := &approvals{skipped: func(entity domain.Entity, _ error) { skipped = append(skipped, entity.ID) }}
	if err := queue.Restore([]domain.Entity{{Kind: "approval", ID: "act_1", Payload: []byte("{")}, {Kind: "approval", ID: "act_2", Payload: good}}); err != nil {
		t.Fatalf("one bad request hides the queue: %v", err)
	}
	list, err := queue.onList(actorstest.Epoch(), grain.None{})
	if err != nil || len(list.Answer) != 1 || list.Answer[0].Action.ID != "act_2" || !slices.Equal(skipped, []string{"act_1"}) {
		t.Errorf("the queue is %+v, %v; skipped %v", list.Answer, err, skipped)
	}
}
