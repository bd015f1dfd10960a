package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"

	"svc/domain"
	"svc/domain/conversation"
)

// newGemini returns a model that uses the Generative Language API over REST. The client lives as long as the process:
// it is made once for an organization and credential.
func newGemini(access Access, client *http.Client) (stream, error) {
	// The library sends no key with a client that it did not make, so the transport sends it.
	keyed := *client
	next := client.Transport
	if next == nil {
		next = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	keyed.Transport = keyTransport{key: access.Key, next: next}
	options := []option.ClientOption{option.WithAPIKey(access.Key.Reveal()), option.WithHTTPClient(&keyed)}
	if access.BaseURL != "" {
		options = append(options, option.WithEndpoint(access.BaseURL))
	}
	service, err := genai.NewClient(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("making a client of gemini: %w", err)
	}
	return func(ctx context.Context, request *conversation.ModelRequest, received func(), text func(string), reply *conversation.ModelReply) error {
		model := service.GenerativeModel(access.Model)
		history, last, err := geminiParams(model, request)
		if err != nil {
			return err
		}
		chat := model.StartChat()
		chat.History = history
		return geminiRead(chat.SendMessageStream(ctx, last...), len(request.Messages), received, text, reply)
	}, nil
}

// keyTransport sends the credential with every request.
type keyTransport struct {
	key  domain.Secret
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (k keyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("X-Goog-Api-Key", k.key.Reveal())
	return k.next.RoundTrip(request)
}

// geminiRead assembles an answer. The API gives calls no ids, so they get ids by their position.
func geminiRead(answers *genai.GenerateContentResponseIterator, place int, received func(), text func(string), reply *conversation.ModelReply) error {
	finished := false
	for {
		answer, err := answers.Next()
		if errors.Is(err, iterator.Done) {
			break
		}
		if _, blocked := errors.AsType[*genai.BlockedError](err); blocked {
			reply.Short = conversation.ShortFiltered
			return nil
		}
		if err != nil {
			return geminiError(err)
		}
		received()
		if usage := answer.UsageMetadata; usage != nil {
			reply.Usage = conversation.Usage{
				Input: int64(usage.PromptTokenCount), Output: int64(usage.CandidatesTokenCount), CacheRead: int64(usage.CachedContentTokenCount),
			}
		}
		if len(answer.Candidates) == 0 || answer.Candidates[0].Content == nil {
			continue
		}
		finished = finished || answer.Candidates[0].FinishReason != genai.FinishReasonUnspecified
		if answer.Candidates[0].FinishReason == genai.FinishReasonMaxTokens {
			reply.Short = conversation.ShortFull
		}
		if err := geminiParts(answer.Candidates[0].Content.Parts, place, reply, text); err != nil {
			return err
		}
	}
	if !finished {
		return errors.New("the stream was cut off")
	}
	return nil
}

// geminiParts adds the parts of one element to an answer.
func geminiParts(parts []genai.Part, place int, reply *conversation.ModelReply, text func(string)) error {
	for _, part := range parts {
		switch part := part.(type) {
		case genai.Text:
			if part != "" {
				reply.Text += string(part)
				text(string(part))
			}
		case genai.FunctionCall:
			input, err := json.Marshal(part.Args)
			if err != nil {
				return err
			}
			reply.Calls = append(reply.Calls, conversation.ToolCall{ID: fmt.Sprintf("call_%d_%d", place, len(reply.Calls)), Name: part.Name, Input: input})
		}
	}
	return nil
}

func geminiError(err error) error {
	if refused, ok := errors.AsType[*googleapi.Error](err); ok {
		return statusError{refused.Code}
	}
	return err
}

// geminiParams configures the model and returns the history and the last message.
func geminiParams(model *genai.GenerativeModel, request *conversation.ModelRequest) (history []*genai.Content, last []genai.Part, err error) {
	model.SystemInstruction = genai.NewUserContent(genai.Text(request.System))
	model.SetMaxOutputTokens(maxOutput)
	set := &genai.Tool{}
	for i := range request.Tools {
		tool := &request.Tools[i]
		var schema map[string]any
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			return nil, nil, err
		}
		declared := &genai.FunctionDeclaration{Name: tool.Name, Description: tool.Description}
		if properties, _ := schema["properties"].(map[string]any); len(properties) > 0 { // The API refuses objects without members.
			declared.Parameters = geminiSchema(schema)
		}
		set.FunctionDeclarations = append(set.FunctionDeclarations, declared)
	}
	model.Tools = []*genai.Tool{set}
	for i := range request.Messages {
		content := geminiContent(&request.Messages[i])
		if n := len(history); n > 0 && history[n-1].Role == content.Role {
			history[n-1].Parts = append(history[n-1].Parts, content.Parts...)
			continue
		}
		history = append(history, content)
	}
	if len(history) == 0 {
		return nil, nil, errors.New("there is no message")
	}
	return history[:len(history)-1], history[len(history)-1].Parts, nil
}

func geminiContent(message *conversation.Message) *genai.Content {
	content := &genai.Content{Role: "user"}
	if message.Role == conversation.RoleAssistant {
		content.Role = "model"
	}
	if message.Text != "" {
		content.Parts = append(content.Parts, genai.Text(message.Text))
	}
	for _, call := range message.Calls {
		var args map[string]any
		if err := json.Unmarshal(call.Input, &args); err != nil {
			args = map[string]any{}
		}
		content.Parts = append(content.Parts, genai.FunctionCall{Name: call.Name, Args: args})
	}
	for _, result := range message.Results {
		content.Parts = append(content.Parts, genai.FunctionResponse{Name: result.Name, Response: map[string]any{"ok": result.OK, "result": result.Content}})
	}
	return content
}

// geminiSchema writes a JSON Schema in the subset that the API accepts.
func geminiSchema(schema map[string]any) *genai.Schema {
	out := &genai.Schema{Type: genai.TypeString}
	out.Description, _ = schema["description"].(string)
	switch kind := geminiKind(schema, out); kind {
	case "object":
		out.Type = genai.TypeObject
		properties, _ := schema["properties"].(map[string]any)
		out.Properties = map[string]*genai.Schema{}
		for name, property := range properties {
			if nested, ok := property.(map[string]any); ok {
				out.Properties[name] = geminiSchema(nested)
			}
		}
		out.Required = stringsOf(schema["required"])
		if len(out.Properties) == 0 { // The API refuses objects without members.
			out.Type, out.Properties = genai.TypeString, nil
			out.Description += " (JSON)"
		}
	case "array":
		out.Type = genai.TypeArray
		items, _ := schema["items"].(map[string]any)
		out.Items = geminiSchema(items)
	case "integer":
		out.Type = genai.TypeInteger
	case "number":
		out.Type = genai.TypeNumber
	case "boolean":
		out.Type = genai.TypeBoolean
	default:
		if out.Enum = stringsOf(schema["enum"]); len(out.Enum) > 0 {
			out.Format = "enum"
		}
	}
	return out
}

// geminiKind returns the type of a schema; one of several types may be null.
func geminiKind(schema map[string]any, out *genai.Schema) string {
	if kind, ok := schema["type"].(string); ok {
		return kind
	}
	kinds := stringsOf(schema["type"])
	if at := slices.Index(kinds, "null"); at >= 0 {
		out.Nullable = true
		kinds = slices.Delete(kinds, at, at+1)
	}
	if len(kinds) > 0 {
		return kinds[0]
	}
	return ""
}

func stringsOf(list any) (out []string) {
	items, _ := list.([]any)
	for _, item := range items {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
