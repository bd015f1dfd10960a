package flags

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"

	"svc/domain/flag"
)

// conditional are flags that read every field that a context may contain.
func conditional() map[string]flag.Spec {
	specs := many(3, 2)
	all := 100.0
	for n, condition := range []flag.Condition{
		{Field: "trait.plan", Op: "in", Value: []any{"a", "b"}},
		{Field: "property.amount", Op: "gt", Value: 7.0},
		{Field: "tag", Op: "contains", Value: "vip"},
		{Field: "trait.since", Op: "within_days", Value: 3.0},
		{Field: "country", Op: "neq", Value: "DE"},
		{Field: "company", Op: "exists", Value: true},
		{Field: "property.name", Op: "starts_with", Value: "a"},
	} {
		specs["looks-at-"+string(rune('a'+n))] = flag.Spec{
			Name: "Looks", Kind: flag.Boolean, Rules: []flag.Rule{{ID: "r", Conditions: []flag.Condition{condition}, Variant: "on"}},
			Environments: map[string]flag.Switch{"production": {Enabled: true, RolloutPercent: &all}},
		}
	}
	return specs
}

// FuzzRequests sends any body to every protocol: the service answers it, or refuses it with a reason that names the
// problem. It never fails, and an answer is JSON.
func FuzzRequests(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	definitions := &defined{}
	definitions.define(f, conditional())
	handler := serving(f, definitions)
	paths := []string{"/api/v1/flags/evaluate", "/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/flag-1", "/ofrep/v1/evaluate/flags/none", "/flags?v=2", "/decide?v=3", "/decide?v=4"}
	for _, seed := range []string{
		`{"distinctId":"u","context":{"plan":"a","amount":8,"tags":["vip"],"since":"2026-01-01T00:00:00Z","country":"FR"},"keys":["flag-1"]}`,
		`{"context":{"targetingKey":"u","company":{"id":1},"amount":"1e309","name":null}}`, `{"token":"public","distinct_id":7,"person_properties":{"plan":"b"},"groups":{"company":"x"},"flag_keys_to_evaluate":["none"]}`,
		`{"context":{"targetingKey":"\ud800"}}`, `{"distinctId":`, `[]`, ``, "\x1f\x8b\x00", `data=eyJkaXN0aW5jdF9pZCI6InUifQ%3D%3D`, strings.Repeat(`{"context":`, 40), strings.Repeat("[", 1<<20), `{"distinctId":"u","context":{"amount":-0.0e-400}}`,
	} {
		for path := range paths {
			f.Add(uint8(path), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, path uint8, body []byte) {
		where := paths[int(path)%len(paths)]
		request := httptest.NewRequest(http.MethodPost, where, strings.NewReader(string(body)))
		request.Header.Set("Authorization", "Bearer public")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		text := answer.Body.String()
		switch {
		case answer.Code == http.StatusOK:
			if !json.Valid([]byte(text)) {
				t.Fatalf("%s answers what is not JSON: %s", where, text)
			}
		case answer.Code == http.StatusNotFound && strings.Contains(text, "FLAG_NOT_FOUND"), answer.Code == http.StatusUnauthorized:
		case answer.Code != http.StatusBadRequest:
			t.Fatalf("%s answers %d: %s", where, answer.Code, text)
		case strings.HasPrefix(where, "/ofrep"):
			if !strings.Contains(text, `"errorCode"`) && !strings.Contains(text, `"errors"`) {
				t.Fatalf("%s does not say what is wrong: %s", where, text)
			}
		case strings.HasPrefix(where, "/api") && !strings.Contains(text, `"code"`), text == "":
			t.Fatalf("%s does not say what is wrong: %s", where, text)
		}
	})
}
