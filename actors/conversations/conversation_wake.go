package conversations

import (
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// endOverdue ends everything that is overdue: a turn if its time is over or its node is lost, and undecided proposals.
func (c *conversationActor) endOverdue(h *change) {
	if c.conversation != nil {
		c.endLostTurn(h)
		c.expire(h)
	}
}

// expire ends the proposals that have expired.
func (c *conversationActor) expire(h *change) {
	for _, id := range slices.Sorted(maps.Keys(c.actions)) {
		action := c.actions[id]
		if ended := action.At(h.now); ended.Status == conversation.ActionExpired && action.Status == conversation.ActionProposed {
			h.putAction(ended)
			h.expired = append(h.expired, h.expiredEntry(&ended))
			h.result(&ended, false, refusedContent(conversation.ActionExpired, ""))
		}
	}
}

// lostNote is the note in a conversation that lost its turn with its node.
const lostNote = "The turn was cut off before its end."

// endLostTurn ends a turn that is over its time, or without reports of its node.
func (c *conversationActor) endLostTurn(h *change) {
	if c.conversation.State != conversation.Running || c.running(h.now) {
		return
	}
	c.conversation.State = conversation.Idle
	c.failExecuting(h)
	h.note(lostNote)
}

// failExecuting ends the actions that a turn was executing when it ended. Whether they took effect is unknown,
// so they are not repeated.
func (c *conversationActor) failExecuting(h *change) {
	for _, id := range slices.Sorted(maps.Keys(c.actions)) {
		if action := c.actions[id]; action.Status == conversation.ActionExecuting {
			action = action.Lost()
			h.putAction(action)
			h.result(&action, false, action.Result.Summary)
		}
	}
}

// onWake handles a wake-up: its name is a hint, and everything that may be due is checked.
func (c *conversationActor) onWake(now time.Time, name string) (grain.Outcome[grain.None], error) {
	if c.conversation == nil || !now.Before(c.conversation.ExpiresAt()) {
		return c.purge(name)
	}
	h := c.change(now)
	c.endOverdue(h)
	switch pending := c.pending(now); {
	case name == wakeTurn && c.running(now):
		h.wake(wakeTurn, c.conversation.TurnEnds)
	case name == wakeExpire && len(pending) > 0:
		h.wake(wakeExpire, pending[0].ExpiresAt)
	case name == wakePurge:
		h.wake(wakePurge, c.conversation.ExpiresAt())
	default:
		h.wake(name, time.Time{})
	}
	return grain.Outcome[grain.None]{Effects: h.outcome().Effects}, nil
}

// purge removes everything. The tokens of its turns have expired.
func (c *conversationActor) purge(name string) (grain.Outcome[grain.None], error) {
	result := grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Wakeups: []domain.Wakeup{
		{Kind: kindConversation, Identity: c.identity, Name: name}, {Kind: kindConversation, Identity: c.identity, Name: wakePurge},
	}}}
	if c.conversation == nil {
		// A crash left the wake-up of a conversation that no longer exists.
		result.Writes = []grain.Write{grain.Delete("conversation", "purged")}
		return result, nil
	}
	result.Writes = append(result.Writes, grain.Delete("conversation", c.conversation.ID))
	for n := range c.messages {
		result.Writes = append(result.Writes, grain.Delete("message", messageID(n)))
	}
	for id := range c.actions {
		result.Writes = append(result.Writes, grain.Delete("action", id))
	}
	*c = conversationActor{identity: c.identity, actions: map[string]conversation.Action{}}
	return result, nil
}
