package llm

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/segmentio/encoding/json"

	"svc/domain/conversation"
)

const openaiBase = "https://api.openai.com/v1"

// newOpenAI returns a model that uses the Chat Completions API, which other services offer as well.
func newOpenAI(access Access, client *http.Client) stream {
	service := newEndpoint(client, cmp.Or(access.BaseURL, openaiBase), "chat/completions",
		http.Header{"Authorization": {"Bearer " + access.Key.Reveal()}})
	return func(ctx context.Context, request *conversation.ModelRequest, received func(), text func(string), reply *conversation.ModelReply) error {
		answer, err := service.ask(ctx, openaiRequestOf(access.Model, request))
		if err != nil {
			return err
		}
		defer func() { _ = answer.Close() }() // The part that was read remains valid.
		gathered := new(openaiGathered)
		defer gathered.fill(reply)
		return readEvents(answer, func(data string) (last bool, err error) {
			return gathered.take(data, received, text)
		}, func() bool { return gathered.finish != "" })
	}
}

// openaiChunk contains the members of an event that are used.
type openaiChunk struct {
	// Error is set if the provider fails in the middle of an answer.
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta struct {
			Content   string       `json:"content"`
			ToolCalls []openaiPart `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens        int64 `json:"prompt_tokens"`
		CompletionTokens    int64 `json:"completion_tokens"`
		PromptTokensDetails struct {
			CachedTokens int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

// openaiPart is a part of a call.
type openaiPart struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// openaiGathered assembles an answer from its events.
type openaiGathered struct {
	text   strings.Builder
	calls  []conversation.ToolCall
	usage  conversation.Usage
	finish string
}

// take adds an event and reports whether it is the last one.
func (g *openaiGathered) take(data string, received func(), text func(string)) (last bool, err error) {
	if strings.HasPrefix(data, "[DONE]") {
		return true, nil
	}
	var chunk openaiChunk
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return false, err
	}
	if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
		return false, errInStream
	}
	received()
	g.add(&chunk, text)
	return false, nil
}

// maxCalls bounds the tool calls of one round.
const maxCalls = 64

func (g *openaiGathered) add(chunk *openaiChunk, text func(string)) {
	if usage := chunk.Usage; usage != nil {
		g.usage = conversation.Usage{Input: usage.PromptTokens, Output: usage.CompletionTokens, CacheRead: usage.PromptTokensDetails.CachedTokens}
	}
	if len(chunk.Choices) == 0 {
		return
	}
	choice := &chunk.Choices[0]
	if choice.FinishReason != "" {
		g.finish = choice.FinishReason
	}
	if delta := choice.Delta.Content; delta != "" {
		g.text.WriteString(delta)
		text(delta)
	}
	for _, part := range choice.Delta.ToolCalls {
		if part.Index < 0 || part.Index >= maxCalls {
			continue
		}
		for part.Index >= len(g.calls) {
			g.calls = append(g.calls, conversation.ToolCall{})
		}
		call := &g.calls[part.Index]
		call.ID += part.ID
		call.Name += part.Function.Name
		call.Input = append(call.Input, part.Function.Arguments...)
	}
}

func (g *openaiGathered) fill(reply *conversation.ModelReply) {
	reply.Text, reply.Calls, reply.Usage = g.text.String(), g.calls, g.usage
	switch g.finish {
	case "content_filter":
		reply.Short = conversation.ShortFiltered
	case "length":
		reply.Short = conversation.ShortFull
	}
}

// openaiRequest is the body of a request.
type openaiRequest struct {
	Model         string          `json:"model"`
	MaxTokens     int             `json:"max_completion_tokens"`
	Messages      []openaiMessage `json:"messages"`
	Tools         []openaiTool    `json:"tools,omitempty"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type openaiMessage struct {
	Role string `json:"role"`
	// Content is null in a message that only makes calls.
	Content    *string      `json:"content"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
	ToolCalls  []openaiCall `json:"tool_calls,omitempty"`
}

type openaiCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
		// Arguments is JSON, encoded as a string.
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type openaiTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func openaiRequestOf(model string, request *conversation.ModelRequest) *openaiRequest {
	body := &openaiRequest{Model: model, MaxTokens: maxOutput, Stream: true}
	body.StreamOptions.IncludeUsage = true
	body.Messages = append(body.Messages, openaiMessage{Role: "system", Content: &request.System})
	for i := range request.Messages {
		message := &request.Messages[i]
		switch message.Role {
		case conversation.RoleUser:
			body.Messages = append(body.Messages, openaiMessage{Role: "user", Content: &message.Text})
		case conversation.RoleTool:
			for j := range message.Results {
				result := &message.Results[j]
				body.Messages = append(body.Messages, openaiMessage{Role: "tool", Content: &result.Content, ToolCallID: result.CallID})
			}
		case conversation.RoleAssistant:
			body.Messages = append(body.Messages, openaiAssistant(message))
		case conversation.RoleNote:
		}
	}
	for i := range request.Tools {
		tool := openaiTool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = request.Tools[i].Name, request.Tools[i].Description, request.Tools[i].Schema
		body.Tools = append(body.Tools, tool)
	}
	return body
}

func openaiAssistant(message *conversation.Message) openaiMessage {
	made := openaiMessage{Role: "assistant"}
	if message.Text != "" {
		made.Content = &message.Text
	}
	for i := range message.Calls {
		call := openaiCall{ID: message.Calls[i].ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = message.Calls[i].Name, string(message.Calls[i].Input)
		made.ToolCalls = append(made.ToolCalls, call)
	}
	return made
}
