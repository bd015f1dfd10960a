package assistant

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api"
	"svc/http/route"
)

// Assistant stores the conversations of members.
type Assistant interface {
	// Ask answers a question. It fails with not_found for another member's conversation, and with conflict while a turn
	// runs or actions wait. It fails with rate_limited after too many questions, and with provider_unavailable if there
	// is no model.
	Ask(ctx context.Context, who conversation.Principal, question conversation.Question) (Turn, error)
	// Approve executes a proposed action and continues the conversation.
	Approve(ctx context.Context, who conversation.Principal, id, reason string) (Turn, error)
	Reject(ctx context.Context, who conversation.Principal, id, reason string) (conversation.Action, error)
	// Revoke denies an action that was proposed to a member.
	Revoke(ctx context.Context, who conversation.Principal, member, id, reason string) (conversation.Action, error)
	Conversation(ctx context.Context, ref domain.AppRef, member, id string) (conversation.Transcript, error)
	// List and Actions return a member's conversations and actions, the newest last.
	List(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Conversation, error)
	Actions(ctx context.Context, ref domain.AppRef, member string) ([]conversation.Action, error)
	// Follow yields the frames of a conversation's last turn after the frame with the id after.
	Follow(ctx context.Context, ref domain.AppRef, member, id string, after uint64, yield func(conversation.TurnFrame) bool) error
}

// Turn is a running turn.
type Turn interface {
	Conversation() string
	Frames(ctx context.Context, yield func(conversation.TurnFrame) bool)
	// Text waits for the end and returns the text of the answer.
	Text(ctx context.Context) (string, error)
}

// assistant serves the routes of the assistant.
type assistant struct{ assistant Assistant }

// turnEvents describes the stream of a turn.
const turnEvents = "The frames start, status, text, tools_loaded, tool_call, tool_result, approval_required, action, reveal, and done or error at the end. data is one JSON object whose type equals the event. With Last-Event-ID and the conversationId, the turn is followed from there."

func assistantRoutes(ports Ports) []route.Route {
	ai := assistant{assistant: ports.Assistant}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/ai/conversations", Operation: "ai.conversations", Module: domain.ModuleAI, Scope: domain.ScopeRead, Permission: domain.PermAIUse, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the token owner's conversations with the assistant", Handler: route.Typed(ai.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/ai/conversations/{id}", Operation: "ai.conversation", Module: domain.ModuleAI, Scope: domain.ScopeRead, Permission: domain.PermAIUse, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Read one conversation, or follow its running turn", Events: turnEvents, Handler: route.TypedStream(ai.get, ai.follow),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/ai/ask", Operation: "ai.ask", Module: domain.ModuleAI, Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Write, Unrecorded: "a question changes nothing; the calls of its tools are recorded", Rate: domain.RateDefault,
			Summary: "Ask the assistant, with the answer as a stream", Events: turnEvents, Codes: []domain.Code{domain.CodeConflict}, Handler: route.Streamed(ai.ask),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/ai/actions", Operation: "ai.actions", Module: domain.ModuleAI, Scope: domain.ScopeRead, Permission: domain.PermAIUse, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List proposed actions and what became of them", Handler: route.Typed(ai.actions),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/approve", Operation: "ai.approve", Module: domain.ModuleAI, Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Write, Unrecorded: "the conversation records the decision", Rate: domain.RateDefault,
			Summary: "Approve a proposed action and resume the conversation", Events: turnEvents, Codes: []domain.Code{domain.CodeConflict}, Handler: route.TypedStream(ai.approve, ai.approveStream),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/ai/actions/{id}/reject", Operation: "ai.reject", Module: domain.ModuleAI, Scope: domain.ScopeWrite, Permission: domain.PermAIUse, Effect: route.Write, Unrecorded: "the conversation records the decision", Rate: domain.RateDefault,
			Summary: "Reject a proposed action with a reason", Events: "One frame named action.", Codes: []domain.Code{domain.CodeConflict}, Handler: route.TypedStream(ai.reject, ai.rejectStream),
		},
	}
}

