package tools_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc"
	"svc/http/api/apitest"
	"svc/http/route"
)

// made executes a tool as the owner and returns the id of what it made.
func made(t *testing.T, call func(tool, input string) svc.ToolOutcome, tool, input string) string {
	t.Helper()
	outcome := call(tool, input)
	var row struct{ ID string }
	if err := json.Unmarshal(outcome.Body, &row); err != nil || row.ID == "" {
		t.Fatalf("%s: %d %s", tool, outcome.Status, outcome.Body)
	}
	return row.ID
}

// TestTheTierFollowsTheStoredTarget names other environments than that of the target.
func TestTheTierFollowsTheStoredTarget(t *testing.T) {
	registry, _, world := served(t)
	web := svc.AppRef{Org: "acme", App: "web"}
	call := func(tool, input string) svc.ToolOutcome {
		outcome, err := registry.Execute(t.Context(), world.Owner, web, tool, json.RawMessage(input))
		if err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	live := made(t, call, "alerts_put", `{"name":"Live","kind":"new_issue"}`)
	staged := made(t, call, "alerts_put", `{"name":"Staged","kind":"new_issue","env":"staging"}`)
	free := made(t, call, "monitors_put", `{"name":"Free","url":"https://free.example"}`)
	relied := made(t, call, "monitors_put", `{"name":"Relied on","url":"https://relied.example"}`)
	tried := made(t, call, "monitors_put", `{"name":"Tried","url":"https://tried.example"}`)
	made(t, call, "alerts_put", `{"name":"Down","kind":"uptime","threshold":1,"condition":{"monitorId":"`+relied+`"}}`)
	made(t, call, "alerts_put", `{"name":"Down","kind":"uptime","threshold":1,"env":"staging","condition":{"monitorId":"`+tried+`"}}`)
	var issues struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(call("errors_list", `{}`).Body, &issues); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, tool, input string
		want              svc.Effect
		code              svc.Code
	}{
		{"a rule of production", "alerts_put", `{"id":"` + live + `","enabled":false}`, svc.EffectDestructive, ""},
		{"a rule of production under another name", "alerts_put", `{"id":"` + live + `","enabled":false,"env":"staging"}`, svc.EffectDestructive, ""},
		{"the same by a member of the body", "alerts_put", `{"id":"` + live + `","enabled":false,"environment":"staging"}`, svc.EffectDestructive, ""},
		{"a rule of staging", "alerts_put", `{"id":"` + staged + `","enabled":false}`, svc.EffectWrite, ""},
		{"a rule of staging that is called production's", "alerts_put", `{"id":"` + staged + `","enabled":false,"env":"production"}`, svc.EffectWrite, ""},
		{"a new rule", "alerts_put", `{"name":"x"}`, svc.EffectDestructive, ""},
		{"a new rule of staging", "alerts_put", `{"name":"x","env":"staging"}`, svc.EffectWrite, ""},
		{"a new rule of staging that claims production", "alerts_put", `{"name":"x","environment":"staging"}`, svc.EffectDestructive, ""},
		{"no such rule", "alerts_put", `{"id":"rul_none","env":"staging"}`, "", svc.CodeNotFound},
		{"an empty id", "alerts_put", `{"id":"","env":"staging"}`, "", svc.CodeInvalidRequest},
		{"null for an id", "alerts_put", `{"id":null,"env":"staging"}`, "", svc.CodeInvalidRequest},
		{"a list for an id", "alerts_put", `{"id":["` + live + `"],"env":"staging"}`, "", svc.CodeInvalidRequest},
		{"a new monitor", "monitors_put", `{"name":"x","url":"https://x.example"}`, svc.EffectWrite, ""},
		{"a monitor that nothing depends on", "monitors_put", `{"id":"` + free + `","enabled":false}`, svc.EffectWrite, ""},
		{"a monitor that production depends on", "monitors_put", `{"id":"` + relied + `","enabled":false}`, svc.EffectDestructive, ""},
		{"a monitor that staging depends on", "monitors_put", `{"id":"` + tried + `","enabled":false}`, svc.EffectWrite, ""},
		{"an issue of production", "errors_update", `{"issueId":"` + issues.Data[0].ID + `","status":"resolved"}`, svc.EffectDestructive, ""},
		{"the same under another name", "errors_update", `{"issueId":"` + issues.Data[0].ID + `","status":"resolved","env":"staging"}`, svc.EffectDestructive, ""},
		{"no such issue", "errors_update", `{"issueId":"iss_none","status":"resolved","env":"staging"}`, "", svc.CodeNotFound},
		{"a new goal", "goals_create", `{}`, svc.EffectWrite, ""},
		{"the application", "apps_update", `{"name":"x"}`, svc.EffectDestructive, ""},
		{"a read", "alerts_list", `{}`, svc.EffectRead, ""},
	} {
		target, err := registry.Target(t.Context(), world.Owner, web, c.tool, json.RawMessage(c.input))
		if target.Effect != c.want || c.code == "" && err != nil || c.code != "" && svc.CodeOf(err) != c.code {
			t.Errorf("%s: %q %v, want %q %s", c.name, target.Effect, err, c.want, c.code)
		}
	}
}

