package assistant

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// action is a proposed action as answers show it.
type action struct {
	ID             string                    `json:"id"`
	ConversationID string                    `json:"conversationId"`
	Tool           string                    `json:"tool"`
	Input          json.RawMessage           `json:"input"`
	Effect         conversation.Effect       `json:"effect"`
	Preview        actionPreview             `json:"preview" doc:"What would change, read from the state before."`
	Status         conversation.ActionStatus `json:"status"`
	ProposedAt     route.Time                `json:"proposedAt"`
	ExpiresAt      route.Time                `json:"expiresAt"`
	DecidedAt      *route.Time               `json:"decidedAt"`
	DecidedBy      *views.Actor              `json:"decidedBy"`
	Reason         *string                   `json:"reason"`
	RequestID      *string                   `json:"requestId" doc:"The request that executed it."`
	AuditEventID   *string                   `json:"auditEventId" doc:"The audit row of the execution; it has the id of the request."`
	Result         *actionResult             `json:"result"`
	Sending        *conversation.Sending     `json:"sending" doc:"How far a request to the outside has got: null until a second operator approves it; of an uncertain one nobody knows whether it was delivered, and it is not sent again." enum:"claimed,sent,refused,uncertain"`
}

type actionPreview struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

type actionResult struct {
	OK      bool   `json:"ok"`
	Summary string `json:"summary"`
}

func actionOf(a *conversation.Action) action {
	row := action{
		ID: a.ID, ConversationID: a.ConversationID, Tool: a.Tool, Input: a.Input, Effect: a.Effect, Preview: actionPreview(a.Preview), Status: a.Status,
		ProposedAt: route.Time(a.ProposedAt), ExpiresAt: route.Time(a.ExpiresAt), DecidedAt: route.TimeOf(a.DecidedAt), Reason: api.OrNull(a.Reason),
		RequestID: api.OrNull(a.RequestID), AuditEventID: api.OrNull(a.RequestID),
	}
	if a.DecidedBy != nil {
		row.DecidedBy = &views.Actor{ID: a.DecidedBy.ID, Name: a.DecidedBy.Name}
	}
	if a.Sending != "" {
		row.Sending = &a.Sending
	}
	if a.Result != nil {
		row.Result = &actionResult{a.Result.OK, a.Result.Summary}
	}
	return row
}

// actionFilter is the parameter status of a list of actions.
type actionFilter conversation.ActionStatus

// allActions selects actions of any status.
const allActions = "all"

// Parse reads the status; the default is proposed.
func (f *actionFilter) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := actionChoice().Parse(words)
	*f = actionFilter(word)
	return problems
}

// Schema describes the parameter.
func (actionFilter) Schema() route.Schema {
	return actionChoice().Schema()
}

func actionChoice() api.Choice {
	return api.Choice{Field: "status", What: "status", Fallback: string(conversation.ActionProposed), Allowed: append(api.Words(conversation.ActionStatuses()), allActions)}
}

type listActions struct {
	api.AppPath
	api.Paging
	Status actionFilter `query:"status" doc:"Only actions of this status."`
}

func (a assistant) actions(ctx context.Context, call *route.Call, in listActions) (domain.Page[action], error) {
	who, err := asker(call)
	if err != nil {
		return domain.Page[action]{}, err
	}
	return a.actionPage(ctx, call, who.Ref, who.User.ID, in)
}

func (a assistant) actionPage(ctx context.Context, call *route.Call, ref domain.AppRef, member string, in listActions) (domain.Page[action], error) {
	rows, err := a.assistant.Actions(ctx, ref, member)
	if err != nil {
		return domain.Page[action]{}, err
	}
	rows = slices.DeleteFunc(rows, func(row conversation.Action) bool {
		return in.Status != allActions && row.Status != conversation.ActionStatus(in.Status)
	})
	return newestFirst(call, api.Convert(rows, actionOf), in.Paging, func(row action) string { return row.ID })
}

type actionPath struct {
	api.AppPath
	ID string `path:"id" doc:"The action's id."`
}

type approveAction struct {
	actionPath
	Body approvalBody `body:"json" optional:"true"`
}

