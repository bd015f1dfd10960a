package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"svc"
)

// newOpenAI speaks the Chat Completions API, which other services speak as well.
func newOpenAI(access Access, client *http.Client) stream {
	options := []option.RequestOption{option.WithAPIKey(access.Key.Reveal()), option.WithHTTPClient(client), option.WithMaxRetries(0)}
	if access.BaseURL != "" {
		options = append(options, option.WithBaseURL(access.BaseURL))
	} else {
		options = append(options, option.WithEnvironmentProduction())
	}
	service := openai.NewChatCompletionService(options...)
	return func(ctx context.Context, request *svc.ModelRequest, received func(), text func(string)) (svc.ModelReply, error) {
		params, err := openaiParams(access.Model, request)
		if err != nil {
			return svc.ModelReply{}, err
		}
		chunks := service.NewStreaming(ctx, params)
		defer func() { _ = chunks.Close() }() // what was read stands
		var gathered openaiGathered
		for chunks.Next() {
			received()
			chunk := chunks.Current()
			gathered.add(&chunk, text)
		}
		reply := gathered.reply()
		if err := chunks.Err(); err != nil {
			return reply, openaiError(err)
		}
		if gathered.finish == "" {
			return reply, errors.New("the stream was cut off")
		}
		return reply, nil
	}
}

func openaiError(err error) error {
	if refused, ok := errors.AsType[*openai.Error](err); ok && refused.StatusCode != http.StatusOK {
		return statusError{refused.StatusCode}
	}
	return err
}

// openaiGathered puts the chunks of an answer together.
type openaiGathered struct {
	text   string
	calls  []svc.ToolCall
	usage  svc.Usage
	finish string
}

// maxCalls bounds the tool calls of one round.
const maxCalls = 64

func (g *openaiGathered) add(chunk *openai.ChatCompletionChunk, text func(string)) {
	if usage := chunk.Usage; usage.TotalTokens > 0 {
		g.usage = svc.Usage{Input: usage.PromptTokens, Output: usage.CompletionTokens, CacheRead: usage.PromptTokensDetails.CachedTokens}
	}
	if len(chunk.Choices) == 0 {
		return
	}
	choice := &chunk.Choices[0]
	if choice.FinishReason != "" {
		g.finish = choice.FinishReason
	}
	if delta := choice.Delta.Content; delta != "" {
		g.text += delta
		text(delta)
	}
	for _, part := range choice.Delta.ToolCalls {
		if part.Index < 0 || part.Index >= maxCalls {
			continue
		}
		for int(part.Index) >= len(g.calls) {
			g.calls = append(g.calls, svc.ToolCall{})
		}
		call := &g.calls[part.Index]
		call.ID += part.ID
		call.Name += part.Function.Name
		call.Input = append(call.Input, part.Function.Arguments...)
	}
}

func (g *openaiGathered) reply() svc.ModelReply {
	short := map[string]svc.ShortAnswer{"content_filter": svc.ShortFiltered, "length": svc.ShortFull}[g.finish]
	return svc.ModelReply{Text: g.text, Calls: g.calls, Usage: g.usage, Short: short}
}

func openaiParams(model string, request *svc.ModelRequest) (openai.ChatCompletionNewParams, error) {
	params := openai.ChatCompletionNewParams{
		Model: model, MaxCompletionTokens: openai.Int(maxOutput),
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(request.System)},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	for _, message := range request.Messages {
		switch message.Role {
		case svc.RoleUser:
			params.Messages = append(params.Messages, openai.UserMessage(message.Text))
		case svc.RoleTool:
			for _, result := range message.Results {
				params.Messages = append(params.Messages, openai.ToolMessage(result.Content, result.CallID))
			}
		case svc.RoleAssistant:
			params.Messages = append(params.Messages, openaiAssistant(&message))
		case svc.RoleNote:
		}
	}
	for i := range request.Tools {
		tool := &request.Tools[i]
		var schema shared.FunctionParameters
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			return params, err
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: tool.Name, Description: openai.String(tool.Description), Parameters: schema,
		}))
	}
	return params, nil
}

func openaiAssistant(message *svc.Message) openai.ChatCompletionMessageParamUnion {
	made := openai.ChatCompletionAssistantMessageParam{}
	if message.Text != "" {
		made.Content.OfString = openai.String(message.Text)
	}
	for _, call := range message.Calls {
		made.ToolCalls = append(made.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: string(call.Input)},
			},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &made}
}