// TestATargetThatCannotBeReadIsNotJudged has the reads fail and be cut off.
func TestATargetThatCannotBeReadIsNotJudged(t *testing.T) {
	for status, want := range map[int]svc.Code{503: svc.CodeUnavailable, 403: svc.CodeForbidden, 429: svc.CodeRateLimited} {
		registry := registryOver(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]string{"code": string(want), "detail": "No."}) // to memory
		}))
		for tool, input := range map[string]string{
			"alerts_put": `{"id":"rul_1","env":"staging"}`, "monitors_put": `{"id":"mon_1"}`, "errors_update": `{"issueId":"iss_1","env":"staging"}`, "goals_delete": `{"id":"gol_1"}`,
		} {
			if target, err := registry.Target(t.Context(), "", svc.AppRef{Org: "acme", App: "web"}, tool, json.RawMessage(input)); svc.CodeOf(err) != want {
				t.Errorf("%d: %s is judged %+v, %v", status, tool, target, err)
			}
		}
	}
}

// TestWhatIsMeasuredMakesNoOtherTarget holds that a state before holds what people decide
// about, and a preview more.
func TestWhatIsMeasuredMakesNoOtherTarget(t *testing.T) {
	registry, memory, world := served(t)
	web := svc.AppRef{Org: "acme", App: "web"}
	row, err := memory.PutMonitor(t.Context(), web, "", svc.MonitorPatch{Name: new("Home"), URL: new("https://home.example")})
	if err != nil {
		t.Fatal(err)
	}
	target, err := registry.Target(t.Context(), world.Owner, web, "monitors_put", json.RawMessage(`{"id":"`+row.ID+`","enabled":false}`))
	if err != nil {
		t.Fatal(err)
	}
	preview := strings.Join(svc.NewPreview("Change a monitor", target.Shown, json.RawMessage(`{"id":"`+row.ID+`","enabled":false}`)).Lines, "\n")
	for _, line := range []string{`enabled: true → false`, `now name: "Home"`, `now url: "https://home.example"`, `now checks30d: 0`} {
		if !strings.Contains(preview, line) {
			t.Errorf("the preview lacks %s:\n%s", line, preview)
		}
	}
	if _, err := memory.PutMonitor(t.Context(), web, row.ID, svc.MonitorPatch{Name: new("Other")}); err != nil {
		t.Fatal(err)
	}
	if now, err := registry.Target(t.Context(), world.Owner, web, "monitors_put", json.RawMessage(`{"id":"`+row.ID+`","enabled":false}`)); err != nil || svc.SameState(target.Before, now.Before) {
		t.Errorf("a target with another name is the same: %s, %v", now.Before, err)
	}
	if before := string(target.Before); strings.Contains(before, "checks30d") || !strings.Contains(before, `"name":"Home"`) {
		t.Errorf("the state before is %s", before)
	}
}

// TestEveryWriteHasATierByItsTarget fails for a new route whose target nobody judges: each
// write either names what is stored by its path or its body, or makes something. What replaces is destructive,
// but for a funnel, which holds nothing that cannot be entered again.
func TestEveryWriteHasATierByItsTarget(t *testing.T) {
	// errors_updateMany finds its issues in the environment that it names alone.
	// reports_put names a kind and an environment, and makes what is not there.
	makes := []string{"apps_create", "errors_updateMany", "exports_create", "funnels_create", "goals_create", "reports_put"}
	audience := everybody()
	for _, tool := range registry(t).All(&audience) {
		if tool.Effect == svc.EffectWrite && tool.Targeted == slices.Contains(makes, tool.Name) {
			t.Errorf("%s: targeted %v", tool.Name, tool.Targeted)
		}
	}
	for _, row := range apitest.Routes() {
		if row.Surface == route.Manage && row.Method == http.MethodPut && row.Effect != svc.EffectDestructive && row.Operation != "funnels.update" {
			t.Errorf("%s replaces and is %s", row.Operation, row.Effect)
		}
	}
}
