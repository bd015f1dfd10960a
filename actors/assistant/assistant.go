package assistant

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// Assistant runs the turns of a node.
type Assistant struct {
	Conversations Conversations
	Approvals     Approvals
	Roles         Roles
	Settings      Settings
	Tools         Tools
	Models        Models
	Tokens        Tokens
	Ledger        Ledger
	Apps          Apps
	// NewID returns a new sortable id with a prefix.
	NewID  func(prefix string) string
	Now    func() time.Time
	Logger *slog.Logger

	mu      sync.Mutex
	turns   map[string]*turn
	running sync.WaitGroup
	stopped bool
}

// keepFrames is how long the frames of a turn are retained after its end, for a client that reconnects.
const keepFrames = 2 * time.Minute

// stopTime bounds the time in which the turns of a stopping node record their ends.
const stopTime = 5 * time.Second

// recordTime bounds the time in which a turn records its messages while many others do; the claim of a turn outlives
// the turn's time by more.
const recordTime = 15 * time.Second

// Run lets turns run until ctx ends, and renews their claims. Then it ends the remaining turns.
func (a *Assistant) Run(ctx context.Context) error {
	a.renewClaims(ctx)
	a.mu.Lock()
	a.stopped = true
	for _, t := range a.turns {
		t.cancel(errStopping)
	}
	a.mu.Unlock()
	ended := make(chan struct{})
	go func() { a.running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(stopTime):
		return errors.New("not all turns ended in time")
	}
	return nil
}

// Ask answers a question. It returns the running turn, or fails before the turn exists: with not_found for the
// conversation of another member, conflict while another turn runs or actions wait, rate_limited after too many
// questions, and provider_unavailable. The returned turn has its reservation, and stores its claim during the first
// round. If storing fails, the turn ends with an error and leaves no trace.
func (a *Assistant) Ask(ctx context.Context, who conversation.Principal, question conversation.Question) (*Turn, error) {
	asking := &conversation.TurnRequest{
		Conversation: conversation.Conversation{ID: question.ConversationID, Org: who.Ref.Org, App: who.Ref.App, Member: who.User},
		New:          question.ConversationID == "", Text: question.Text, ContextPath: contextOf(question),
	}
	if asking.New {
		asking.Conversation.ID = a.NewID("cnv_")
		asking.Reservation = asking.Conversation.ID // unique like any reservation id
	} else {
		asking.Reservation = a.NewID("rsv_")
		if _, err := a.Conversations.Get(ctx, who.Ref, who.User.ID, question.ConversationID); err != nil {
			return nil, err
		}
	}
	model, err := a.Models.Model(ctx, who.Ref.Org)
	if err != nil {
		return nil, err
	}
	if err := a.Settings.Admit(ctx, who.Ref.Org, who.User.ID); err != nil {
		return nil, err
	}
	began := a.Now()
	exchange, err := a.Conversations.Reserve(ctx, asking)
	if err != nil {
		return nil, err
	}
	asking.Turn = exchange.Conversation.Turn
	return a.start(a.newTurn(who, model, exchange, began), asking) //nolint:contextcheck // a turn outlives its request
}

// contextOf returns the page from which a question was asked.
func contextOf(question conversation.Question) string {
	path := question.ContextPath
	if question.ContextSearch != "" {
		path += "?" + strings.TrimPrefix(question.ContextSearch, "?")
	}
	return path
}

// Approve executes a proposed action in the name of its conversation's member and continues the turn. It fails as
// conversation.Action.CheckApprove does, with not_found for an action that was proposed to another member, and with
// target_changed.
func (a *Assistant) Approve(ctx context.Context, who conversation.Principal, id, reason string) (*Turn, error) {
	exchange, action, err := a.Conversations.Action(ctx, who.Ref, who.User.ID, id)
	if err != nil {
		return nil, err
	}
	tool, known := a.Tools.Tool(action.Tool)
	if !known {
		return nil, action.TargetChanged()
	}
	settings, err := a.Settings.Settings(ctx, who.Ref.Org, who.User.ID)
	if err != nil {
		return nil, err
	}
	check := action.CheckApprove
	if action.Effect == conversation.EffectDestructive && who.Confirmed == action.ID {
		check = action.CheckReach
	}
	if err := check(a.Now(), &who.Grant, &tool); err != nil {
		return nil, err
	}
	audience := conversation.NewAudience(who.Grant, who.App.Modules, settings.Policy)
	if !audience.SeesAt(&tool, action.Effect) {
		return nil, domain.Errorf(domain.CodeForbidden, "The organization's rules do not let the assistant do this any more.")
	}
	if err := a.sameTarget(ctx, who, settings.Policy, &action); err != nil {
		return nil, err
	}
	model := a.commentator(ctx, who.Ref.Org)
	began := a.Now()
	claimed, err := a.Conversations.Claim(ctx, &exchange.Conversation, id, who.User, reason)
	if err != nil {
		return nil, err
	}
	return a.startApproved(who, model, claimed, id, began) //nolint:contextcheck // a turn outlives its request
}

