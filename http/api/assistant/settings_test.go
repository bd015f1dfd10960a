package assistant_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/domain/conversation"
	"svc/http/api/apitest"
	"svc/http/route"
)

// consoled sends a request to the console of a world and returns status and answer.
func consoled(t *testing.T, world *apitest.World, method, path, body string) (int, map[string]any) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "/console/api/v1"+path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+world.Session.Reveal())
	request.Header.Set("Content-Type", "application/json")
	response := httptest.NewRecorder()
	world.Handler.ServeHTTP(response, request)
	var answer map[string]any
	if err := json.Unmarshal(response.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%s %s: %d %s", method, path, response.Code, response.Body)
	}
	return response.Code, answer
}

// TestNothingUnknownLiftsADenial sends policies that deny less than they seem to.
func TestNothingUnknownLiftsADenial(t *testing.T) {
	world := apitest.NewMemory(apitest.Noon).Fill(t)
	const path, strict = "/orgs/acme/ai/policy", `{"deniedTools":["goals_create"],"deniedEffects":["external"],"maxScope":"read","monthlyBudget":1000}`
	if status, answer := consoled(t, &world, "PUT", path, strict); status != 200 {
		t.Fatalf("%d %v", status, answer)
	}
	for body, field := range map[string]string{
		`{"denyTools":["goals_create"]}`:                    "denyTools",
		`{"deniedtools":["goals_create"]}`:                  "deniedtools",
		`{"policy":` + strict + `}`:                         "policy",
		`{"deniedTools":["nope"]}`:                          "deniedTools[0]",
		`{"deniedTools":["goals_create","goals.list"]}`:     "deniedTools[1]",
		`{"deniedEffects":["nope"]}`:                        "deniedEffects",
		`{"deniedTools":["goals_create"],"deniedTools":[]}`: "deniedTools",
	} {
		status, answer := consoled(t, &world, "PUT", path, body)
		problems, _ := answer["errors"].([]any)
		if status != 400 || len(problems) != 1 || problems[0].(map[string]any)["field"] != field {
			t.Errorf("%s: %d %v", body, status, answer)
		}
		_, now := consoled(t, &world, "GET", "/orgs/acme/ai", "")
		if got, _ := json.Marshal(now["policy"]); conversation.CanonicalJSON(got) != conversation.CanonicalJSON([]byte(strict)) {
			t.Fatalf("%s: the policy is %s", body, got)
		}
	}
	if status, answer := consoled(t, &world, "PUT", path, `{"deniedTools":["goals_list"]}`); status != 200 || answer["policy"].(map[string]any)["monthlyBudget"] != nil {
		t.Errorf("what is absent is not restricted: %d %v", status, answer)
	}
}

// TestEveryReplacementIsStrict checks every row of the table that replaces.
func TestEveryReplacementIsStrict(t *testing.T) {
	world := apitest.NewMemory(apitest.Noon).Fill(t)
	fill := strings.NewReplacer("{org}", "acme", "{app}", "web", "{email}", "new@acme.example")
	seen := 0
	for _, row := range apitest.Routes() {
		if row.Method != http.MethodPut || row.Surface != route.Console || strings.Contains(row.Path, "{tool}") {
			continue
		}
		seen++
		status, answer := consoled(t, &world, "PUT", fill.Replace(row.Path), `{"surprise":1}`)
		if encoded, _ := json.Marshal(answer["errors"]); status != 400 || !strings.Contains(string(encoded), `"field":"surprise"`) {
			t.Errorf("%s: %d %v", row.Operation, status, answer)
		}
	}
	if seen < 3 {
		t.Errorf("%d replacements were tried", seen)
	}
}
