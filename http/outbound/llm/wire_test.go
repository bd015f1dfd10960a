package llm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/outbound/llm"
	"svc/http/outbound/llm/llmtest"
)

// TestRequestsAreInTheFamiliesForms compares whole bodies.
func TestRequestsAreInTheFamiliesForms(t *testing.T) {
	schema := string(request().Tools[0].Schema)
	for family, want := range map[conversation.AIProvider]string{
		conversation.ProviderOpenAI: `{"model":"gpt-5.4-mini","max_completion_tokens":8192,"messages":[
			{"role":"system","content":"Be brief."},{"role":"user","content":"How many?"},
			{"role":"assistant","content":"I look.","tool_calls":[{"id":"old","type":"function","function":{"name":"goals_list","arguments":"{\"limit\":5}"}}]},
			{"role":"tool","content":"{\"untrusted\":true}","tool_call_id":"old"}],
			"tools":[{"type":"function","function":{"name":"goals_list","description":"List goals.","parameters":` + schema + `}},
			{"type":"function","function":{"name":"docs_list","description":"List pages.","parameters":{"type":"object","properties":{}}}}],
			"stream":true,"stream_options":{"include_usage":true}}`,
		conversation.ProviderAnthropic: `{"model":"claude-sonnet-5-5","max_tokens":8192,"system":[{"type":"text","text":"Be brief."}],"messages":[
			{"role":"user","content":[{"type":"text","text":"How many?"}]},
			{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"old","name":"goals_list","input":{"limit":5}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"old","content":"{\"untrusted\":true}"}]}],
			"tools":[{"name":"goals_list","description":"List goals.","input_schema":` + schema + `},
			{"name":"docs_list","description":"List pages.","input_schema":{"type":"object","properties":{}}}],
			"stream":true}`,
	} {
		_, _, server, err := heard(t, family, func(int, []byte) llmtest.Round { return llmtest.Round{Text: []string{"x"}} })
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted any
		if json.Unmarshal(server.Bodies()[0], &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil || !reflect.DeepEqual(got, wanted) {
			t.Errorf("%s: asked with\n%s\nwant\n%s", family, server.Bodies()[0], want)
		}
	}
}

// answered runs one round against a given body of the provider.
func answered(t *testing.T, family conversation.AIProvider, status int, body string) (conversation.ModelReply, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status != http.StatusOK {
			http.Redirect(w, r, "/elsewhere", status)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	models := llm.Models{Credentials: credentials{}, Platform: llm.Access{Provider: family, Key: "sk-platform", BaseURL: server.URL + "/"}}
	model, err := models.Model(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return round(t, model, func(string) {})
}

// TestAnswersAsServicesSendThem tests the readers with forms that the scripted models do not send.
func TestAnswersAsServicesSendThem(t *testing.T) {
	long := strings.Repeat("a", 200_000)
	for name, c := range map[string]struct {
		family conversation.AIProvider
		body   string
		want   conversation.ModelReply
	}{
		"lines end with CR LF": {conversation.ProviderOpenAI, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n", conversation.ModelReply{Text: "Hi"}},
		"no final marker":      {conversation.ProviderOpenAI, `data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}` + "\n\n", conversation.ModelReply{Text: "Hi"}},
		"a call in one long event": {
			conversation.ProviderOpenAI, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"goals_list","arguments":"{\"q\":\"` + long + `\"}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
			conversation.ModelReply{Calls: []conversation.ToolCall{{ID: "c", Name: "goals_list", Input: json.RawMessage(`{"q":"` + long + `"}`)}}},
		},
		"an input with the start of its block": {
			conversation.ProviderAnthropic, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":7,\"cache_creation_input_tokens\":2}}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"goals_list\",\"input\":{\"limit\":1}}}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":3}}\n\n" +
				"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			conversation.ModelReply{Calls: []conversation.ToolCall{{ID: "c", Name: "goals_list", Input: json.RawMessage(`{"limit":1}`)}}, Usage: conversation.Usage{Input: 9, Output: 3, CacheWrite: 2}},
		},
	} {
		reply, err := answered(t, c.family, http.StatusOK, c.body)
		if err != nil || !reflect.DeepEqual(reply, c.want) {
			t.Errorf("%s: %+v, %v", name, reply, err)
		}
	}
}

// TestADeepAnswer sends events with more levels than the decoder supports.
func TestADeepAnswer(t *testing.T) {
	for _, family := range []conversation.AIProvider{conversation.ProviderOpenAI, conversation.ProviderAnthropic} {
		if _, err := answered(t, family, http.StatusOK, `data: {"type":`+strings.Repeat("[", 3<<20)+"\n\n"); err == nil {
			t.Errorf("%s: the answer was read", family)
		}
	}
}

func TestARedirectIsARefusal(t *testing.T) {
	for _, family := range []conversation.AIProvider{conversation.ProviderOpenAI, conversation.ProviderAnthropic} {
		if _, err := answered(t, family, http.StatusTemporaryRedirect, ""); domain.CodeOf(err) != conversation.CodeProviderError || !strings.Contains(err.Error(), "307") {
			t.Errorf("%s: %v", family, err)
		}
	}
}
