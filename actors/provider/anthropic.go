package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"svc"
)

// newAnthropic speaks the Messages API.
func newAnthropic(access Access, client *http.Client) stream {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithAPIKey(access.Key.Reveal()), option.WithHTTPClient(client), option.WithMaxRetries(0),
	}
	if access.BaseURL != "" {
		options = append(options, option.WithBaseURL(access.BaseURL))
	}
	service := anthropic.NewMessageService(options...)
	return func(ctx context.Context, request *svc.ModelRequest, received func(), text func(string), reply *svc.ModelReply) error {
		events, err := anthropicAsk(ctx, &service, access.Model, request)
		if err != nil {
			return err
		}
		return anthropicRead(events, received, text, reply)
	}
}

// anthropicEvents is the stream of an answer.
type anthropicEvents = ssestream.Stream[anthropic.MessageStreamEventUnion]

// anthropicAsk sends a request, what it is made of does not outlive it.
func anthropicAsk(ctx context.Context, service *anthropic.MessageService, model string, request *svc.ModelRequest) (*anthropicEvents, error) {
	params, err := anthropicParams(model, request)
	if err != nil {
		return nil, err
	}
	return service.NewStreaming(ctx, params), nil
}

// anthropicGathered puts the events of an answer together.
type anthropicGathered struct {
	whole anthropic.Message
	text  strings.Builder
}

// anthropicRead reads an answer.
func anthropicRead(events *anthropicEvents, received func(), text func(string), reply *svc.ModelReply) error {
	defer func() { _ = events.Close() }() // what was read stands
	gathered := new(anthropicGathered)
	defer gathered.tell(reply)
	for events.Next() {
		received()
		if err := gathered.take(events, text); err != nil {
			return err
		}
	}
	if err := events.Err(); err != nil {
		return anthropicError(err)
	}
	if gathered.whole.StopReason == "" {
		return errors.New("the stream was cut off")
	}
	return nil
}

// take adds the present event. The library would copy all of the text with every fragment.
func (g *anthropicGathered) take(events *anthropicEvents, text func(string)) error {
	event := events.Current()
	if delta := event.Delta.Text; event.Type == "content_block_delta" && delta != "" {
		g.text.WriteString(delta)
		text(delta)
		return nil
	}
	return g.whole.Accumulate(event)
}

func anthropicError(err error) error {
	if refused, ok := errors.AsType[*anthropic.Error](err); ok && refused.StatusCode != http.StatusOK {
		return statusError{refused.StatusCode}
	}
	return err
}

func anthropicParams(model string, request *svc.ModelRequest) (anthropic.MessageNewParams, error) {
	params := anthropic.MessageNewParams{
		Model: anthropic.Model(model), MaxTokens: maxOutput, System: []anthropic.TextBlockParam{{Text: request.System}},
	}
	for _, message := range request.Messages {
		var blocks []anthropic.ContentBlockParamUnion
		if message.Text != "" {
			blocks = append(blocks, anthropic.NewTextBlock(message.Text))
		}
		for _, call := range message.Calls {
			blocks = append(blocks, anthropic.NewToolUseBlock(call.ID, call.Input, call.Name))
		}
		for _, result := range message.Results {
			blocks = append(blocks, anthropic.NewToolResultBlock(result.CallID, result.Content, !result.OK))
		}
		made := anthropic.NewUserMessage(blocks...)
		if message.Role == svc.RoleAssistant {
			made = anthropic.NewAssistantMessage(blocks...)
		}
		if last := len(params.Messages) - 1; last >= 0 && params.Messages[last].Role == made.Role {
			params.Messages[last].Content = append(params.Messages[last].Content, blocks...)
			continue
		}
		params.Messages = append(params.Messages, made)
	}
	for i := range request.Tools {
		tool := &request.Tools[i]
		var schema anthropic.ToolInputSchemaParam
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			return params, err
		}
		union := anthropic.ToolUnionParamOfTool(schema, tool.Name)
		union.OfTool.Description = anthropic.String(tool.Description)
		params.Tools = append(params.Tools, union)
	}
	return params, nil
}

// tell reads what was received. The family counts cached input apart; here it
// is a part of the input.
func (g *anthropicGathered) tell(reply *svc.ModelReply) {
	usage := g.whole.Usage
	reply.Text, reply.Usage = g.text.String(), svc.Usage{
		Input:  usage.InputTokens + usage.CacheReadInputTokens + usage.CacheCreationInputTokens,
		Output: usage.OutputTokens, CacheRead: usage.CacheReadInputTokens, CacheWrite: usage.CacheCreationInputTokens,
	}
	switch g.whole.StopReason {
	case anthropic.StopReasonRefusal:
		reply.Short = svc.ShortFiltered
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		reply.Short = svc.ShortFull
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse, anthropic.StopReasonPauseTurn:
	}
	for _, block := range g.whole.Content {
		if block.Type == "tool_use" {
			reply.Calls = append(reply.Calls, svc.ToolCall{ID: block.ID, Name: block.Name, Input: block.Input})
		}
	}
}
