package assistant

import (
	"context"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// lookEvery is the pause between two reads of the record of a turn on another node.
const lookEvery = 500 * time.Millisecond

// Follow yields the frames of a member's conversation after an id until its turn ends, yield returns false or ctx ends.
// These are the frames of the turn that runs or has just ended on this node. Otherwise they come from the record, which
// grows as long as the turn runs elsewhere.
func (a *Assistant) Follow(ctx context.Context, ref domain.AppRef, member, id string, after uint64, yield func(conversation.TurnFrame) bool) error {
	for {
		live := a.live(id)
		if live.early(ref, member) {
			live.frames.follow(ctx, after, yield)
			return nil
		}
		exchange, err := a.Conversations.Get(ctx, ref, member, id)
		if err != nil {
			return err
		}
		if live != nil && live.conversation.Turn >= exchange.Conversation.Turn {
			live.frames.follow(ctx, after, yield)
			return nil
		}
		for _, frame := range recorded(&exchange) {
			if frame.ID <= after {
				continue
			}
			if after = frame.ID; !yield(frame) {
				return nil
			}
		}
		if exchange.Conversation.State != conversation.Running {
			return nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// live returns the turn of a conversation that runs or has just ended on this node, or nil.
func (a *Assistant) live(id string) *turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turns[id]
}

// early reports whether this is a turn of a member's conversation with a claim that may not be stored yet.
func (t *turn) early(ref domain.AppRef, member string) bool {
	if t == nil || !t.unstored() {
		return false
	}
	c := &t.conversation
	return c.Org == ref.Org && c.App == ref.App && c.Member.ID == member
}

// recorded returns the frames of the last turn of a conversation from its record, in the order of a live turn. Their
// ids follow the ids of all live frames of the turn; a client replaces the live frames by them. While the turn runs,
// its record only grows, so that a frame retains its id.
func recorded(exchange *conversation.Transcript) (out []conversation.TurnFrame) {
	c := &exchange.Conversation
	add := func(event string, data any) {
		out = append(out, conversation.TurnFrame{ID: conversation.FrameID(c.Turn, recordedFrames+uint64(len(out))), Event: event, Data: data})
	}
	add("start", startFrame{"start", c.ID, c.Title})
	add("status", statusFrame{"status", stateRunning})
	calls := map[string]bool{}
	for _, message := range exchange.Messages {
		if message.Turn != c.Turn {
			continue
		}
		if message.Text != "" && message.Role != conversation.RoleUser {
			add("text", textFrame{"text", message.Text})
		}
		for _, call := range message.Calls {
			calls[call.ID] = true
			add("tool_call", callFrame{"tool_call", call.ID, call.Name, call.Input})
		}
		for _, result := range message.Results {
			add("tool_result", resultFrame{"tool_result", result.CallID, result.Name, result.OK, "", asJSON(result.Content)})
		}
	}
	if c.State == conversation.Running {
		return out
	}
	var waits []conversation.Action
	for _, action := range exchange.Actions {
		if action.Status == conversation.ActionProposed && calls[action.CallID] {
			waits = append(waits, action)
		}
	}
	if len(waits) > 0 {
		frame, _ := approvalOf(waits)
		add("approval_required", frame)
		add("text", textFrame{"text", waitingText(waits)})
	}
	add("status", statusFrame{"status", stateAfter(c.State)})
	add("done", doneFrame{Type: "done", ConversationID: c.ID})
	return out
}

// recordedFrames is the number of the first recorded frame of a turn.
const recordedFrames = 1 << 19

// asJSON returns a text unchanged if it is JSON, else as a string.
func asJSON(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
