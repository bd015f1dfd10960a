package assistant

import (
	"context"
	"encoding/json"
	"time"

	"svc"
)

// Conversations keeps conversations; the methods do what those of actors.Conversations
// say.
type Conversations interface {
	Reserve(ctx context.Context, question *svc.TurnRequest) (svc.Transcript, error)
	Release(ctx context.Context, question *svc.TurnRequest) error
	Begin(ctx context.Context, question *svc.TurnRequest) (svc.Transcript, error)
	Renew(ctx context.Context, of *svc.Conversation) error
	Note(ctx context.Context, exchange svc.Transcript) error
	Claim(ctx context.Context, of *svc.Conversation, action string, by svc.User, reason string) (svc.Transcript, error)
	Append(ctx context.Context, of *svc.Conversation, messages []svc.Message, actions []svc.Action) (svc.Transcript, error)
	Settle(ctx context.Context, of *svc.Conversation, action *svc.Action, content string) (svc.Transcript, error)
	Finish(ctx context.Context, of *svc.Conversation, note string) (svc.Transcript, error)
	Decide(ctx context.Context, of *svc.Conversation, action string, by svc.User, status svc.ActionStatus, reason string) (svc.Transcript, error)
	Get(ctx context.Context, ref svc.AppRef, member, id string) (svc.Transcript, error)
	List(ctx context.Context, ref svc.AppRef, member string) ([]svc.Conversation, error)
	Actions(ctx context.Context, ref svc.AppRef, member string) ([]svc.Action, error)
	Action(ctx context.Context, ref svc.AppRef, member, id string) (svc.Transcript, svc.Action, error)
}

// Approvals keeps the approval queues of organizations; the methods do what those of
// actors.Conversations say.
type Approvals interface {
	Approvals(ctx context.Context, org string) ([]svc.Approval, error)
	Approval(ctx context.Context, org, id string) (svc.Approval, svc.Transcript, error)
	ClaimSecond(ctx context.Context, of *svc.Conversation, action string, by svc.User, reason string) (svc.Transcript, error)
	DecideSecond(ctx context.Context, of *svc.Conversation, action string, by svc.User, reason string) (svc.Transcript, error)
}

// Roles reads the roles of people.
type Roles interface {
	// Role returns a person's present role in an organization; it fails with not_found for a person who is not
	// a member.
	Role(ctx context.Context, org, user string) (svc.Role, error)
}

// Settings reads organizations' settings of the assistant, and counts its use.
type Settings interface {
	Settings(ctx context.Context, org, user string) (svc.AISettings, error)
	// Admit counts a question; it fails with rate_limited where there are too many.
	Admit(ctx context.Context, org, user string) error
	Spend(ctx context.Context, org string, usage svc.Usage) error
}

// Tools are the routes that a model may call.
type Tools interface {
	Tool(name string) (svc.Tool, bool)
	Starters(audience *svc.Audience) []svc.Tool
	Find(audience *svc.Audience, query string, limit int) []svc.Tool
	Execute(ctx context.Context, secret svc.Secret, ref svc.AppRef, name string, input json.RawMessage) (svc.ToolOutcome, error)
	// Target reads what a call would change and says how deep the call reaches. It fails
	// where that cannot be known.
	Target(ctx context.Context, secret svc.Secret, ref svc.AppRef, name string, input json.RawMessage) (svc.Target, error)
}

// Model answers one round. Text is handed over as it comes. It fails with an svc.Error
// of the code provider_error or rate_limited; the usage of a failed round that got so
// far is in the reply, which is empty when it is handed in. Turns wait in it for most of
// their life, and what waits on a stack counts as their memory, so there is nothing large.
type Model interface {
	Round(ctx context.Context, request *svc.ModelRequest, text func(fragment string), reply *svc.ModelReply) error
}

// Models finds the model of an organization; it fails with provider_unavailable where
// there is no credential at all.
type Models interface {
	Model(ctx context.Context, org string) (Model, error)
}

// Tokens mints and judges the tokens of turns.
type Tokens interface {
	MintAssistant(ctx context.Context, person svc.User, org string, scopes []svc.Scope, lifetime time.Duration) (svc.Token, svc.Secret, error)
	EndAssistant(ctx context.Context, token svc.Token) error
	Authorize(ctx context.Context, secret string, class svc.RateClass, org string) (svc.Grant, svc.RateState, error)
}

// Ledger keeps entries of organizations' ledgers.
type Ledger interface {
	Record(ctx context.Context, entry svc.LedgerEntry) error
}

// Apps reads applications.
type Apps interface {
	Get(ctx context.Context, ref svc.AppRef) (svc.Application, error)
}
