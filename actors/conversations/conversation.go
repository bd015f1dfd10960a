package conversations

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/conversation"
)

// The conversation actor.
//
//	identity   org/app/conversation, the slugs and the id
//	rank       3
//	owns       the conversation, its messages and proposed actions, and the claim that
//	           allows one turn at a time
//	persists   entities conversation, message, action
//	woken by   calls; when the time of a turn or an action is over; after 90 days
//	limits     one running turn, which must report every 15 s; pending actions are
//	           decided before the next question
//	stops      after two minutes without a message
//
// The turn itself runs outside the mailbox (actors/assistant). Its messages carry the number of the turn, and are
// refused once the turn is over.
const kindConversation = "conversation"

// turnSlack is the time after its deadline in which a turn may still record its end.
const turnSlack = 20 * time.Second

// The wake-ups of a conversation.
const (
	wakeTurn   = "turn"
	wakeExpire = "expire"
	wakePurge  = "ai.conversations.purge"
)

type conversationActor struct {
	identity     string
	conversation *conversation.Conversation
	messages     []conversation.Message
	actions      map[string]conversation.Action
	// reserved is the reservation of the next turn, or nil. lastHeartbeat is the time of the last report of the node
	// that runs the turn. Both are in memory only.
	reserved      *reservation
	lastHeartbeat time.Time
}

type (
	beginTurn struct {
		// Conversation is the new one if Create is set, else only its member is read.
		Conversation conversation.Conversation `json:"conversation"`
		Create       bool                      `json:"create"`
		Question     string                    `json:"question"`
		ContextPath  string                    `json:"contextPath"`
		// Reservation is the id of the turn's reservation; Turn is the number of the turn. Both are empty without one.
		Reservation string `json:"reservation,omitempty"`
		Turn        int    `json:"turn,omitempty"`
	}
	claimAction struct {
		Action string      `json:"action"`
		By     domain.User `json:"by"`
		Reason string      `json:"reason"`
		// Second is set if By decides as the second operator of a request.
		Second bool `json:"second,omitempty"`
	}
	appendTurn struct {
		Turn     int                    `json:"turn"`
		Messages []conversation.Message `json:"messages"`
		Actions  []conversation.Action  `json:"actions"`
	}
	settleAction struct {
		Turn      int                       `json:"turn"`
		Action    string                    `json:"action"`
		Status    conversation.ActionStatus `json:"status"`
		Result    conversation.ActionResult `json:"result"`
		RequestID string                    `json:"requestId"`
		Sending   conversation.Sending      `json:"sending,omitempty"`
		Content   string                    `json:"content"`
	}
	finishTurn struct {
		Turn int    `json:"turn"`
		Note string `json:"note"`
	}
	decideAction struct {
		Action string                    `json:"action"`
		By     domain.User               `json:"by"`
		Reason string                    `json:"reason"`
		Status conversation.ActionStatus `json:"status"`
		// Second says that By decides as the second operator of a request.
		Second bool `json:"second,omitempty"`
	}
	// conversationView is everything about a conversation.
	conversationView struct {
		Conversation conversation.Conversation `json:"conversation"`
		Messages     []conversation.Message    `json:"messages"`
		Actions      []conversation.Action     `json:"actions"`
	}
)

var conversationKind = grain.NewKind[*conversationActor](kindConversation, 3, 2*time.Minute)

// The methods of the conversation actor.
var (
	conversationReserve = grain.On(conversationKind, "reserve", (*conversationActor).onReserve, grain.Repeatable, grain.NeedsStore)
	conversationRelease = grain.On(conversationKind, "release", (*conversationActor).onRelease, grain.Repeatable)
	conversationBegin   = grain.On(conversationKind, "begin", (*conversationActor).onBegin)
	conversationRenew   = grain.On(conversationKind, "renew", (*conversationActor).onRenew, grain.Repeatable)
	conversationClaim   = grain.On(conversationKind, "claim", (*conversationActor).onClaim)
	conversationAppend  = grain.On(conversationKind, "append", (*conversationActor).onAppend)
	conversationSettle  = grain.On(conversationKind, "settle", (*conversationActor).onSettle)
	conversationFinish  = grain.On(conversationKind, "finish", (*conversationActor).onFinish)
	conversationDecide  = grain.On(conversationKind, "decide", (*conversationActor).onDecide)
	conversationGet     = grain.On(conversationKind, "get", (*conversationActor).onGet, grain.Repeatable)
	_                   = grain.On(conversationKind, "wake", (*conversationActor).onWake, grain.Repeatable)
)

// Admit refuses methods that need a conversation before one exists.
func (c *conversationActor) Admit(now time.Time, method string) error {
	if c.conversation == nil && !slices.Contains([]string{"reserve", "release", "begin", cluster.WakeMethod}, method) {
		return domain.NotFound("conversation")
	}
	if c.lastHeartbeat.IsZero() { // a new activation does not know the heartbeats of the previous one
		c.lastHeartbeat = now
	}
	return nil
}

