package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/route"
	"svc/http/tools"
)

// members are the members of an input.
type members map[string]json.RawMessage

// callTool executes the call of a client. A refusal of the service is a result that a model can read and act on.
func (s *Server) callTool(ctx context.Context, who *caller, call *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	name := call.Params.Name
	input, err := membersOf(call.Params.Arguments)
	if err != nil {
		return refused(name, err), nil
	}
	switch name {
	case toolFind:
		return s.find(ctx, who, input)
	case toolRead, toolWrite:
		return s.callThrough(ctx, who, name, input, clientOf(call))
	case toolError:
		return s.run(ctx, who, errorRoute(input), input, clientOf(call)), nil
	}
	return s.run(ctx, who, name, input, clientOf(call)), nil
}

// maxClient bounds the name of a client, in runes.
const maxClient = 60

// clientOf returns the name under which the calling program identifies itself.
func clientOf(call *sdk.CallToolRequest) string {
	if info := call.ClientInfo(); info != nil && info.Name != "" {
		name := []rune(strings.Join(strings.Fields(info.Name), " "))
		return string(name[:min(len(name), maxClient)])
	}
	return "a client"
}

func membersOf(raw json.RawMessage) (members, error) {
	input := members{}
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "null" {
		return input, nil
	}
	if err := json.Unmarshal(raw, &input); err != nil || input == nil {
		return nil, domain.Invalid(domain.FieldError{Code: "invalid_type", Message: "The arguments must be an object."})
	}
	return input, nil
}

// text returns a member that is a string, "" if it is absent or of another type.
func (m members) text(name string) (text string) {
	if json.Unmarshal(m[name], &text) != nil {
		return ""
	}
	return text
}

// errorRoute returns the route for an input of get_error.
func errorRoute(input members) string {
	if input.text("eventId") != "" {
		return toolOccurrence
	}
	delete(input, "eventId")
	return toolIssue
}

// callThrough calls the tool that the input names. Reads and changes have separate tools, so that a client may permit
// one of them without asking.
func (s *Server) callThrough(ctx context.Context, who *caller, door string, input members, client string) (*sdk.CallToolResult, error) {
	name := input.text("tool")
	tool, known := s.config.Tools.Tool(name)
	if name == toolError {
		tool, known = conversation.Tool{Name: name, Effect: conversation.EffectRead}, true
	}
	if !known {
		return refused(door, domain.Invalid(domain.FieldError{Field: "tool", Code: "unknown_value", Message: fmt.Sprintf("There is no tool %q; find_tools finds those that there are.", name)})), nil
	}
	inner, err := membersOf(input["arguments"])
	if err != nil {
		return refused(name, err), nil
	}
	if right := map[bool]string{true: toolRead, false: toolWrite}[tool.Effect == conversation.EffectRead]; right != door {
		return refused(door, domain.Invalid(domain.FieldError{Field: "tool", Code: "invalid_value", Message: fmt.Sprintf("%s is called with %s.", name, right)})), nil
	}
	if name == toolError {
		name = errorRoute(inner)
	}
	return s.run(ctx, who, name, inner, client), nil
}

// run calls a route: it executes reads and writes, and proposes calls of a higher tier.
func (s *Server) run(ctx context.Context, who *caller, name string, input members, client string) *sdk.CallToolResult {
	tool, _ := s.config.Tools.Tool(name)
	ref, err := s.locate(ctx, who, name, input)
	if err != nil {
		return refused(name, err)
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		return refused(name, err)
	}
	effect := tool.Effect
	if effect == conversation.EffectWrite { // The target of a write decides its effect.
		target, err := s.config.Tools.Target(ctx, who.secret, ref, name, encoded)
		if err != nil {
			return refused(name, err)
		}
		effect = target.Effect
	}
	if ref.Org != "" {
		audience, err := s.audience(ctx, who, ref.Org)
		if err != nil {
			return refused(name, err)
		}
		if audience.Policy.Denies(name, effect) || !slices.Contains(audience.Grant.Token.Scopes, tool.Scope) && who.grant.HasScope(tool.Scope) {
			return refused(name, domain.Errorf(domain.CodeForbidden, "The organization's rules forbid this to models."))
		}
	}
	if effect == conversation.EffectDestructive || effect == conversation.EffectExternal {
		return s.propose(ctx, who, ref, conversation.ToolCall{Name: name, Input: encoded}, client)
	}
	outcome, err := s.config.Tools.Execute(ctx, who.secret, ref, name, encoded)
	if err != nil {
		return refused(name, err)
	}
	return resultOf(name, &outcome)
}

// locate removes the address from an input and returns it. If the input has none and the token certainly reaches only
// one place, it returns that place.
func (s *Server) locate(ctx context.Context, who *caller, name string, input members) (domain.AppRef, error) {
	need := s.config.Tools.Need(name)
	if need == tools.NeedsNothing {
		return domain.AppRef{}, nil
	}
	member := map[tools.Need]string{tools.NeedsApplication: memberApp, tools.NeedsOrganization: memberOrg}[need]
	given := input.text(member)
	_, named := input[member]
	delete(input, member)
	var choices []string
	if !named {
		reach, err := s.reach(ctx, who)
		if err != nil {
			return domain.AppRef{}, err
		}
		if choices = reach.names(); need == tools.NeedsOrganization {
			choices = reach.organizations()
		}
		if len(choices) == 1 && !reach.partial {
			given = choices[0]
		}
	}
	ref, ok := refOf(given, need == tools.NeedsApplication)
	if !ok {
		return domain.AppRef{}, domain.Invalid(domain.FieldError{
			Field: member, Code: "invalid_value", Message: fmt.Sprintf("Name the %s in %q.", need, member), Allowed: choices[:min(len(choices), shownApps)],
		})
	}
	return ref, nil
}

