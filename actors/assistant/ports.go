package assistant

import (
	"context"
	"encoding/json"
	"time"

	"svc"
)

// Conversations stores conversations. conversations.Conversations documents and implements the methods.
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

// Approvals stores the approval queues of organizations. conversations.Conversations documents and implements the
// methods.
type Approvals interface {
	Approvals(ctx context.Context, org string) ([]svc.Approval, error)
	Approval(ctx context.Context, org, id string) (svc.Approval, svc.Transcript, error)
	ClaimSecond(ctx context.Context, of *svc.Conversation, action string, by svc.User, reason string) (svc.Transcript, error)
	DecideSecond(ctx context.Context, of *svc.Conversation, action string, by svc.User, reason string) (svc.Transcript, error)
}

// Roles reads the roles of users.
type Roles interface {
	// Role returns a user's current role in an organization; it fails with not_found for a user that is not a member.
	Role(ctx context.Context, org, user string) (svc.Role, error)
}

// Settings reads organizations' settings for the assistant, and counts its use.
type Settings interface {
	Settings(ctx context.Context, org, user string) (svc.AISettings, error)
	// Admit counts a question; it fails with rate_limited if there are too many.
	Admit(ctx context.Context, org, user string) error
	Spend(ctx context.Context, org string, usage svc.Usage) error
}

// Tools are the routes that a model may call.
type Tools interface {
	Tool(name string) (svc.Tool, bool)
	Starters(audience *svc.Audience) []svc.Tool
	Find(audience *svc.Audience, query string, limit int) []svc.Tool
	Execute(ctx context.Context, secret svc.Secret, ref svc.AppRef, name string, input json.RawMessage) (svc.ToolOutcome, error)
	// Target reads the target that a call would change, and returns how deep the call reaches. It fails if that is
	// unknown.
	Target(ctx context.Context, secret svc.Secret, ref svc.AppRef, name string, input json.RawMessage) (svc.Target, error)
}

// Model answers one round and passes the text on as it arrives. It fails with an svc.Error with the code provider_error
// or rate_limited. reply is empty at the call; after a failure, it has the usage so far. Turns spend most of their life
// in Round, and a waiting stack counts as their memory, so no large values are on the stack.
type Model interface {
	Round(ctx context.Context, request *svc.ModelRequest, text func(fragment string), reply *svc.ModelReply) error
}

// Models finds the model of an organization; it fails with provider_unavailable if there is no credential at all.
type Models interface {
	Model(ctx context.Context, org string) (Model, error)
}

// Tokens mints and authorizes the tokens of turns.
type Tokens interface {
	MintAssistant(ctx context.Context, person svc.User, org string, scopes []svc.Scope, lifetime time.Duration) (svc.Token, svc.Secret, error)
	EndAssistant(ctx context.Context, token svc.Token) error
	Authorize(ctx context.Context, secret string, class svc.RateClass, org string) (svc.Grant, svc.RateState, error)
}

// Ledger records entries in organizations' ledgers.
type Ledger interface {
	Record(ctx context.Context, entry svc.LedgerEntry) error
}

// Apps reads applications.
type Apps interface {
	Get(ctx context.Context, ref svc.AppRef) (svc.Application, error)
}