// asker returns the caller; conversations belong to people.
func asker(call *route.Call) (conversation.Principal, error) {
	if call.Grant.Token.User == nil {
		return conversation.Principal{}, &domain.Error{Code: domain.CodeForbidden, Reason: "user_bound_token_required", Message: "The token is bound to no person."}
	}
	return conversation.Principal{User: *call.Grant.Token.User, Grant: call.Grant, App: call.App, Ref: call.Ref()}, nil
}

// conversationJSON is a conversation as lists show it.
type conversationJSON struct {
	ID             string             `json:"id"`
	Title          string             `json:"title"`
	CreatedAt      route.Time         `json:"createdAt"`
	UpdatedAt      route.Time         `json:"updatedAt"`
	ExpiresAt      route.Time         `json:"expiresAt" doc:"When it is purged."`
	State          conversation.State `json:"state" enum:"idle,running,awaiting"`
	MessageCount   int                `json:"messageCount"`
	PendingActions int                `json:"pendingActions"`
	ContextPath    *string            `json:"contextPath"`
}

func conversationOf(c *conversation.Conversation) conversationJSON {
	return conversationJSON{
		ID: c.ID, Title: c.Title, CreatedAt: route.Time(c.CreatedAt), UpdatedAt: route.Time(c.UpdatedAt), ExpiresAt: route.Time(c.ExpiresAt()),
		State: c.State, MessageCount: c.Messages, PendingActions: c.PendingActions, ContextPath: api.OrNull(c.ContextPath),
	}
}

type listConversations struct {
	api.AppPath
	api.Paging
}

func (a assistant) list(ctx context.Context, call *route.Call, in listConversations) (domain.Page[conversationJSON], error) {
	who, err := asker(call)
	if err != nil {
		return domain.Page[conversationJSON]{}, err
	}
	rows, err := a.assistant.List(ctx, who.Ref, who.User.ID)
	if err != nil {
		return domain.Page[conversationJSON]{}, err
	}
	return newestFirst(call, api.Convert(rows, conversationOf), in.Paging, func(row conversationJSON) string { return row.ID })
}

// newestFirst makes a page of a list with ids that sort by time.
func newestFirst[Row any](call *route.Call, rows []Row, paging api.Paging, id func(Row) string) (domain.Page[Row], error) {
	keyset, err := call.Keyset(paging.Cursor, 1)
	if err != nil {
		return domain.Page[Row]{}, err
	}
	rows = slices.DeleteFunc(rows, func(row Row) bool { return keyset != nil && id(row) >= keyset[0] })
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(id(b), id(a)) })
	limit := min(int(paging.Limit), len(rows))
	return route.PageOf(call, rows[:limit], len(rows) > limit, func(last Row) []string { return []string{id(last)} }), nil
}

// conversationMessage is one message.
type conversationMessage struct {
	Role  conversation.ModelRole `json:"role" enum:"user,assistant,tool,note" doc:"A note is written by the service."`
	At    route.Time             `json:"at"`
	Turn  int                    `json:"turn"`
	Text  string                 `json:"text"`
	Calls []conversationCall     `json:"calls" doc:"What the model called."`
	Tools []conversationTool     `json:"results" doc:"What it read of the calls, in the untrusted envelope."`
}

type conversationCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type conversationTool struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Content string `json:"content"`
}

// wholeConversation is one conversation with everything in it.
type wholeConversation struct {
	conversationJSON
	Messages []conversationMessage `json:"messages"`
	Actions  []action              `json:"actions"`
}

func wholeConversationOf(exchange *conversation.Transcript) wholeConversation {
	return wholeConversation{
		conversationJSON: conversationOf(&exchange.Conversation),
		Messages: api.Convert(exchange.Messages, func(m *conversation.Message) conversationMessage {
			return conversationMessage{
				Role: m.Role, At: route.Time(m.At), Turn: m.Turn, Text: m.Text,
				Calls: api.Convert(m.Calls, func(c *conversation.ToolCall) conversationCall { return conversationCall{c.ID, c.Name, c.Input} }),
				Tools: api.Convert(m.Results, func(r *conversation.ToolResult) conversationTool {
					return conversationTool{r.CallID, r.Name, r.OK, r.Content}
				}),
			}
		}),
		Actions: api.Convert(exchange.Actions, actionOf),
	}
}

type conversationPath struct {
	api.AppPath
	ID string `path:"id" doc:"The conversation's id."`
}