var _ grain.Creator = (*conversationActor)(nil)

// Creates reports whether a question creates a conversation under a new id.
func (c *conversationActor) Creates(method string, payload []byte) bool {
	var message struct {
		Create bool `json:"create"`
	}
	return (method == "begin" || method == "reserve") && json.Unmarshal(payload, &message) == nil && message.Create
}

func (c *conversationActor) Restore(entities []domain.Entity) error {
	*c = conversationActor{identity: c.identity, actions: map[string]conversation.Action{}}
	slices.SortFunc(entities, func(a, b domain.Entity) int { return strings.Compare(a.ID, b.ID) })
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "conversation":
			var record conversation.Conversation
			record, err = grain.Decode[conversation.Conversation](entity)
			c.conversation = &record
		case "message":
			var message conversation.Message
			message, err = grain.Decode[conversation.Message](entity)
			c.messages = append(c.messages, message)
		case "action":
			c.actions[entity.ID], err = grain.Decode[conversation.Action](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// messageID is the id of the n-th message; ids sort by number.
func messageID(n int) string { return fmt.Sprintf("%06d", n) }

// change gathers the writes of one message to the actor.
type change struct {
	c       *conversationActor
	now     time.Time
	writes  []grain.Write
	wakeups []domain.Wakeup
	// expired holds the ledger entries of proposals that the change has ended.
	expired []domain.LedgerEntry
}

func (c *conversationActor) change(now time.Time) *change { return &change{c: c, now: now} }

func (h *change) wake(name string, due time.Time) {
	h.wakeups = append(h.wakeups, domain.Wakeup{Kind: kindConversation, Identity: h.c.identity, Name: name, Due: due})
}

func (h *change) addMessage(message conversation.Message) {
	message.At, message.Turn = h.now, h.c.conversation.Turn
	h.writes = append(h.writes, grain.Put("message", messageID(len(h.c.messages)), message))
	h.c.messages = append(h.c.messages, message)
}

func (h *change) note(text string) {
	if text != "" {
		h.addMessage(conversation.Message{Role: conversation.RoleNote, Text: text})
	}
}

func (h *change) putAction(action conversation.Action) {
	h.c.actions[action.ID] = action
	h.writes = append(h.writes, grain.Put("action", action.ID, action))
}

// result replaces the result of a proposed call that the model reads.
func (h *change) result(action *conversation.Action, ok bool, content string) {
	for i := len(h.c.messages) - 1; i >= 0; i-- {
		for j, result := range h.c.messages[i].Results {
			if result.CallID != action.CallID {
				continue
			}
			message := h.c.messages[i]
			message.Results = slices.Clone(message.Results)
			message.Results[j].OK, message.Results[j].Trusted, message.Results[j].Content = ok, false, content
			h.c.messages[i] = message
			h.writes = append(h.writes, grain.Put("message", messageID(i), message))
			return
		}
	}
}

// outcome ends the change and updates the counts of the record.
func (h *change) outcome() grain.Outcome[conversationView] {
	record := h.c.conversation
	record.UpdatedAt, record.Messages = h.now, len(h.c.messages)
	pending := h.c.pending(h.now)
	record.PendingActions = len(pending)
	if record.State != conversation.Running {
		record.State = conversation.Idle
		if len(pending) > 0 {
			record.State = conversation.Awaiting
		}
	}
	h.writes = append(h.writes, grain.Put("conversation", record.ID, *record))
	return grain.Outcome[conversationView]{Answer: h.c.view(h.now), Effects: grain.Effects{Writes: h.writes, Wakeups: h.wakeups, Entries: h.expired}}
}

func (c *conversationActor) view(now time.Time) conversationView {
	view := conversationView{Conversation: *c.conversation, Messages: slices.Clone(c.messages), Actions: []conversation.Action{}}
	if pending := len(c.pending(now)); pending != view.Conversation.PendingActions {
		// Time alone expires proposals; the record shows it after the next wake-up.
		view.Conversation.PendingActions = pending
		if pending == 0 && view.Conversation.State == conversation.Awaiting {
			view.Conversation.State = conversation.Idle
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.actions)) {
		view.Actions = append(view.Actions, c.actions[id].At(now))
	}
	return view
}

// pending lists the actions that wait for a decision, ordered by expiry.
func (c *conversationActor) pending(now time.Time) (out []conversation.Action) {
	for _, action := range c.actions {
		if action.Pending(now) {
			out = append(out, action)
		}
	}
	slices.SortFunc(out, func(a, b conversation.Action) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), strings.Compare(a.ID, b.ID))
	})
	return out
}

