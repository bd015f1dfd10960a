package tools_test

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/monitor"
)

// made executes a tool as the owner and returns the id of the new object.
func made(t *testing.T, call func(tool, input string) conversation.ToolOutcome, tool, input string) string {
	t.Helper()
	outcome := call(tool, input)
	var row struct{ ID string }
	if err := json.Unmarshal(outcome.Body, &row); err != nil || row.ID == "" {
		t.Fatalf("%s: %d %s", tool, outcome.Status, outcome.Body)
	}
	return row.ID
}

// withStoredRows answers the lists that the fakes do not serve.
func withStoredRows(handler http.Handler) http.Handler {
	rows := map[string]string{
		"segments":    `{"id":"seg_asked","name":"Asked"},{"id":"seg_free","name":"Free"}`,
		"silences":    `{"id":"sil_all","environment":null},{"id":"sil_staging","environment":"staging"}`,
		"annotations": `{"id":"ann_staging","environment":"staging"}`,
		"reports":     `{"id":"rep_1","environment":"staging","recipients":["ada@acme.example"]}`,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := rows[path.Base(r.URL.Path)]
		if r.Method != http.MethodGet || list == "" {
			handler.ServeHTTP(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"data":[` + list + `],"nextCursor":null}`)) // Writing to memory cannot fail.
	})
}

// TestTheTierFollowsTheStoredTarget names other environments than the target's.
func TestTheTierFollowsTheStoredTarget(t *testing.T) {
	_, _, world := served(t)
	depended := &dependedOn{}
	registry := registryWith(t, withStoredRows(world.Handler), depended)
	web := domain.AppRef{Org: "acme", App: "web"}
	call := func(tool, input string) conversation.ToolOutcome {
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
	goal := made(t, call, "goals_create", `{"name":"Signup","kind":"event","match":"signup"}`)
	depended.production = []string{"monitor " + relied, "segment seg_asked"}
	var issues struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(call("errors_list", `{}`).Body, &issues); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, tool, input string
		want              conversation.Effect
		code              domain.Code
	}{
		{"a rule of production", "alerts_put", `{"id":"` + live + `","enabled":false}`, conversation.EffectDestructive, ""},
		{"a rule of production under another name", "alerts_put", `{"id":"` + live + `","enabled":false,"env":"staging"}`, conversation.EffectDestructive, ""},
		{"the same by a member of the body", "alerts_put", `{"id":"` + live + `","enabled":false,"environment":"staging"}`, conversation.EffectDestructive, ""},
		{"a rule of staging", "alerts_put", `{"id":"` + staged + `","enabled":false}`, conversation.EffectWrite, ""},
		{"a rule of staging that is called production's", "alerts_put", `{"id":"` + staged + `","enabled":false,"env":"production"}`, conversation.EffectWrite, ""},
		{"a new rule", "alerts_put", `{"name":"x"}`, conversation.EffectDestructive, ""},
		{"a new rule of staging", "alerts_put", `{"name":"x","env":"staging"}`, conversation.EffectWrite, ""},
		{"a new rule of staging that claims production", "alerts_put", `{"name":"x","environment":"staging"}`, conversation.EffectDestructive, ""},
		{"no such rule", "alerts_put", `{"id":"rul_none","env":"staging"}`, "", domain.CodeNotFound},
		{"an empty id", "alerts_put", `{"id":"","env":"staging"}`, "", domain.CodeInvalidRequest},
		{"null for an id", "alerts_put", `{"id":null,"env":"staging"}`, "", domain.CodeInvalidRequest},
		{"a list for an id", "alerts_put", `{"id":["` + live + `"],"env":"staging"}`, "", domain.CodeInvalidRequest},
		{"C a new monitor", "monitors_put", `{"name":"x","url":"https://x.example"}`, conversation.EffectExternal, ""},
		{"C a new monitor of a known address", "monitors_put", `{"name":"x","url":"https://free.example"}`, conversation.EffectWrite, ""},
		{"C another address for a monitor", "monitors_put", `{"id":"` + free + `","url":"https://x.example/?q=1"}`, conversation.EffectExternal, ""},
		{"C the same address for a monitor", "monitors_put", `{"id":"` + free + `","url":"https://free.example","name":"y"}`, conversation.EffectWrite, ""},
		{"C an address that is no text", "monitors_put", `{"id":"` + free + `","url":["https://x.example"]}`, conversation.EffectExternal, ""},
		{"C another address in staging", "monitors_put", `{"name":"x","url":"https://x.example","env":"staging"}`, conversation.EffectExternal, ""},
		{"a monitor that nothing depends on", "monitors_put", `{"id":"` + free + `","enabled":false}`, conversation.EffectWrite, ""},
		{"a monitor that production depends on", "monitors_put", `{"id":"` + relied + `","enabled":false}`, conversation.EffectDestructive, ""},
		{"a monitor that staging depends on", "monitors_put", `{"id":"` + tried + `","enabled":false}`, conversation.EffectWrite, ""},
		{"C a silence of everything", "silences_put", `{"name":"x","endsAt":"2026-11-21T12:00:00Z"}`, conversation.EffectDestructive, ""},
		{"C a silence whose environment is null", "silences_put", `{"name":"x","environment":null,"endsAt":"2026-11-21T12:00:00Z"}`, conversation.EffectDestructive, ""},
		{"C a silence whose environment is empty", "silences_put", `{"name":"x","environment":"","endsAt":"2026-11-21T12:00:00Z"}`, conversation.EffectDestructive, ""},
		{"C a silence of production", "silences_put", `{"name":"x","environment":"production","endsAt":"2026-11-21T12:00:00Z"}`, conversation.EffectDestructive, ""},
		{"C a silence of one rule", "silences_put", `{"name":"x","ruleId":"` + live + `","endsAt":"2026-11-21T12:00:00Z"}`, conversation.EffectDestructive, ""},
		{"a silence of staging", "silences_put", `{"name":"x","environment":"staging","endsAt":"2026-11-21T12:00:00Z"}`, conversation.EffectWrite, ""},
		{"C a silence of staging that becomes one of everything", "silences_put", `{"id":"sil_staging","environment":null}`, conversation.EffectDestructive, ""},
		{"C a silence of everything that is narrowed to staging", "silences_put", `{"id":"sil_all","environment":"staging"}`, conversation.EffectDestructive, ""},
		{"a silence of staging that is renamed", "silences_put", `{"id":"sil_staging","name":"y"}`, conversation.EffectWrite, ""},
		{"C a mark on all environments", "annotations_put", `{"title":"x"}`, conversation.EffectDestructive, ""},
		{"a mark on staging", "annotations_put", `{"title":"x","environment":"staging"}`, conversation.EffectWrite, ""},
		{"C a mark on staging that moves to all", "annotations_put", `{"id":"ann_staging","environment":null}`, conversation.EffectDestructive, ""},
		{"C a segment that a flag of production asks for", "segments_put", `{"id":"seg_asked","name":"x","env":"staging"}`, conversation.EffectDestructive, ""},
		{"a segment that nothing of production asks for", "segments_put", `{"id":"seg_free","name":"x"}`, conversation.EffectWrite, ""},
		{"a new segment", "segments_put", `{"name":"x"}`, conversation.EffectWrite, ""},
		{"C a report to a new address in staging", "reports_put", `{"kind":"monthly","env":"staging","recipients":["eve@evil.example"]}`, conversation.EffectExternal, ""},
		{"C a report to a known and a new address", "reports_put", `{"kind":"weekly","env":"staging","recipients":["ada@acme.example","eve@evil.example"]}`, conversation.EffectExternal, ""},
		{"a report of staging to a known address", "reports_put", `{"kind":"weekly","env":"staging","recipients":["ada@acme.example"]}`, conversation.EffectWrite, ""},
		{"C a report of production to a known address", "reports_put", `{"kind":"weekly","recipients":["ada@acme.example"]}`, conversation.EffectDestructive, ""},
		{"C an export without an environment", "exports_create", `{"kind":"events"}`, conversation.EffectDestructive, ""},
		{"C an export whose environment is null", "exports_create", `{"kind":"events","env":null}`, conversation.EffectDestructive, ""},
		{"C an export whose environment is a list", "exports_create", `{"kind":"events","env":["staging"]}`, conversation.EffectDestructive, ""},
		{"an export of staging", "exports_create", `{"kind":"events","env":"staging"}`, conversation.EffectWrite, ""},
		{"C issues without an environment", "errors_updateMany", `{"ids":["iss_1"],"status":"resolved"}`, conversation.EffectDestructive, ""},
		{"a goal on which nothing depends", "goals_update", `{"id":"` + goal + `","name":"x"}`, conversation.EffectWrite, ""},
		{"an issue of production", "errors_update", `{"issueId":"` + issues.Data[0].ID + `","status":"resolved"}`, conversation.EffectDestructive, ""},
		{"the same under another name", "errors_update", `{"issueId":"` + issues.Data[0].ID + `","status":"resolved","env":"staging"}`, conversation.EffectDestructive, ""},
		{"no such issue", "errors_update", `{"issueId":"iss_none","status":"resolved","env":"staging"}`, "", domain.CodeNotFound},
		{"a new goal", "goals_create", `{}`, conversation.EffectWrite, ""},
		{"the application", "apps_update", `{"name":"x"}`, conversation.EffectDestructive, ""},
		{"a read", "alerts_list", `{}`, conversation.EffectRead, ""},
		{"a read of production", "events_list", `{"env":"production"}`, conversation.EffectRead, ""},
	} {
		target, err := registry.Target(t.Context(), world.Owner, web, c.tool, json.RawMessage(c.input))
		if target.Effect != c.want || c.code == "" && err != nil || c.code != "" && domain.CodeOf(err) != c.code {
			t.Errorf("%s: %q %v, want %q %s", c.name, target.Effect, err, c.want, c.code)
		}
	}
}

// TestATargetThatCannotBeReadIsNotJudged lets the reads fail and be cut off.
func TestATargetThatCannotBeReadIsNotJudged(t *testing.T) {
	for status, want := range map[int]domain.Code{503: domain.CodeUnavailable, 403: domain.CodeForbidden, 429: domain.CodeRateLimited} {
		registry := registryOver(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]string{"code": string(want), "detail": "No."}) // Writing to memory cannot fail.
		}))
		for tool, input := range map[string]string{
			"alerts_put": `{"id":"rul_1","env":"staging"}`, "monitors_put": `{"id":"mon_1"}`, "errors_update": `{"issueId":"iss_1","env":"staging"}`, "goals_delete": `{"id":"gol_1"}`,
		} {
			if target, err := registry.Target(t.Context(), "", domain.AppRef{Org: "acme", App: "web"}, tool, json.RawMessage(input)); domain.CodeOf(err) != want {
				t.Errorf("%d: %s is judged %+v, %v", status, tool, target, err)
			}
		}
	}
}

// TestWhatIsMeasuredMakesNoOtherTarget checks that a state before a call contains only members that people decide
// about, and a preview more.
func TestWhatIsMeasuredMakesNoOtherTarget(t *testing.T) {
	registry, memory, world := served(t)
	web := domain.AppRef{Org: "acme", App: "web"}
	row, err := memory.PutMonitor(t.Context(), web, "", monitor.Patch{Name: new("Home"), URL: new("https://home.example")})
	if err != nil {
		t.Fatal(err)
	}
	target, err := registry.Target(t.Context(), world.Owner, web, "monitors_put", json.RawMessage(`{"id":"`+row.ID+`","enabled":false}`))
	if err != nil {
		t.Fatal(err)
	}
	preview := strings.Join(conversation.NewPreview("Change a monitor", target.Shown, json.RawMessage(`{"id":"`+row.ID+`","enabled":false}`)).Lines, "\n")
	for _, line := range []string{`enabled: true → false`, `now name: "Home"`, `now url: "https://home.example"`, `now checks30d: 0`} {
		if !strings.Contains(preview, line) {
			t.Errorf("the preview lacks %s:\n%s", line, preview)
		}
	}
	if _, err := memory.PutMonitor(t.Context(), web, row.ID, monitor.Patch{Name: new("Other")}); err != nil {
		t.Fatal(err)
	}
	if now, err := registry.Target(t.Context(), world.Owner, web, "monitors_put", json.RawMessage(`{"id":"`+row.ID+`","enabled":false}`)); err != nil || conversation.SameState(target.Before, now.Before) {
		t.Errorf("a target with another name is the same: %s, %v", now.Before, err)
	}
	if before := string(target.Before); strings.Contains(before, "checks30d") || !strings.Contains(before, `"name":"Home"`) {
		t.Errorf("the state before is %s", before)
	}
}
