package llm

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/segmentio/encoding/json"

	"svc/domain/conversation"
)

const (
	anthropicBase    = "https://api.anthropic.com"
	anthropicVersion = "2023-06-01"
)

// newAnthropic returns a model that uses the Messages API.
func newAnthropic(access Access, client *http.Client) stream {
	service := newEndpoint(client, cmp.Or(access.BaseURL, anthropicBase), "v1/messages",
		http.Header{"X-Api-Key": {access.Key.Reveal()}, "Anthropic-Version": {anthropicVersion}})
	return func(ctx context.Context, request *conversation.ModelRequest, received func(), text func(string), reply *conversation.ModelReply) error {
		answer, err := service.ask(ctx, anthropicRequestOf(access.Model, request))
		if err != nil {
			return err
		}
		defer func() { _ = answer.Close() }() // The part that was read remains valid.
		gathered := new(anthropicGathered)
		defer gathered.fill(reply)
		return readEvents(answer, func(data string) (last bool, err error) {
			err = gathered.take(data, received, text)
			return gathered.ended, err
		}, func() bool { return gathered.stop != "" })
	}
}

// anthropicEvent contains the members of an event that are used.
type anthropicEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Block struct {
		Type string `json:"type"`
		ID   string `json:"id"`
		Name string `json:"name"`
		// Text and Input are usually empty here and follow as deltas.
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// anthropicUsage counts tokens; counts of later events replace earlier ones.
type anthropicUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// anthropicGathered assembles an answer from its events.
type anthropicGathered struct {
	text  strings.Builder
	calls []anthropicCall
	usage anthropicUsage
	stop  string
	ended bool
}

// anthropicCall is a tool call with an input that arrives in parts.
type anthropicCall struct {
	index int
	call  conversation.ToolCall
	// whole is the input that came with the start of the block.
	whole json.RawMessage
}

// take adds an event.
func (g *anthropicGathered) take(data string, received func(), text func(string)) error {
	var event anthropicEvent
	if err := json.Unmarshal([]byte(data), &event); err != nil {
		return err
	}
	if event.Type == "error" {
		return errInStream
	}
	received()
	switch event.Type {
	case "message_start":
		g.usage = event.Message.Usage
	case "content_block_start":
		g.begin(&event, text)
	case "content_block_delta":
		g.grow(&event, text)
	case "message_delta":
		g.stop = cmp.Or(event.Delta.StopReason, g.stop)
		g.usage.add(event.Usage)
	case "message_stop":
		g.ended = true
	}
	return nil
}

// add copies the counts of a later event; the API omits unchanged counts.
func (u *anthropicUsage) add(later anthropicUsage) {
	u.Input, u.Output = cmp.Or(later.Input, u.Input), cmp.Or(later.Output, u.Output)
	u.CacheRead, u.CacheWrite = cmp.Or(later.CacheRead, u.CacheRead), cmp.Or(later.CacheWrite, u.CacheWrite)
}

func (g *anthropicGathered) begin(event *anthropicEvent, text func(string)) {
	switch event.Block.Type {
	case "text":
		g.addText(event.Block.Text, text)
	case "tool_use":
		if len(g.calls) < maxCalls {
			g.calls = append(g.calls, anthropicCall{
				index: event.Index, call: conversation.ToolCall{ID: event.Block.ID, Name: event.Block.Name}, whole: event.Block.Input,
			})
		}
	}
}

func (g *anthropicGathered) grow(event *anthropicEvent, text func(string)) {
	g.addText(event.Delta.Text, text)
	for i := range g.calls {
		if g.calls[i].index == event.Index {
			g.calls[i].call.Input = append(g.calls[i].call.Input, event.Delta.PartialJSON...)
		}
	}
}

func (g *anthropicGathered) addText(fragment string, text func(string)) {
	if fragment != "" {
		g.text.WriteString(fragment)
		text(fragment)
	}
}

// fill completes the reply. The API counts cached input separately; the reply counts it as a part of the input.
func (g *anthropicGathered) fill(reply *conversation.ModelReply) {
	reply.Text, reply.Usage = g.text.String(), conversation.Usage{
		Input:  g.usage.Input + g.usage.CacheRead + g.usage.CacheWrite,
		Output: g.usage.Output, CacheRead: g.usage.CacheRead, CacheWrite: g.usage.CacheWrite,
	}
	switch g.stop {
	case "refusal":
		reply.Short = conversation.ShortFiltered
	case "max_tokens", "model_context_window_exceeded":
		reply.Short = conversation.ShortFull
	}
	for i := range g.calls {
		call := g.calls[i].call
		if len(call.Input) == 0 {
			call.Input = g.calls[i].whole
		}
		reply.Calls = append(reply.Calls, call)
	}
}

// anthropicRequest is the body of a request.
type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	System    []anthropicBlock   `json:"system"`
	Messages  []anthropicMessage `json:"messages"`
	Tools     []anthropicTool    `json:"tools,omitempty"`
	Stream    bool               `json:"stream"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicBlock is a text, a tool call or its result, by its type.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// anthropicRequestOf writes a request. The API requires alternating roles, so the blocks of consecutive messages of one
// role become one message.
func anthropicRequestOf(model string, request *conversation.ModelRequest) *anthropicRequest {
	body := &anthropicRequest{Model: model, MaxTokens: maxOutput, System: []anthropicBlock{{Type: "text", Text: request.System}}, Stream: true}
	for i := range request.Messages {
		blocks := anthropicBlocks(&request.Messages[i])
		if len(blocks) == 0 { // The API refuses messages without content.
			continue
		}
		role := "user"
		if request.Messages[i].Role == conversation.RoleAssistant {
			role = "assistant"
		}
		if last := len(body.Messages) - 1; last >= 0 && body.Messages[last].Role == role {
			body.Messages[last].Content = append(body.Messages[last].Content, blocks...)
			continue
		}
		body.Messages = append(body.Messages, anthropicMessage{Role: role, Content: blocks})
	}
	for i := range request.Tools {
		tool := &request.Tools[i]
		body.Tools = append(body.Tools, anthropicTool{tool.Name, tool.Description, tool.Schema})
	}
	return body
}

func anthropicBlocks(message *conversation.Message) (blocks []anthropicBlock) {
	if message.Text != "" {
		blocks = append(blocks, anthropicBlock{Type: "text", Text: message.Text})
	}
	for _, call := range message.Calls {
		blocks = append(blocks, anthropicBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: call.Input})
	}
	for _, result := range message.Results {
		blocks = append(blocks, anthropicBlock{Type: "tool_result", ToolUseID: result.CallID, Content: result.Content, IsError: !result.OK})
	}
	return blocks
}
