package assistant

import (
	"context"
	"encoding/json"
	"time"

	"svc/domain"
	"svc/domain/conversation"
)

// Conversations stores conversations. conversations.Conversations documents and implements the methods.
type Conversations interface {
	Reserve(ctx context.Context, question *conversation.TurnRequest) (conversation.Transcript, error)
	Release(ctx context.Context, question *conversation.TurnRequest) error
	Begin(ctx context.Context, question *conversation.TurnRequest) (conversation.Transcript, error)
	Renew(ctx context.Context, of *conversation.Conversation) error
	Note(ctx context.Context, exchange conversation.Transcript) error
	Claim(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error)
	Append(ctx context.Context, of *conversation.Conversation, messages []conversation.Message, actions []conversation.Action) (conversation.Transcript, error)
	Settle(ctx context.Context, of *conversation.Conversation, action *conversation.Action, content string) (conversation.Transcript, error)
	Finish(ctx context.Context, of *conversation.Conversation, note string) (conversation.Transcript, error)
	Decide(ctx context.Context, of *conversation.Conversation, action string, by domain.User, status conversation.ActionStatus, reason string) (conversation.Transcript, error)
	Get(ctx context.Context, ref domain.AppRef, member, id string) (conversation.Transcript, error)
	List(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Conversation, error)
	Actions(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Action, error)
	Action(ctx context.Context, ref domain.AppRef, member, id string) (conversation.Transcript, conversation.Action, error)
}

// Approvals stores the approval queues of organizations. conversations.Conversations documents and implements the
// methods.
type Approvals interface {
	Approvals(ctx context.Context, org string) ([]conversation.Approval, error)
	Approval(ctx context.Context, org, id string) (conversation.Approval, conversation.Transcript, error)
	ClaimSecond(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error)
	DecideSecond(ctx context.Context, of *conversation.Conversation, action string, by domain.User, reason string) (conversation.Transcript, error)
}

// Roles reads the roles of users.
type Roles interface {
	// Role returns a user's current role in an organization; it fails with not_found for a user that is not a member.
	Role(ctx context.Context, org, user string) (domain.Role, error)
}

// Settings reads organizations' settings for the assistant, and counts its use.
type Settings interface {
	Settings(ctx context.Context, org, user string) (conversation.AISettings, error)
	// Admit counts a question; it fails with rate_limited if there are too many.
	Admit(ctx context.Context, org, user string) error
	Spend(ctx context.Context, org string, usage conversation.Usage) error
}

// Tools are the routes that a model may call.
type Tools interface {
	Tool(name string) (conversation.Tool, bool)
	Starters(audience *conversation.Audience) []conversation.Tool
	Find(audience *conversation.Audience, query string, limit int) []conversation.Tool
	Execute(ctx context.Context, secret domain.Secret, ref domain.AppRef, name string, input json.RawMessage) (conversation.ToolOutcome, error)
	// Target reads the target that a call would change, and returns how deep the call reaches. It fails if that is
	// unknown.
	Target(ctx context.Context, secret domain.Secret, ref domain.AppRef, name string, input json.RawMessage) (conversation.Target, error)
}

// Model answers one round and passes the text on as it arrives. It fails with an domain.Error with the code provider_error
// or rate_limited. reply is empty at the call; after a failure, it has the usage so far. Turns spend most of their life
// in Round, and a waiting stack counts as their memory, so no large values are on the stack.
type Model interface {
	Round(ctx context.Context, request *conversation.ModelRequest, text func(fragment string), reply *conversation.ModelReply) error
}

// Models finds the model of an organization; it fails with provider_unavailable if there is no credential at all.
type Models interface {
	Model(ctx context.Context, org string) (Model, error)
}

// Tokens mints and authorizes the tokens of turns.
type Tokens interface {
	MintAssistant(ctx context.Context, person domain.User, org string, scopes []domain.Scope, lifetime time.Duration) (domain.Token, domain.Secret, error)
	EndAssistant(ctx context.Context, token domain.Token) error
	Authorize(ctx context.Context, secret string, class domain.RateClass, org string) (domain.Grant, domain.RateState, error)
}

// Ledger records entries in organizations' ledgers.
type Ledger interface {
	Record(ctx context.Context, entry domain.LedgerEntry) error
}

// Apps reads applications.
type Apps interface {
	Get(ctx context.Context, ref domain.AppRef) (domain.Application, error)
}