// startApproved starts the turn that executes a claimed action.
func (a *Assistant) startApproved(who conversation.Principal, model Model, claimed conversation.Transcript, id string, began time.Time) (*Turn, error) {
	action := claimed.Action(id)
	if action == nil {
		return nil, domain.NotFound("action")
	}
	t := a.newTurn(who, model, claimed, began)
	t.approved = action
	return a.start(t, nil)
}

// commentator is the model that comments on the executed action. Without a model, the action is executed all the same,
// without a comment.
func (a *Assistant) commentator(ctx context.Context, org string) Model {
	model, err := a.Models.Model(ctx, org)
	if err != nil {
		return nil
	}
	return model
}

// sameTarget refuses an action if its target has changed since the proposal.
func (a *Assistant) sameTarget(ctx context.Context, who conversation.Principal, policy conversation.AIPolicy, action *conversation.Action) error {
	token, secret, err := a.mint(ctx, who, policy)
	if err != nil {
		return err
	}
	defer a.revoke(ctx, token)
	return a.unchanged(ctx, secret, who.Ref, action)
}

// unchanged refuses an action if its target no longer exists, is in another state than at the proposal, or would be
// reached deeper than then.
func (a *Assistant) unchanged(ctx context.Context, secret domain.Secret, ref domain.AppRef, action *conversation.Action) error {
	now, err := a.Tools.Target(ctx, secret, ref, action.Tool, action.Input)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return action.TargetChanged()
	}
	if err != nil {
		return err
	}
	if now.Effect != action.Effect || !conversation.SameState(action.Before, now.Before) {
		return action.TargetChanged()
	}
	return nil
}

// Reject refuses a proposed action.
func (a *Assistant) Reject(ctx context.Context, who conversation.Principal, id, reason string) (conversation.Action, error) {
	exchange, action, err := a.Conversations.Action(ctx, who.Ref, who.User.ID, id)
	if err != nil {
		return conversation.Action{}, err
	}
	return a.decide(ctx, who, exchange, action, conversation.ActionRejected, reason)
}

// Revoke denies an action that was proposed to a member, in an administrator's name.
func (a *Assistant) Revoke(ctx context.Context, who conversation.Principal, member, id, reason string) (conversation.Action, error) {
	exchange, action, err := a.Conversations.Action(ctx, who.Ref, member, id)
	if err != nil {
		return conversation.Action{}, err
	}
	return a.decide(ctx, who, exchange, action, conversation.ActionRevoked, reason)
}

func (a *Assistant) decide(ctx context.Context, who conversation.Principal, exchange conversation.Transcript, action conversation.Action, status conversation.ActionStatus, reason string) (conversation.Action, error) {
	after := action
	after.Status, after.DecidedBy = status, &who.User
	carrying, enter := a.carrying(ctx, a.entry(&exchange.Conversation, &after, who.User, domain.LedgerKind("ai.action."+string(status)), reason, domain.Token{}))
	decided, err := a.Conversations.Decide(carrying, &exchange.Conversation, action.ID, who.User, status, reason)
	if err != nil {
		return conversation.Action{}, err
	}
	enter()
	for _, one := range decided.Actions {
		if one.ID == action.ID {
			action = one
		}
	}
	return action, nil
}

// Conversation returns a member's conversation.
func (a *Assistant) Conversation(ctx context.Context, ref domain.AppRef, member, id string) (conversation.Transcript, error) {
	return a.Conversations.Get(ctx, ref, member, id)
}

// List returns a member's conversations about an application, the newest last.
func (a *Assistant) List(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Conversation, error) {
	return a.Conversations.List(ctx, ref, member)
}

// Actions returns the actions that were proposed to a member about an application, the newest last.
func (a *Assistant) Actions(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Action, error) {
	return a.Conversations.Actions(ctx, ref, member)
}

// mint makes the token of a turn.
func (a *Assistant) mint(ctx context.Context, who conversation.Principal, policy conversation.AIPolicy) (domain.Token, domain.Secret, error) {
	return a.Tokens.MintAssistant(ctx, who.User, who.Ref.Org, policy.Scopes(who.Grant.Token.Scopes), conversation.TurnTime+time.Minute)
}

// revoke ends the token of a turn. If that fails, the token expires.
func (a *Assistant) revoke(ctx context.Context, token domain.Token) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := a.Tokens.EndAssistant(ctx, token); err != nil {
		a.Logger.Error("revoking the token of a turn failed", "token", token.ID, "error", err)
	}
}
