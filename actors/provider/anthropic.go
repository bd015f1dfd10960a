package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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
	return func(ctx context.Context, request *svc.ModelRequest, received func(), text func(string)) (svc.ModelReply, error) {
		params, err := anthropicParams(access.Model, request)
		if err != nil {
			return svc.ModelReply{}, err
		}
		events := service.NewStreaming(ctx, params)
		defer func() { _ = events.Close() }() // what was read stands
		var whole anthropic.Message
		var said strings.Builder
		for events.Next() {
			received()
			event := events.Current()
			if delta := event.Delta.Text; event.Type == "content_block_delta" && delta != "" {
				// The library would copy all of the text with every fragment.
				said.WriteString(delta)
				text(delta)
				continue
			}
			if err := whole.Accumulate(event); err != nil {
				return anthropicReply(&whole, said.String()), err
			}
		}
		reply := anthropicReply(&whole, said.String())
		if err := events.Err(); err != nil {
			return reply, anthropicError(err)
		}
		if whole.StopReason == "" {
			return reply, errors.New("the stream was cut off")
		}
		return reply, nil
	}
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

// anthropicReply reads what was received. The family counts cached input apart; here it
// is a part of the input.
func anthropicReply(whole *anthropic.Message, text string) svc.ModelReply {
	usage := whole.Usage
	reply := svc.ModelReply{Text: text, Usage: svc.Usage{
		Input:  usage.InputTokens + usage.CacheReadInputTokens + usage.CacheCreationInputTokens,
		Output: usage.OutputTokens, CacheRead: usage.CacheReadInputTokens, CacheWrite: usage.CacheCreationInputTokens,
	}}
	switch whole.StopReason {
	case anthropic.StopReasonRefusal:
		reply.Short = svc.ShortFiltered
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		reply.Short = svc.ShortFull
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse, anthropic.StopReasonPauseTurn:
	}
	for _, block := range whole.Content {
		if block.Type == "tool_use" {
			reply.Calls = append(reply.Calls, svc.ToolCall{ID: block.ID, Name: block.Name, Input: block.Input})
		}
	}
	return reply
}