func (a assistant) get(ctx context.Context, call *route.Call, in conversationPath) (wholeConversation, error) {
	who, err := asker(call)
	if err != nil {
		return wholeConversation{}, err
	}
	exchange, err := a.assistant.Conversation(ctx, who.Ref, who.User.ID, in.ID)
	if err != nil {
		return wholeConversation{}, err
	}
	return wholeConversationOf(&exchange), nil
}

// follow streams the conversation's last turn, from the frame after the caller's last one.
func (a assistant) follow(ctx context.Context, call *route.Call, in conversationPath, yield func(route.Frame) bool) error {
	who, err := asker(call)
	if err != nil {
		return err
	}
	return a.assistant.Follow(ctx, who.Ref, who.User.ID, in.ID, call.LastEventID(), relay(yield))
}

// relay passes frames of a turn to a stream.
func relay(yield func(route.Frame) bool) func(conversation.TurnFrame) bool {
	return func(frame conversation.TurnFrame) bool {
		return yield(route.Frame{ID: frame.ID, Event: frame.Event, Data: frame.Data, More: frame.More})
	}
}

type askQuestion struct {
	api.AppPath
	Body questionBody `body:"json"`
}

// questionBody is the body of POST …/ai/ask.
type questionBody struct {
	Question       string `json:"question" required:"true"`
	ConversationID string `json:"conversationId" doc:"The conversation to go on with; a new one where it is absent."`
	ContextPath    string `json:"contextPath" doc:"The path of the page that the question came from."`
	ContextSearch  string `json:"contextSearch" doc:"Its query."`
}

// Check applies the limits of questions.
func (a *askQuestion) Check(*route.Call) (problems []domain.FieldError) {
	for _, field := range []struct {
		name, text string
		most       int
	}{{"question", a.Body.Question, conversation.MaxQuestion}, {"contextPath", a.Body.ContextPath, conversation.MaxContext}, {"contextSearch", a.Body.ContextSearch, conversation.MaxContext}} {
		if len(field.text) > field.most {
			problems = append(problems, domain.FieldError{Field: field.name, Code: "too_long", Message: "The " + field.name + " is too long."})
		}
	}
	if strings.TrimSpace(a.Body.Question) == "" {
		problems = append(problems, domain.FieldError{Field: "question", Code: "missing_value", Message: "The question is empty."})
	}
	return problems
}

// streamError is the data of a frame named error.
type streamError struct {
	Type    string      `json:"type"`
	Message string      `json:"message"`
	Code    domain.Code `json:"code"`
}

// ask streams the answer. A caller that reconnects to a conversation with Last-Event-ID follows its turn instead of
// asking again.
func (a assistant) ask(ctx context.Context, call *route.Call, in askQuestion, yield func(route.Frame) bool) error {
	turn, err := a.answer(ctx, call, &in.Body, yield)
	if turn != nil {
		turn.Frames(ctx, relay(yield))
		return nil
	}
	return unanswered(err, yield)
}

// unanswered writes the reason why there is no turn to the stream, unless the request was refused before the stream.
func unanswered(err error, yield func(route.Frame) bool) error {
	code := domain.CodeOf(err)
	if code != domain.CodeNotFound && code != conversation.CodeProviderUnavailable {
		return err
	}
	message := "No such conversation."
	if code == conversation.CodeProviderUnavailable {
		message = "No model provider is configured for the organization."
	}
	yield(route.Frame{Event: "error", Data: streamError{"error", message, code}})
	return nil
}

// answer begins the turn that answers a question. It is nil if the caller has followed the running turn instead.
func (a assistant) answer(ctx context.Context, call *route.Call, body *questionBody, yield func(route.Frame) bool) (Turn, error) {
	who, err := asker(call)
	if err != nil {
		return nil, err
	}
	question := conversation.Question{Text: body.Question, ConversationID: body.ConversationID, ContextPath: body.ContextPath, ContextSearch: body.ContextSearch}
	if last := call.LastEventID(); last > 0 && question.ConversationID != "" {
		return nil, a.assistant.Follow(ctx, who.Ref, who.User.ID, question.ConversationID, last, relay(yield))
	}
	return a.assistant.Ask(ctx, who, question)
}
