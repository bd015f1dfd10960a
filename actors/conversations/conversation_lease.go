package conversations

import (
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// reservation reserves the next turn for a question with a claim that is not stored yet. It is in memory only: if it is
// lost, the claim checks again whether a turn may begin.
type reservation struct {
	id   string
	ends time.Time
}

type (
	releaseTurn struct {
		Reservation string `json:"reservation"`
	}
	renewTurn struct {
		Turn int `json:"turn"`
	}
)

// onReserve reserves the next turn for a question, and returns the conversation as it will be once the question is
// stored. It does not store the question.
func (c *conversationActor) onReserve(now time.Time, m beginTurn) (grain.Outcome[conversationView], error) {
	if err := c.checkQuestion(now, &m, m.Reservation); err != nil {
		return grain.Outcome[conversationView]{}, err
	}
	h := c.change(now)
	c.endOverdue(h)
	var result grain.Outcome[conversationView]
	if len(h.writes) > 0 {
		result = h.outcome()
	}
	ahead := conversationActor{identity: c.identity, actions: c.actions, messages: c.messages[:len(c.messages):len(c.messages)]}
	if c.conversation != nil {
		record := *c.conversation
		ahead.conversation = &record
	}
	result.Answer = ahead.ask(ahead.change(now), &m).Answer
	c.reserved = &reservation{id: m.Reservation, ends: now.Add(conversation.TurnLease)}
	return result, nil
}

// onRelease drops a reservation.
func (c *conversationActor) onRelease(_ time.Time, m releaseTurn) (grain.Outcome[grain.None], error) {
	if c.reserved != nil && c.reserved.id == m.Reservation {
		c.reserved = nil
	}
	return grain.Answer(grain.None{}), nil
}

// onRenew receives the heartbeat of a running turn from its node.
func (c *conversationActor) onRenew(now time.Time, m renewTurn) (grain.Outcome[grain.None], error) {
	if err := c.current(now, m.Turn); err != nil {
		return grain.Outcome[grain.None]{}, err
	}
	c.lastHeartbeat = now
	return grain.Answer(grain.None{}), nil
}

// Saved resets the time without a heartbeat, because the actor could not receive one while it saved.
func (c *conversationActor) Saved(now time.Time) { c.lastHeartbeat = now }

// running reports whether a turn runs: its time is not over, and its node has reported in time.
func (c *conversationActor) running(now time.Time) bool {
	return c.conversation.State == conversation.Running && now.Before(c.conversation.TurnEnds) && now.Sub(c.lastHeartbeat) < conversation.TurnLease
}

// takenBefore reports whether the next turn is reserved for another question.
func (c *conversationActor) takenBefore(now time.Time, reservation string) bool {
	return c.reserved != nil && c.reserved.id != reservation && now.Before(c.reserved.ends)
}

// current refuses messages of a turn that is over.
func (c *conversationActor) current(now time.Time, turn int) error {
	if !c.running(now) || c.conversation.Turn != turn {
		return &domain.Error{Code: domain.CodeConflict, Reason: "turn_over", Message: "The turn is over."}
	}
	return nil
}

// onGet returns the conversation. It ends the turn if its node is lost.
func (c *conversationActor) onGet(now time.Time, _ grain.None) (grain.Outcome[conversationView], error) {
	if c.conversation.State != conversation.Running || c.running(now) {
		return grain.Answer(c.view(now)), nil
	}
	h := c.change(now)
	c.endLostTurn(h)
	h.wake(wakeTurn, time.Time{})
	return h.outcome(), nil
}