// onBegin claims the conversation for a turn that answers a question.
func (c *conversationActor) onBegin(now time.Time, m beginTurn) (grain.Outcome[conversationView], error) {
	if err := c.checkQuestion(now, &m, m.Reservation); err != nil {
		return grain.Outcome[conversationView]{}, err
	}
	if m.Turn != 0 && (c.conversation == nil && m.Turn != 1 || c.conversation != nil && m.Turn != c.conversation.Turn+1) {
		return grain.Outcome[conversationView]{}, &domain.Error{Code: domain.CodeConflict, Reason: "turn_over", Message: "The conversation has gone on meanwhile."}
	}
	h := c.change(now)
	c.endOverdue(h)
	c.reserved = nil
	return c.ask(h, &m), nil
}

// checkQuestion refuses a question of another member, or while no turn may begin.
func (c *conversationActor) checkQuestion(now time.Time, m *beginTurn, reservation string) error {
	if c.conversation == nil && m.Create {
		if c.takenBefore(now, reservation) {
			return turnRunning(m.Conversation.ID)
		}
		return nil
	}
	if c.conversation == nil || c.conversation.Member.ID != m.Conversation.Member.ID {
		return domain.NotFound("conversation")
	}
	return c.checkFree(now, reservation)
}

// ask begins a turn with a question; the first question creates the conversation.
func (c *conversationActor) ask(h *change, m *beginTurn) grain.Outcome[conversationView] {
	if c.conversation == nil {
		record := m.Conversation
		record.Title, record.CreatedAt = conversation.TitleOf(m.Question), h.now
		c.conversation = &record
		h.wake(wakePurge, record.ExpiresAt())
	}
	c.conversation.Question, c.conversation.ContextPath = m.Question, m.ContextPath
	c.start(h)
	h.addMessage(conversation.Message{Role: conversation.RoleUser, Text: m.Question})
	return h.outcome()
}

// turnRunning is the error of a refused turn: another one runs or has reserved its place.
func turnRunning(id string) error {
	return &domain.Error{
		Code: domain.CodeConflict, Reason: "turn_running", Message: "A turn of the conversation is still running.", Turn: &domain.TurnProblem{ConversationID: id},
	}
}

// checkFree refuses a turn while another one runs, while the next one is reserved for another question, or
// while actions wait for a decision.
func (c *conversationActor) checkFree(now time.Time, reservation string) error {
	if c.running(now) || c.takenBefore(now, reservation) {
		return turnRunning(c.conversation.ID)
	}
	problem := &domain.TurnProblem{ConversationID: c.conversation.ID}
	for _, action := range c.pending(now) {
		problem.Actions = append(problem.Actions, domain.PendingAction{ID: action.ID, ExpiresAt: action.ExpiresAt})
	}
	if len(problem.Actions) > 0 {
		return &domain.Error{Code: domain.CodeConflict, Reason: "actions_pending", Message: "Decide on the proposed actions first.", Turn: problem}
	}
	return nil
}

func (c *conversationActor) start(h *change) {
	c.conversation.Turn++
	c.conversation.State, c.conversation.TurnEnds = conversation.Running, h.now.Add(conversation.TurnTime+turnSlack)
	h.wake(wakeTurn, c.conversation.TurnEnds)
}

func (c *conversationActor) onAppend(now time.Time, m appendTurn) (grain.Outcome[conversationView], error) {
	if err := c.current(now, m.Turn); err != nil {
		return grain.Outcome[conversationView]{}, err
	}
	h := c.change(now)
	for _, message := range m.Messages {
		h.addMessage(message)
	}
	for _, action := range m.Actions {
		h.putAction(action)
	}
	if pending := c.pending(now); len(m.Actions) > 0 && len(pending) > 0 {
		h.wake(wakeExpire, pending[0].ExpiresAt)
	}
	return h.outcome(), nil
}

func (c *conversationActor) onSettle(now time.Time, m settleAction) (grain.Outcome[conversationView], error) {
	action, known := c.actions[m.Action]
	if err := c.current(now, m.Turn); err != nil || !known {
		return grain.Outcome[conversationView]{}, cmp.Or(err, error(domain.NotFound("action")))
	}
	h := c.change(now)
	action.Status, action.RequestID, action.Sending = m.Status, m.RequestID, m.Sending
	action.Result = &m.Result
	h.putAction(action)
	h.result(&action, m.Result.OK, m.Content)
	return h.outcome(), nil
}

func (c *conversationActor) onFinish(now time.Time, m finishTurn) (grain.Outcome[conversationView], error) {
	if err := c.current(now, m.Turn); err != nil {
		return grain.Outcome[conversationView]{}, err
	}
	h := c.change(now)
	c.failExecuting(h)
	h.note(m.Note)
	c.conversation.State = conversation.Idle
	h.wake(wakeTurn, time.Time{})
	return h.outcome(), nil
}
