package mcp

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc/domain/conversation"
	"svc/http/tools"
)

// The tools without a route of their own.
const (
	toolFind  = "find_tools"
	toolRead  = "call_read"
	toolWrite = "call_write"
	toolError = "get_error"
)

// The operations that get_error reads.
const (
	toolIssue      = "errors_get"
	toolOccurrence = "errors_event"
)

// The members of an input that name the organization and the application of the call.
const (
	memberApp = "app"
	memberOrg = "org"
)

// starters lists the routes that are listed by default: the headline, its breakdowns, errors and failures, and the
// applications.
func starters() []string {
	return []string{"analytics_overview", "analytics_breakdown", "errors_list", "apps_list"}
}

// listTools lists the tools that the caller may call. By default it lists a few tools and the tools that find the
// others, so that the list costs a model few tokens; on demand it lists all.
func (s *Server) listTools(ctx context.Context, who *caller) (*sdk.ListToolsResult, error) {
	reach, err := s.reach(ctx, who)
	if err != nil {
		return nil, err
	}
	result := &sdk.ListToolsResult{Tools: []*sdk.Tool{}, Cacheable: private()}
	visible := s.config.Tools.AllWhere(reach.sees)
	named, changes := map[string]*conversation.Tool{}, false
	for i := range visible {
		named[visible[i].Name] = &visible[i]
		changes = changes || visible[i].Effect != conversation.EffectRead
	}
	result.Tools = append(result.Tools, findTool(), readTool())
	if changes {
		result.Tools = append(result.Tools, writeTool())
	}
	if named[toolIssue] != nil {
		result.Tools = append(result.Tools, errorTool())
	}
	if who.all {
		for i := range visible {
			result.Tools = append(result.Tools, s.toolOf(&visible[i]))
		}
		return result, nil
	}
	for _, name := range starters() {
		if named[name] != nil {
			result.Tools = append(result.Tools, s.toolOf(named[name]))
		}
	}
	return result, nil
}

// summary describes a tool, without the sentences that are for the assistant only.
func summary(tool *conversation.Tool) string {
	first, _, _ := strings.Cut(tool.Description, ". ")
	return strings.TrimSuffix(first, ".")
}

// toolOf describes a route as a tool for clients.
func (s *Server) toolOf(tool *conversation.Tool) *sdk.Tool {
	description := summary(tool) + "."
	if tool.Effect == conversation.EffectDestructive || tool.Effect == conversation.EffectExternal {
		description += " Proposed to the token's owner, not executed."
	} else if tool.Varies {
		description += " Executed unless it reaches production or a new outbound address; then it is proposed to the token's owner."
	}
	return &sdk.Tool{
		Name: tool.Name, Title: summary(tool), Description: description, InputSchema: s.inputOf(tool), OutputSchema: envelopeSchema(),
		Annotations: annotations(tool.Effect, tool.Varies, s.config.Tools.Repeatable(tool.Name)),
	}
}

// annotations describe the effect of a call to clients. A write with an effect that depends on its input is announced
// as destructive.
func annotations(effect conversation.Effect, varies, repeatable bool) *sdk.ToolAnnotations {
	destructive := effect == conversation.EffectDestructive || varies
	open := effect == conversation.EffectExternal
	return &sdk.ToolAnnotations{ReadOnlyHint: effect == conversation.EffectRead, DestructiveHint: &destructive, IdempotentHint: repeatable, OpenWorldHint: &open}
}

// inputOf returns the schema of a tool's input, with the address of the call.
func (s *Server) inputOf(tool *conversation.Tool) json.RawMessage {
	name, text := "", ""
	switch s.config.Tools.Need(tool.Name) {
	case tools.NeedsApplication:
		name, text = memberApp, "organization/application, as in acme/web; needed where the token reaches several"
	case tools.NeedsOrganization:
		name, text = memberOrg, "The organization's slug; needed where the token reaches several"
	case tools.NeedsNothing:
		return tool.Schema
	}
	var schema map[string]any
	if json.Unmarshal(tool.Schema, &schema) != nil {
		return tool.Schema
	}
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	properties[name] = map[string]any{"type": "string", "description": text}
	schema["properties"] = properties
	encoded, err := json.Marshal(schema)
	if err != nil {
		return tool.Schema
	}
	return encoded
}

// envelopeSchema describes the result of every call of a route; data is the route's answer.
func envelopeSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"tool":{"type":"string"},"status":{"type":"integer"},"data":{}},"required":["tool","status"]}`)
}

func findTool() *sdk.Tool {
	return &sdk.Tool{
		Name: toolFind, Title: "Find tools",
		Description: "Finds tools by what they do and returns their names, descriptions and input schemas. Call what was found with call_read or call_write.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"What you want to do, in English words"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":20,"default":5}},"required":["query"]}`),
		Annotations: annotations(conversation.EffectRead, false, true),
	}
}

// through is the input of the tools that call others.
const through = `{"type":"object","properties":{"tool":{"type":"string","description":"A name that find_tools returned"},` +
	`"arguments":{"type":"object","description":"The input of that tool"}},"required":["tool"]}`

func readTool() *sdk.Tool {
	return &sdk.Tool{
		Name: toolRead, Title: "Call a tool that reads", Description: "Calls a tool that changes nothing.",
		InputSchema: json.RawMessage(through), OutputSchema: envelopeSchema(), Annotations: annotations(conversation.EffectRead, false, true),
	}
}

func writeTool() *sdk.Tool {
	return &sdk.Tool{
		Name: toolWrite, Title: "Call a tool that changes something",
		Description: "Calls a tool that changes something. What destroys, reaches outside or touches production is not executed but proposed to the token's owner; the answer says so.",
		InputSchema: json.RawMessage(through), OutputSchema: envelopeSchema(), Annotations: annotations(conversation.EffectDestructive, false, false),
	}
}

func errorTool() *sdk.Tool {
	return &sdk.Tool{
		Name: toolError, Title: "Read an error", Description: "Reads one issue, or with eventId one of its occurrences in full, with stack and context.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"app":{"type":"string","description":"organization/application, as in acme/web; needed where the token reaches several"},` +
			`"issueId":{"type":"string"},"eventId":{"type":"string"},"env":{"type":"string"}},"required":["issueId"]}`),
		OutputSchema: envelopeSchema(), Annotations: annotations(conversation.EffectRead, false, true),
	}
}
