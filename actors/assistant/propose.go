package assistant

import (
	"context"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
)

// Propose records a call as an action that waits for its member's decision. It makes a conversation that begins with
// origin, a sentence of the service about the source of the call. Nothing is executed. It counts as a question. The
// secret reads the previous state. It fails with not_found for an unknown tool. It fails with forbidden if the caller
// could not perform the call or the organization's rules forbid it. It fails with invalid_request for an input that
// makes no request, and with rate_limited.
func (a *Assistant) Propose(ctx context.Context, who conversation.Principal, secret domain.Secret, call conversation.ToolCall, origin string) (conversation.Action, error) {
	tool, known := a.Tools.Tool(call.Name)
	if !known {
		return conversation.Action{}, domain.NotFound("tool")
	}
	if !objectInput(&call) {
		return conversation.Action{}, domain.Invalid(domain.FieldError{Field: "input", Code: "invalid_value", Message: "The input is not a JSON object."})
	}
	settings, err := a.Settings.Settings(ctx, who.Ref.Org, who.User.ID)
	if err != nil {
		return conversation.Action{}, err
	}
	audience := conversation.NewAudience(who.Grant, who.App.Modules, settings.Policy)
	forbidden := &domain.Error{
		Code: domain.CodeForbidden, Required: &domain.Required{Scope: tool.Scope, Permission: tool.Permission},
		Message: "The token, the application's modules or the organization's rules do not allow this.",
	}
	if !audience.Sees(&tool) {
		return conversation.Action{}, forbidden
	}
	target, err := a.Tools.Target(ctx, secret, who.Ref, call.Name, call.Input)
	if err != nil {
		return conversation.Action{}, err
	}
	if !audience.SeesAt(&tool, target.Effect) {
		return conversation.Action{}, forbidden
	}
	if err := a.Settings.Admit(ctx, who.Ref.Org, who.User.ID); err != nil {
		return conversation.Action{}, err
	}
	return a.put(ctx, who, call, &target, origin)
}

// put stores a proposal as a turn of one round that has ended.
func (a *Assistant) put(ctx context.Context, who conversation.Principal, call conversation.ToolCall, target *conversation.Target, origin string) (conversation.Action, error) {
	tool, _ := a.Tools.Tool(call.Name)
	c := conversation.Conversation{ID: a.NewID("cnv_"), Org: who.Ref.Org, App: who.Ref.App, Member: who.User}
	exchange, err := a.Conversations.Begin(ctx, &conversation.TurnRequest{Conversation: c, New: true, Text: origin})
	if err != nil {
		return conversation.Action{}, err
	}
	t := &turn{Assistant: a, who: who, conversation: exchange.Conversation}
	call.ID = a.NewID("call_")
	action := t.proposal(&call, &tool, target)
	said := conversation.Message{Role: conversation.RoleAssistant, Calls: []conversation.ToolCall{call}}
	answered := conversation.Message{Role: conversation.RoleTool, Results: []conversation.ToolResult{sentence(&call, true, waitingFor(target.Effect))}}
	t.token = who.Grant.Token
	carrying, enter := a.carrying(ctx, t.entryOf(&action))
	if err := t.keep(carrying, []conversation.Action{action}, said, answered); err != nil {
		return conversation.Action{}, err
	}
	enter()
	if _, err := a.Conversations.Finish(ctx, &t.conversation, ""); err != nil {
		return conversation.Action{}, err
	}
	return action, nil
}

// approvalOf returns the frame of actions that wait, and their titles.
func approvalOf(actions []conversation.Action) (frame approvalFrame, titles []string) {
	frame.Type = "approval_required"
	for _, action := range actions {
		frame.Actions = append(frame.Actions, proposedAction{
			ID: action.ID, Tool: action.Tool, Input: action.Input, Effect: action.Effect, Preview: action.Preview,
			ExpiresAt: action.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z"),
		})
		titles = append(titles, action.Preview.Title)
	}
	return frame, titles
}

// waitingText states which actions wait for which decision.
func waitingText(actions []conversation.Action) string {
	_, titles := approvalOf(actions)
	return waiting(actions) + strings.Join(titles, "; ") + "."
}

// waiting states which person decides on the proposed actions.
func waiting(actions []conversation.Action) string {
	outside := 0
	for i := range actions {
		if actions[i].Effect == conversation.EffectExternal {
			outside++
		}
	}
	switch outside {
	case 0:
		return "This change is waiting for your decision, and nothing has been written: "
	case len(actions):
		return "This request is waiting for a second operator's decision, and nothing has been sent: "
	}
	return "This is waiting for decisions, yours and a second operator's, and nothing has been written or sent: "
}