// find returns the tools that match a model's search.
func (s *Server) find(ctx context.Context, who *caller, input members) (*sdk.CallToolResult, error) {
	limit := 5
	if raw, given := input["limit"]; given && json.Unmarshal(raw, &limit) != nil {
		limit = 0
	}
	if limit < 1 || limit > 20 {
		return refused(toolFind, domain.Invalid(domain.FieldError{Field: "limit", Code: "invalid_value", Message: "limit is from 1 to 20."})), nil
	}
	reach, err := s.reach(ctx, who)
	if err != nil {
		return nil, err
	}
	found := s.config.Tools.FindWhere(reach.sees, input.text("query"), limit)
	rows := []map[string]any{}
	for i := range found {
		shown := s.toolOf(&found[i])
		door := toolWrite
		if found[i].Effect == conversation.EffectRead {
			door = toolRead
		}
		rows = append(rows, map[string]any{"name": shown.Name, "description": shown.Description, "effect": found[i].Effect, "callWith": door, "inputSchema": shown.InputSchema})
	}
	content := map[string]any{"tools": rows}
	if len(rows) == 0 {
		content["hint"] = "Nothing fits these words. Try a noun: events, goals, funnels, errors, metrics, monitors, alerts, incidents, documentation."
	}
	return result(content, false)
}

// propose leaves the decision about a call to the token's owner.
func (s *Server) propose(ctx context.Context, who *caller, ref domain.AppRef, call conversation.ToolCall, client string) *sdk.CallToolResult {
	app, err := s.config.Apps.Get(ctx, ref)
	if err != nil {
		return refused(call.Name, err)
	}
	grant, _, err := s.config.Authority.Authorize(ctx, who.secret.Reveal(), domain.RateNone, ref.Org)
	if err != nil {
		return refused(call.Name, err)
	}
	if grant.Token.User == nil || !app.Has(domain.ModuleAI) || !grant.May(domain.PermAIUse) {
		return refused(call.Name, &domain.Error{
			Code: domain.CodeForbidden, Reason: "approval_required",
			Message: "This needs a person's approval. It could not even be proposed: that takes a token bound to a person, the permission ai.use and the module ai. Nothing was written.",
		})
	}
	asker := conversation.Principal{User: *grant.Token.User, Grant: grant, App: app, Ref: ref}
	action, err := s.config.Proposals.Propose(ctx, asker, who.secret, call, fmt.Sprintf("Proposed over MCP by %s: %s", client, call.Name))
	if err != nil {
		return refused(call.Name, err)
	}
	note := "Nothing was written. The token's owner decides on the proposed action."
	if action.Effect == conversation.EffectExternal {
		note = "Nothing was sent. A second operator of the organization decides on the request."
	}
	shown, err := result(map[string]any{
		"tool": call.Name, "status": http.StatusAccepted, "executed": false, "note": note,
		"action": map[string]any{
			"id": action.ID, "conversationId": action.ConversationID, "tool": action.Tool, "effect": action.Effect, "status": action.Status,
			"preview": action.Preview, "expiresAt": route.Time(action.ExpiresAt),
		},
	}, false)
	if err != nil {
		return refused(call.Name, err)
	}
	return shown
}

// resultOf wraps the answer of a route: the same envelope as text and as an object.
func resultOf(name string, outcome *conversation.ToolOutcome) *sdk.CallToolResult {
	envelope := conversation.Envelope(name, outcome)
	return &sdk.CallToolResult{
		Meta: sdk.Meta{"svc/requestId": outcome.RequestID}, IsError: !outcome.OK(),
		Content: []sdk.Content{&sdk.TextContent{Text: envelope}}, StructuredContent: json.RawMessage(envelope),
	}
}

// result makes a result of this server itself.
func result(content any, failed bool) (*sdk.CallToolResult, error) {
	encoded, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return &sdk.CallToolResult{IsError: failed, Content: []sdk.Content{&sdk.TextContent{Text: string(encoded)}}, StructuredContent: json.RawMessage(encoded)}, nil
}

// refused makes the result with the reason why no tool was called.
func refused(name string, cause error) *sdk.CallToolResult {
	code := domain.CodeOf(cause)
	problem := map[string]any{"tool": name, "status": domain.InfoOf(code).Status, "code": code, "detail": "Something failed here."}
	if known, ok := errors.AsType[*domain.Error](cause); ok && code != domain.CodeInternal {
		problem["detail"] = known.Message
		if len(known.Fields) > 0 {
			problem["errors"] = known.Fields
		}
		if known.Reason != "" {
			problem["reason"] = known.Reason
		}
		if known.Required != nil {
			problem["required"] = known.Required
		}
	}
	shown, err := result(problem, true)
	if err != nil {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: http.StatusText(http.StatusInternalServerError)}}}
	}
	return shown
}
