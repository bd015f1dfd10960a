package assistant

import (
	"context"

	"svc/domain/conversation"
)

// round asks the model once and handles its calls. It returns nil if the answer is finished, else the actions that were
// proposed.
func (t *turn) round(ctx context.Context) (*[]conversation.Action, error) {
	if !t.settings.Policy.Admits(t.settings.Spent.Tokens()) {
		return nil, noteBudget
	}
	t.rounds++
	reply := new(conversation.ModelReply)
	err := t.model.Round(ctx, t.request(), t.say, reply)
	return t.replied(ctx, reply, err)
}

// replied records the reply of a round and executes the calls in it.
func (t *turn) replied(ctx context.Context, reply *conversation.ModelReply, err error) (*[]conversation.Action, error) {
	if unclaimed := t.awaitClaim(); unclaimed != nil {
		return nil, unclaimed
	}
	if spent := reply.Usage; spent.Tokens() > 0 {
		t.usage = t.usage.Add(spent)
		if err := t.Settings.Spend(context.WithoutCancel(ctx), t.who.Ref.Org, spent); err != nil {
			t.Logger.Error("counting the tokens of a round failed", "org", t.who.Ref.Org, "error", err)
		}
	}
	said := conversation.Message{Role: conversation.RoleAssistant, Text: reply.Text, Calls: reply.Calls}
	if err == nil {
		err = early(reply)
	}
	if err != nil || len(reply.Calls) == 0 {
		if said.Calls = nil; said.Text != "" {
			if keepErr := t.keep(ctx, nil, said); keepErr != nil && err == nil {
				err = keepErr
			}
		}
		return nil, err
	}
	return t.calls(ctx, said)
}

// request returns the request to the model in a round.
func (t *turn) request() *conversation.ModelRequest {
	return &conversation.ModelRequest{
		System: system(&t.conversation, t.Now()), Messages: history(t.messages), Tools: append([]conversation.Tool{FindTool()}, t.loaded...),
	}
}

// early returns the note of an answer that the provider cut off, or nil for a complete one.
func early(reply *conversation.ModelReply) error {
	switch {
	case reply.Short == conversation.ShortFiltered:
		return noteFiltered
	case reply.Short == conversation.ShortFull:
		return noteFull
	case reply.Text == "" && len(reply.Calls) == 0:
		return noteNothing
	}
	return nil
}

// keep records messages and actions, also after the end of the turn's time.
func (t *turn) keep(ctx context.Context, actions []conversation.Action, messages ...conversation.Message) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if _, err := t.Conversations.Append(ctx, &t.conversation, messages, actions); err != nil {
		return err
	}
	t.messages = append(t.messages, messages...)
	t.actions = append(t.actions, actions...)
	return nil
}

// propose reports the actions that wait for a decision.
func (t *turn) propose(actions []conversation.Action) {
	frame, _ := approvalOf(actions)
	t.frames.add("approval_required", frame)
	t.remark(waitingText(actions))
}
