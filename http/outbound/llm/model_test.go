package llm_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/outbound/llm"
	"svc/http/outbound/llm/llmtest"
)

// credentials returns the same credential, or none, for every organization.
type credentials struct {
	credential *conversation.AICredential
	key        domain.Secret
}

func (c credentials) Credential(context.Context, string) (*conversation.AICredential, domain.Secret, error) {
	return c.credential, c.key, nil
}

func calls() []conversation.ToolCall {
	return []conversation.ToolCall{
		{ID: "call_3_0", Name: "analytics_overview", Input: json.RawMessage(`{"range":"7d","env":"production"}`)},
		{ID: "call_3_1", Name: "goals_list", Input: json.RawMessage(`{}`)},
	}
}

// request is a conversation with every possible kind of content.
func request() conversation.ModelRequest {
	return conversation.ModelRequest{
		System: "Be brief.",
		Messages: []conversation.Message{
			{Role: conversation.RoleUser, Text: "How many?"},
			{Role: conversation.RoleAssistant, Text: "I look.", Calls: []conversation.ToolCall{{ID: "old", Name: "goals_list", Input: json.RawMessage(`{"limit":5}`)}}},
			{Role: conversation.RoleTool, Results: []conversation.ToolResult{{CallID: "old", Name: "goals_list", OK: true, Content: `{"untrusted":true}`}}},
		},
		Tools: []conversation.Tool{{
			Name: "goals_list", Description: "List goals.",
			Schema: json.RawMessage(`{"type":"object","properties":{"limit":{"type":["integer","null"]},"kind":{"type":"string","enum":["a","b"]},"tags":{"type":"array","items":{"type":"string"}},"any":{"type":"object","additionalProperties":true}},"required":["kind"]}`),
		}, {Name: "docs_list", Description: "List pages.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
	}
}

func eachFamily(t *testing.T, test func(t *testing.T, family conversation.AIProvider)) {
	for _, family := range conversation.AIProviders() {
		t.Run(string(family), func(t *testing.T) { test(t, family) })
	}
}

// round sends one request to a model.
func round(t *testing.T, model *llm.Model, text func(string)) (conversation.ModelReply, error) {
	t.Helper()
	asked := request()
	var reply conversation.ModelReply
	err := model.Round(t.Context(), &asked, text, &reply)
	return reply, err
}

// heard runs one round against a script and returns the result.
func heard(t *testing.T, family conversation.AIProvider, script llmtest.Script) (conversation.ModelReply, []string, *llmtest.Server, error) {
	t.Helper()
	server := llmtest.Serve(t, family, script)
	models := llm.Models{Credentials: credentials{}, Platform: llm.Access{Provider: family, Key: "sk-platform", BaseURL: server.URL}}
	model, err := models.Model(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	reply, err := round(t, model, func(text string) { texts = append(texts, text) })
	return reply, texts, server, err
}

func TestARoundStreamsTextCallsAndUsage(t *testing.T) {
	eachFamily(t, func(t *testing.T, family conversation.AIProvider) {
		reply, texts, server, err := heard(t, family, func(int, []byte) llmtest.Round {
			return llmtest.Round{Text: []string{"Let ", "me see."}, Calls: calls()}
		})
		want := conversation.ModelReply{Text: "Let me see.", Calls: calls(), Usage: conversation.Usage{Input: 100, Output: 20, CacheRead: 40}}
		if err != nil || !reflect.DeepEqual(texts, []string{"Let ", "me see."}) {
			t.Errorf("texts %q, %v", texts, err)
		}
		for i := range reply.Calls {
			if !reflect.DeepEqual(conversation.CanonicalJSON(reply.Calls[i].Input), conversation.CanonicalJSON(want.Calls[i].Input)) {
				t.Errorf("input %s", reply.Calls[i].Input)
			}
			reply.Calls[i].Input = want.Calls[i].Input
		}
		if !reflect.DeepEqual(reply, want) {
			t.Errorf("got %+v, want %+v", reply, want)
		}
		body := string(server.Bodies()[0])
		for _, part := range []string{"Be brief.", "How many?", "I look.", "goals_list", `\"untrusted\":true`, "List pages.", "kind"} {
			if !strings.Contains(body, part) {
				t.Errorf("the request lacks %q: %s", part, body)
			}
		}
		if key := server.Keys()[0]; !strings.Contains(key, "sk-platform") {
			t.Errorf("the key sent is %q", key)
		}
	})
}

func TestARoundIsRepeatedOnlyWhileNothingWasReceived(t *testing.T) {
	eachFamily(t, func(t *testing.T, family conversation.AIProvider) {
		good := llmtest.Round{Text: []string{"Yes."}}
		for name, c := range map[string]struct {
			script []llmtest.Round
			text   string
			code   domain.Code
			asked  int
		}{
			"busy once":          {[]llmtest.Round{{Status: 429}, good}, "Yes.", "", 2},
			"broken twice":       {[]llmtest.Round{{Status: 500}, {Status: 503}, good}, "Yes.", "", 3},
			"always busy":        {[]llmtest.Round{{Status: 429}}, "", domain.CodeRateLimited, 3},
			"always broken":      {[]llmtest.Round{{Status: 500}}, "", conversation.CodeProviderError, 3},
			"refused":            {[]llmtest.Round{{Status: 400}}, "", conversation.CodeProviderError, 1},
			"a wrong key":        {[]llmtest.Round{{Status: 401}}, "", conversation.CodeProviderError, 1},
			"cut after its text": {[]llmtest.Round{{Text: []string{"Ye"}, Cut: llmtest.InText}, good}, "Ye", conversation.CodeProviderError, 1},
		} {
			reply, texts, server, err := heard(t, family, func(n int, _ []byte) llmtest.Round { return c.script[min(n, len(c.script)-1)] })
			asked := len(server.Bodies())
			if reply.Text != c.text || strings.Join(texts, "") != c.text || asked != c.asked || c.code == "" != (err == nil) || err != nil && domain.CodeOf(err) != c.code {
				t.Errorf("%s: %q %q, %v, asked %d times", name, reply.Text, texts, err, asked)
			}
			if err != nil && strings.Contains(err.Error(), "nobody sees") {
				t.Errorf("%s: the provider's text is shown: %v", name, err)
			}
		}
	})
}

func TestABreakerKeepsCallsAwayFromABrokenProvider(t *testing.T) {
	server := llmtest.Serve(t, conversation.ProviderOpenAI, func(int, []byte) llmtest.Round {
		return llmtest.Round{Text: []string{"x"}, Cut: llmtest.InText}
	})
	models := llm.Models{Credentials: credentials{}, Platform: llm.Access{Provider: conversation.ProviderOpenAI, Key: "k", BaseURL: server.URL}}
	round := func(org string) error {
		model, err := models.Model(t.Context(), org)
		if err != nil {
			t.Fatal(err)
		}
		_, err = round(t, model, func(string) {})
		return err
	}
	for range 5 {
		if err := round("acme"); domain.CodeOf(err) != conversation.CodeProviderError {
			t.Fatal(err)
		}
	}
	if err := round("acme"); domain.CodeOf(err) != conversation.CodeProviderError || len(server.Bodies()) != 5 {
		t.Errorf("%v after %d requests; want none after the fifth failure", err, len(server.Bodies()))
	}
	if err := round("globex"); domain.CodeOf(err) != conversation.CodeProviderError || len(server.Bodies()) != 6 {
		t.Errorf("%v after %d requests; another organization has a breaker of its own", err, len(server.Bodies()))
	}
}

func TestTheOrganizationsCredentialComesFirst(t *testing.T) {
	own := credentials{&conversation.AICredential{Provider: conversation.ProviderOpenAI, Model: "their-model"}, "sk-own"}
	server := llmtest.Serve(t, conversation.ProviderOpenAI, func(int, []byte) llmtest.Round { return llmtest.Round{Text: []string{"x"}} })
	platform := llm.Access{Provider: conversation.ProviderOpenAI, Key: "sk-platform", BaseURL: server.URL}
	for n, c := range []struct {
		credentials credentials
		key, model  string
	}{{own, "sk-own", "their-model"}, {credentials{}, "sk-platform", llm.DefaultModel(conversation.ProviderOpenAI)}} {
		models := llm.Models{Credentials: c.credentials, Platform: platform}
		model, err := models.Model(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := round(t, model, func(string) {}); err != nil {
			t.Fatal(err)
		}
		if key := server.Keys()[n]; !strings.Contains(key, c.key) || !strings.Contains(string(server.Bodies()[n]), `"`+c.model+`"`) {
			t.Errorf("key %q, body %s", key, server.Bodies()[n])
		}
	}
	nothing := llm.Models{Credentials: credentials{}, Platform: llm.Access{Provider: conversation.ProviderOpenAI}}
	if _, err := nothing.Model(t.Context(), "acme"); domain.CodeOf(err) != conversation.CodeProviderUnavailable {
		t.Errorf("without any credential: %v", err)
	}
}