// approvalBody is the body of POST …/approve.
type approvalBody struct {
	Reason string `json:"reason" doc:"Why, for the record."`
}

// maxReason bounds a reason, in bytes.
const maxReason = 2000

func checkReason(reason string, required bool) []domain.FieldError {
	switch {
	case required && strings.TrimSpace(reason) == "":
		return []domain.FieldError{{Field: "reason", Code: "missing_value", Message: "A rejection needs a reason."}}
	case len(reason) > maxReason:
		return []domain.FieldError{{Field: "reason", Code: "too_long", Message: "The reason is too long."}}
	}
	return nil
}

// Check applies the limits of reasons.
func (a *approveAction) Check(*route.Call) []domain.FieldError {
	return checkReason(a.Body.Reason, false)
}

// approved is the answer to an approval that is not streamed.
type approved struct {
	Action         action `json:"action"`
	ConversationID string `json:"conversationId"`
	Text           string `json:"text" doc:"What the assistant said afterwards."`
}

func (a assistant) approve(ctx context.Context, call *route.Call, in approveAction) (approved, error) {
	who, err := asker(call)
	if err != nil {
		return approved{}, err
	}
	return a.approveAs(ctx, who, in.ID, in.Body.Reason)
}

// approveAs approves an action and waits for the end of the turn that it begins.
func (a assistant) approveAs(ctx context.Context, who conversation.Principal, id, reason string) (approved, error) {
	turn, err := a.assistant.Approve(ctx, who, id, reason)
	if err != nil {
		return approved{}, err
	}
	// The action is executed even if the comment on it fails; the conversation records the action
	// as well.
	text, err := turn.Text(ctx)
	if ctx.Err() != nil {
		return approved{}, err
	}
	rows, err := a.assistant.Actions(ctx, who.Ref, who.User.ID)
	if err != nil {
		return approved{}, err
	}
	at := slices.IndexFunc(rows, func(row conversation.Action) bool { return row.ID == id })
	if at < 0 {
		return approved{}, domain.NotFound("action")
	}
	return approved{Action: actionOf(&rows[at]), ConversationID: turn.Conversation(), Text: text}, nil
}

func (a assistant) approveStream(ctx context.Context, call *route.Call, in approveAction, yield func(route.Frame) bool) error {
	who, err := asker(call)
	if err != nil {
		return err
	}
	turn, err := a.assistant.Approve(ctx, who, in.ID, in.Body.Reason)
	if err != nil {
		return err
	}
	turn.Frames(ctx, relay(yield))
	return nil
}

type rejectAction struct {
	actionPath
	Body refusalBody `body:"json"`
}

// refusalBody is the body of POST …/reject.
type refusalBody struct {
	Reason string `json:"reason" required:"true"`
}

// Check applies the limits of reasons.
func (r *rejectAction) Check(*route.Call) []domain.FieldError {
	return checkReason(r.Body.Reason, true)
}

// decided is the answer to a rejection.
type decided struct {
	Action action `json:"action"`
}

func (a assistant) reject(ctx context.Context, call *route.Call, in rejectAction) (decided, error) {
	who, err := asker(call)
	if err != nil {
		return decided{}, err
	}
	rejected, err := a.assistant.Reject(ctx, who, in.ID, in.Body.Reason)
	if err != nil {
		return decided{}, err
	}
	return decided{Action: actionOf(&rejected)}, nil
}

// streamAction is the data of a frame named action.
type streamAction struct {
	Type      string                    `json:"type"`
	ID        string                    `json:"id"`
	Status    conversation.ActionStatus `json:"status"`
	Summary   string                    `json:"summary"`
	RequestID string                    `json:"requestId"`
}

func (a assistant) rejectStream(ctx context.Context, call *route.Call, in rejectAction, yield func(route.Frame) bool) error {
	done, err := a.reject(ctx, call, in)
	if err != nil {
		return err
	}
	yield(route.Frame{Event: "action", Data: streamAction{"action", done.Action.ID, done.Action.Status, "The member refused the action.", call.RequestID}})
	return nil
}
