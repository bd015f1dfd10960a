package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"
	"github.com/segmentio/encoding/json"

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
	service := openai.Client{Options: options}
	return func(ctx context.Context, request *svc.ModelRequest, received func(), text func(string), reply *svc.ModelReply) error {
		chunks, err := openaiAsk(ctx, &service, access.Model, request)
		if err != nil {
			return openaiError(err)
		}
		return openaiRead(chunks, received, text, reply)
	}
}

// openaiAsk sends a request. What it is made of does not outlive it, for an answer takes
// long and there may be thousands.
func openaiAsk(ctx context.Context, service *openai.Client, model string, request *svc.ModelRequest) (ssestream.Decoder, error) {
	params, err := openaiParams(model, request)
	if err != nil {
		return nil, err
	}
	var raw *http.Response
	if err := service.Post(ctx, "chat/completions", params, &raw, option.WithJSONSet("stream", true)); err != nil {
		return nil, err
	}
	return ssestream.NewDecoder(raw), nil // which closes it
}

// openaiRead reads an answer.
func openaiRead(chunks ssestream.Decoder, received func(), text func(string), reply *svc.ModelReply) error {
	gathered := new(openaiGathered)
	err := gathered.read(chunks, received, text)
	gathered.tell(reply)
	return err
}

// read reads the chunks of an answer. Goroutines wait here for as long as answers take, so
// what it keeps on its stack counts.
func (g *openaiGathered) read(chunks ssestream.Decoder, received func(), text func(string)) error {
	defer func() { _ = chunks.Close() }() // what was read stands
	for chunks.Next() {
		last, err := g.take(chunks.Event().Data, received, text)
		if err != nil || last {
			return cmp.Or(err, g.whole())
		}
	}
	return cmp.Or(chunks.Err(), g.whole())
}

// whole is an error where the answer has not ended.
func (g *openaiGathered) whole() error {
	if g.finish == "" {
		return errors.New("the stream was cut off")
	}
	return nil
}

// take adds an event of the stream and says whether it is the last one.
func (g *openaiGathered) take(data []byte, received func(), text func(string)) (last bool, err error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return true, nil
	}
	var chunk openaiChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return false, err
	}
	if len(chunk.Error) > 0 && string(chunk.Error) != "null" {
		return false, errors.New("the stream holds an error")
	}
	received()
	g.add(&chunk, text)
	return false, nil
}

func openaiError(err error) error {
	if refused, ok := errors.AsType[*openai.Error](err); ok && refused.StatusCode != http.StatusOK {
		return statusError{refused.StatusCode}
	}
	return err
}

// openaiChunk is what is read of a chunk. The library's own type, which keeps every field
// and its raw text, takes four times as long.
type openaiChunk struct {
	// Error is there where the provider breaks off.
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

// openaiGathered puts the chunks of an answer together.
type openaiGathered struct {
	text   strings.Builder
	calls  []svc.ToolCall
	usage  svc.Usage
	finish string
}

// maxCalls bounds the tool calls of one round.
const maxCalls = 64

func (g *openaiGathered) add(chunk *openaiChunk, text func(string)) {
	if usage := chunk.Usage; usage != nil {
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
		g.text.WriteString(delta)
		text(delta)
	}
	for _, part := range choice.Delta.ToolCalls {
		if part.Index < 0 || part.Index >= maxCalls {
			continue
		}
		for part.Index >= len(g.calls) {
			g.calls = append(g.calls, svc.ToolCall{})
		}
		call := &g.calls[part.Index]
		call.ID += part.ID
		call.Name += part.Function.Name
		call.Input = append(call.Input, part.Function.Arguments...)
	}
}

func (g *openaiGathered) tell(reply *svc.ModelReply) {
	reply.Text, reply.Calls, reply.Usage = g.text.String(), g.calls, g.usage
	switch g.finish {
	case "content_filter":
		reply.Short = svc.ShortFiltered
	case "length":
		reply.Short = svc.ShortFull
	}
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
