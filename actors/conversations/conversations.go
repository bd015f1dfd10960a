package conversations

import (
	"context"
	"slices"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// Conversations is the client of the conversation and inbox actors.
type Conversations struct {
	Actors grain.Caller
}

func conversationIdentity(c *conversation.Conversation) string {
	return c.Org + "/" + c.App + "/" + c.ID
}

func inboxIdentity(ref domain.AppRef, user string) string { return ref.String() + "/" + user }

// tell sends a message to a conversation and puts the resulting view into the member's inbox.
func tell[M any](ctx context.Context, c *Conversations, of *conversation.Conversation, method grain.Method[M, conversationView], message M) (conversation.Transcript, error) {
	view, err := method.Ask(ctx, c.Actors, conversationIdentity(of), message)
	if err == nil {
		err = c.Note(ctx, conversation.Transcript(view))
	}
	if err != nil {
		return conversation.Transcript{}, err
	}
	return conversation.Transcript(view), c.enqueue(ctx, &view)
}

// Note puts a conversation with its actions into its member's inbox, unless that has a newer copy.
func (c *Conversations) Note(ctx context.Context, exchange conversation.Transcript) error {
	record := exchange.Conversation
	ref := domain.AppRef{Org: record.Org, App: record.App}
	noted := conversationView{Conversation: record, Actions: exchange.Actions}
	_, err := inboxPut.Ask(ctx, c.Actors, inboxIdentity(ref, record.Member.ID), noted)
	return err
}

// Reserve reserves the next turn for a question under its reservation, a new id, for some seconds and in memory only.
// It returns the conversation as it will be once Begin has stored the question; a new conversation has a new id. It
// fails with not_found for a conversation of another member. It fails with conflict while a turn runs or is reserved or
// actions wait for a decision, and with unavailable while the store is known to be away.
func (c *Conversations) Reserve(ctx context.Context, question *conversation.TurnRequest) (conversation.Transcript, error) {
	return c.begin(ctx, conversationReserve, question)
}

// Release drops an unused reservation.
func (c *Conversations) Release(ctx context.Context, question *conversation.TurnRequest) error {
	_, err := conversationRelease.Ask(ctx, c.Actors, conversationIdentity(&question.Conversation), releaseTurn{Reservation: question.Reservation})
	return err
}

// Begin claims a conversation for the turn of a question: the reserved turn, if there is a reservation. It
// fails as Reserve does, and with conflict if another turn began since. The member's inbox shows it after Note
// or the next step of the turn.
func (c *Conversations) Begin(ctx context.Context, question *conversation.TurnRequest) (conversation.Transcript, error) {
	return c.begin(ctx, conversationBegin, question)
}

func (c *Conversations) begin(ctx context.Context, method grain.Method[beginTurn, conversationView], q *conversation.TurnRequest) (conversation.Transcript, error) {
	message := beginTurn{
		Conversation: q.Conversation, Create: q.New, Question: q.Text, ContextPath: q.ContextPath, Reservation: q.Reservation, Turn: q.Turn,
	}
	view, err := method.Ask(ctx, c.Actors, conversationIdentity(&q.Conversation), message)
	return conversation.Transcript(view), err
}

// Renew reports to a conversation that its turn still runs; it fails with conflict if the turn is over.
func (c *Conversations) Renew(ctx context.Context, of *conversation.Conversation) error {
	_, err := conversationRenew.Ask(ctx, c.Actors, conversationIdentity(of), renewTurn{Turn: of.Turn})
	return err
}

// Claim claims a proposed action for execution and begins the turn that executes it.
func (c *Conversations) Claim(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error) {
	return tell(ctx, c, of, conversationClaim, claimAction{Action: action, By: by, Reason: reason})
}

// ClaimSecond claims an external request in the name of its second operator, and begins the turn that sends it. Only
// one of several callers succeeds.
func (c *Conversations) ClaimSecond(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error) {
	return tell(ctx, c, of, conversationClaim, claimAction{Action: action, By: by, Reason: reason, Second: true})
}

// Append adds messages and proposed actions of a running turn.
func (c *Conversations) Append(ctx context.Context, of *conversation.Conversation, messages []conversation.Message, actions []conversation.Action) (conversation.Transcript, error) {
	message := appendTurn{Turn: of.Turn, Messages: messages, Actions: actions}
	if len(actions) > 0 {
		return tell(ctx, c, of, conversationAppend, message)
	}
	view, err := conversationAppend.Ask(ctx, c.Actors, conversationIdentity(of), message)
	return conversation.Transcript(view), err
}

// Settle records the result of executing a claimed action; content is the result that the model reads.
func (c *Conversations) Settle(ctx context.Context, of *conversation.Conversation, action *conversation.Action, content string) (conversation.Transcript, error) {
	return tell(ctx, c, of, conversationSettle, settleAction{
		Turn: of.Turn, Action: action.ID, Status: action.Status, Result: *action.Result, RequestID: action.RequestID, Sending: action.Sending, Content: content,
	})
}

// Finish ends the running turn.
func (c *Conversations) Finish(ctx context.Context, of *conversation.Conversation, note string) (conversation.Transcript, error) {
	return tell(ctx, c, of, conversationFinish, finishTurn{Turn: of.Turn, Note: note})
}

// Decide rejects or revokes a proposed action.
func (c *Conversations) Decide(ctx context.Context, of *conversation.Conversation, action string, by domain.User, status conversation.ActionStatus, reason string) (conversation.Transcript, error) {
	return tell(ctx, c, of, conversationDecide, decideAction{Action: action, By: by, Reason: reason, Status: status})
}

// DecideSecond rejects an external request in the name of its second operator.
func (c *Conversations) DecideSecond(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error) {
	return tell(ctx, c, of, conversationDecide, decideAction{Action: action, By: by, Reason: reason, Status: conversation.ActionRejected, Second: true})
}

// Get returns a member's conversation.
func (c *Conversations) Get(ctx context.Context, ref domain.AppRef, member, id string) (conversation.Transcript, error) {
	of := conversation.Conversation{ID: id, Org: ref.Org, App: ref.App}
	view, err := conversationGet.Ask(ctx, c.Actors, conversationIdentity(&of), grain.None{})
	if err == nil && view.Conversation.Member.ID != member {
		err = domain.NotFound("conversation")
	}
	if err != nil {
		return conversation.Transcript{}, err
	}
	return conversation.Transcript(view), nil
}

// List returns the conversations of a member about an application, the newest last.
func (c *Conversations) List(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Conversation, error) {
	list, err := c.inbox(ctx, ref, member)
	if err != nil {
		return nil, err
	}
	for i := range list.Conversations {
		row := &list.Conversations[i]
		if row.State == conversation.Idle {
			continue
		}
		view, err := c.Get(ctx, ref, member, row.ID)
		if err != nil {
			return nil, err
		}
		*row = view.Conversation
	}
	return list.Conversations, nil
}

// Actions returns the actions that were proposed to a member about an application, the
// newest last.
func (c *Conversations) Actions(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Action, error) {
	list, err := c.inbox(ctx, ref, member)
	return list.Actions, err
}

// Action finds an action that was proposed to a member, with its conversation.
func (c *Conversations) Action(ctx context.Context, ref domain.AppRef, member, id string) (conversation.Transcript, conversation.Action, error) {
	list, err := c.inbox(ctx, ref, member)
	if err != nil {
		return conversation.Transcript{}, conversation.Action{}, err
	}
	at := slices.IndexFunc(list.Actions, func(action conversation.Action) bool { return action.ID == id })
	if at < 0 {
		return conversation.Transcript{}, conversation.Action{}, domain.NotFound("action")
	}
	exchange, err := c.Get(ctx, ref, member, list.Actions[at].ConversationID)
	if err != nil {
		return conversation.Transcript{}, conversation.Action{}, err
	}
	action := exchange.Action(id)
	if action == nil {
		return conversation.Transcript{}, conversation.Action{}, domain.NotFound("action")
	}
	return exchange, *action, nil
}

// inbox reads a member's inbox, and reads its undecided actions again from their conversations.
func (c *Conversations) inbox(ctx context.Context, ref domain.AppRef, member string) (inboxContent, error) {
	list, err := inboxList.Ask(ctx, c.Actors, inboxIdentity(ref, member), grain.None{})
	if err != nil {
		return list, err
	}
	for i := range list.Actions {
		noted := &list.Actions[i]
		if noted.Status != conversation.ActionProposed && noted.Status != conversation.ActionExecuting {
			continue
		}
		view, err := c.Get(ctx, ref, member, noted.ConversationID)
		if err != nil {
			return list, err
		}
		for _, action := range view.Actions {
			if action.ID == noted.ID {
				*noted = action
			}
		}
	}
	return list, nil
}
