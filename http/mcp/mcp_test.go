package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/conversation"
)

// TestTheListAtRest checks that the default list, which every client reads at once, is below 3,000 tokens at four bytes
// each.
func TestTheListAtRest(t *testing.T) {
	w := newWorld(t)
	got := w.ask(t, w.Owner, "tools/list", map[string]any{})
	golden(t, "list.golden", got.Result)
	if encoded := mustJSON(t, got.Result); len(encoded)/4 >= 3000 {
		t.Errorf("the list takes %d bytes", len(encoded))
	}
}

func TestWhatIsListed(t *testing.T) {
	w := newWorld(t)
	base := []string{"find_tools", "call_read"}
	for _, c := range []struct {
		name  string
		token domain.Secret
		path  string
		has   []string
		lacks []string
	}{
		{"an owner", w.Owner, "/mcp?tools=all", append(base, "call_write", "get_error", "goals_create", "keys_list", "apps_update"), []string{"ai_actions", "keys_create", "ai_ask", "me_revokeToken"}},
		{"a reader", w.Reader, "/mcp?tools=all", append(base, "get_error", "goals_list"), []string{"call_write", "goals_create", "keys_list"}},
		{"an organization", w.Organization, "/mcp?tools=all", append(base, "call_write", "goals_create"), nil},
		{"an owner at rest", w.Owner, "/mcp", append(base, "call_write", "get_error", "analytics_overview"), []string{"goals_create", "events_list"}},
	} {
		names := w.names(t, c.path, c.token)
		for _, name := range c.has {
			if !slices.Contains(names, name) {
				t.Errorf("%s lacks %s in %v", c.name, name, names)
			}
		}
		for _, name := range c.lacks {
			if slices.Contains(names, name) {
				t.Errorf("%s has %s", c.name, name)
			}
		}
	}
}

// TestTheAssistantIsNoToolOfAgents lists everything while all modules are on.
func TestTheAssistantIsNoToolOfAgents(t *testing.T) {
	w := newWorld(t)
	modules := domain.Modules()
	if _, err := w.memory.Update(t.Context(), domain.AppRef{Org: "acme", App: "web"}, domain.AppPatch{Modules: &modules}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range w.names(t, "/mcp?tools=all", w.Owner) {
		if strings.HasPrefix(name, "ai_") {
			t.Errorf("%s is listed", name)
		}
	}
	if got, failed := w.call(t, w.Owner, "call_read", map[string]any{"tool": "ai_conversations", "arguments": map[string]any{}}); !failed || codeOf(got) != "invalid_request" {
		t.Errorf("%v", got)
	}
}

func TestModulesAndRulesHideTools(t *testing.T) {
	w := newWorld(t)
	modules := []domain.Module{domain.ModuleAnalytics}
	if _, err := w.memory.Update(t.Context(), domain.AppRef{Org: "acme", App: "web"}, domain.AppPatch{Modules: &modules}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.ports.Assistant.Settings.PutPolicy(t.Context(), "acme", conversation.AIPolicy{DeniedTools: []string{"analytics_overview"}, DeniedEffects: []conversation.Effect{conversation.EffectDestructive}}); err != nil {
		t.Fatal(err)
	}
	names := w.names(t, "/mcp?tools=all", w.Owner)
	for name, want := range map[string]bool{"errors_list": false, "get_error": false, "analytics_overview": false, "goals_delete": false, "goals_create": true, "analytics_breakdown": true} {
		if slices.Contains(names, name) != want {
			t.Errorf("%s listed: %v, want %v", name, !want, want)
		}
	}
	for tool, want := range map[string]struct {
		arguments map[string]any
		code      string
	}{
		"analytics_overview": {map[string]any{}, "forbidden"},
		"goals_delete":       {map[string]any{"id": "gol_1"}, "forbidden"},
		"errors_list":        {map[string]any{}, "module_disabled"},
	} {
		got, failed := w.call(t, w.Owner, tool, want.arguments)
		if code := codeOf(got); !failed || code != want.code {
			t.Errorf("%s: %v %v", tool, failed, got)
		}
	}
	if len(w.proposals.calls) != 0 {
		t.Errorf("what is denied was proposed: %v", w.proposals.calls)
	}
}

// codeOf finds the code of a refusal by the route or by this server.
func codeOf(content map[string]any) string {
	if data, ok := content["data"].(map[string]any); ok {
		content = data
	}
	code, _ := content["code"].(string)
	return code
}

func TestCalls(t *testing.T) {
	w := newWorld(t)
	through := func(tool string, arguments map[string]any) map[string]any {
		return map[string]any{"tool": tool, "arguments": arguments}
	}
	for _, c := range []struct {
		name, tool string
		token      domain.Secret
		arguments  map[string]any
		status     int
		code       string
	}{
		{"a route by its name", "analytics_overview", w.Owner, map[string]any{"app": "acme/web", "range": "7d"}, 200, ""},
		{"the only application", "analytics_overview", w.Owner, map[string]any{}, 200, ""},
		{"the only organization", "apps_list", w.Organization, map[string]any{}, 200, ""},
		{"a route that needs no place", "me_get", w.Reader, map[string]any{}, 200, ""},
		{"a read through its door", "call_read", w.Reader, through("events_list", map[string]any{"limit": 2}), 200, ""},
		{"a write through its door", "call_write", w.Owner, through("goals_create", map[string]any{"name": "Signups", "kind": "event", "match": "signup"}), 201, ""},
		{"a write through the wrong door", "call_read", w.Owner, through("goals_create", map[string]any{"name": "x", "kind": "event", "match": "y"}), 400, "invalid_request"},
		{"a read through the wrong door", "call_write", w.Owner, through("goals_list", nil), 400, "invalid_request"},
		{"an unknown tool through a door", "call_read", w.Owner, through("no_such", nil), 400, "invalid_request"},
		{"arguments that are no object", "call_read", w.Owner, map[string]any{"tool": "goals_list", "arguments": []int{1}}, 400, "invalid_request"},
		{"a write without the right", "goals_create", w.Viewer, map[string]any{"name": "x", "kind": "event", "match": "y"}, 403, "forbidden"},
		{"a write without the scope", "goals_create", w.Reader, map[string]any{"name": "x", "kind": "event", "match": "y"}, 403, "forbidden"},
		{"a foreign application", "apps_get", w.Owner, map[string]any{"app": "globex/shop"}, 404, "not_found"},
		{"no such application", "apps_get", w.Owner, map[string]any{"app": "acme/none"}, 404, "not_found"},
		{"half an address", "apps_get", w.Owner, map[string]any{"app": "acme"}, 400, "invalid_request"},
		{"a path for an address", "apps_get", w.Owner, map[string]any{"app": "acme/web/keys"}, 400, "invalid_request"},
		{"a parent for an address", "apps_get", w.Owner, map[string]any{"app": "acme/.."}, 400, "invalid_request"},
		{"an unknown member", "goals_list", w.Owner, map[string]any{"app": "acme/web", "org": "globex"}, 400, "invalid_request"},
		{"an invalid range", "analytics_overview", w.Owner, map[string]any{"range": "eternity"}, 400, "invalid_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, failed := w.call(t, c.token, c.tool, c.arguments)
			if got["status"] != float64(c.status) || codeOf(got) != c.code || failed != (c.status >= 400) {
				t.Errorf("%v %v", failed, got)
			}
		})
	}
	if rows := w.memory.Audit(); len(rows) != 3 || rows[0].Operation != "goals.create" || rows[0].Status != 201 || rows[1].Status != 403 {
		t.Errorf("the audit rows are %+v", rows)
	}
	if got := w.ask(t, w.Owner, "tools/call", map[string]any{"name": "keys_create", "arguments": map[string]any{}}); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("a tool out of reach: %+v", got)
	}
}

func TestSeveralApplicationsMustBeNamed(t *testing.T) {
	w := newWorld(t)
	if _, err := w.memory.Create(t.Context(), "acme", domain.AppSpec{Name: "Blog", Timezone: "UTC", Modules: []domain.Module{domain.ModuleAnalytics}}); err != nil {
		t.Fatal(err)
	}
	got, failed := w.call(t, w.Owner, "apps_get", map[string]any{})
	want := []any{map[string]any{"field": "app", "code": "invalid_value", "message": `Name the application in "app".`, "allowed": []any{"acme/blog", "acme/web"}}}
	if !failed || fmt.Sprint(got["errors"]) != fmt.Sprint(want) {
		t.Errorf("%v", got)
	}
	greeted := w.ask(t, w.Owner, "initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}})
	if text, _ := greeted.Result["instructions"].(string); !strings.HasSuffix(text, "Applications: acme/blog, acme/web.") {
		t.Errorf("the instructions are %q", text)
	}
}

// TestOneOrganizationKeepsNobodyFromTheOthers uses a person with two organizations, one of which does not answer.
func TestOneOrganizationKeepsNobodyFromTheOthers(t *testing.T) {
	w := newWorld(t)
	if _, err := w.memory.OfferSeat(t.Context(), "globex", domain.RoleOwner, domain.User{}, domain.MemberSpec{Email: "ada@acme.example", Role: domain.RoleAdmin}); err != nil {
		t.Fatal(err)
	}
	person, _ := w.call(t, w.Owner, "me_get", map[string]any{})
	ada := domain.User{ID: person["data"].(map[string]any)["user"].(map[string]any)["id"].(string), Email: "ada@acme.example", Name: "Ada"}
	if _, err := w.memory.AcceptOffer(t.Context(), ada, "globex"); err != nil {
		t.Fatal(err)
	}
	w.broken["globex"] = true
	if names := w.names(t, "/mcp?tools=all", w.Owner); !slices.Contains(names, "goals_create") {
		t.Errorf("listed: %v", names)
	}
	if got, failed := w.call(t, w.Owner, "analytics_overview", map[string]any{"app": "acme/web"}); failed {
		t.Errorf("%v", got)
	}
	if got, failed := w.call(t, w.Owner, "goals_create", map[string]any{"name": "x", "kind": "event", "match": "y"}); !failed || codeOf(got) != "invalid_request" {
		t.Errorf("an application was chosen though there may be others: %v", got)
	}
	if got, failed := w.call(t, w.Owner, "apps_get", map[string]any{"app": "globex/shop"}); !failed {
		t.Errorf("what models may do there is not known: %v", got)
	}
	w.broken["acme"] = true
	if got := w.ask(t, w.Owner, "tools/list", map[string]any{}); got.Error == nil {
		t.Errorf("%v", got.Result)
	}
}

// TestWhatReachesDeepIsProposed makes calls that destroy data or change production.
func TestWhatReachesDeepIsProposed(t *testing.T) {
	w := newWorld(t)
	modules := domain.Modules()
	if _, err := w.memory.Update(t.Context(), domain.AppRef{Org: "acme", App: "web"}, domain.AppPatch{Modules: &modules}, nil); err != nil {
		t.Fatal(err)
	}
	got, failed := w.call(t, w.Owner, "call_write", map[string]any{"tool": "goals_delete", "arguments": map[string]any{"app": "acme/web", "id": "gol_1"}})
	if failed || got["executed"] != false || got["action"].(map[string]any)["id"] != "act_1" {
		t.Errorf("%v %v", failed, got)
	}
	listed, _ := w.call(t, w.Owner, "errors_list", map[string]any{})
	issue := listed["data"].(map[string]any)["data"].([]any)[0].(map[string]any)["id"].(string)
	ref := domain.AppRef{Org: "acme", App: "web"}
	app, err := w.memory.Get(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	production, _ := app.Environment("")
	rule, err := w.memory.PutRule(t.Context(), ref, "", production, alert.Patch{Name: new("Live"), Kind: new(alert.NewIssue)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		tool      string
		arguments map[string]any
	}{
		"an issue of production":                     {"errors_update", map[string]any{"issueId": issue, "status": "resolved"}},
		"an issue of production under another name":  {"errors_update", map[string]any{"issueId": issue, "status": "resolved", "env": "staging"}},
		"a rule of production":                       {"alerts_put", map[string]any{"id": rule.ID, "enabled": false}},
		"a rule of production under another name":    {"alerts_put", map[string]any{"id": rule.ID, "enabled": false, "env": "staging"}},
		"a rule of production that a door is put to": {"call_write", map[string]any{"tool": "alerts_put", "arguments": map[string]any{"id": rule.ID, "enabled": false, "env": "staging"}}},
	} {
		if got, failed := w.call(t, w.Owner, c.tool, c.arguments); failed || got["executed"] != false {
			t.Errorf("%s: %v", name, got)
		}
	}
	if rules, err := w.memory.Rules(t.Context(), ref); err != nil || !rules[0].Enabled {
		t.Errorf("the rule was changed: %+v, %v", rules, err)
	}
	for _, c := range []map[string]any{{"issueId": "iss_1", "status": "resolved"}, {"issueId": "iss_1", "status": "resolved", "env": "staging"}} {
		if got, failed := w.call(t, w.Owner, "errors_update", c); !failed || got["status"] != 404.0 {
			t.Errorf("an issue that is not there: %v", got)
		}
	}
	if len(w.proposals.calls) != 6 || string(w.proposals.calls[0].Input) != `{"id":"gol_1"}` || w.proposals.origins[0] != "Proposed over MCP by a client: goals_delete" {
		t.Errorf("proposed %v %v", w.proposals.calls, w.proposals.origins)
	}
	for _, row := range w.memory.Audit() {
		if row.Operation == "goals.delete" {
			t.Errorf("it was executed: %+v", row)
		}
	}
}

func TestWithoutTheAssistantNothingIsProposed(t *testing.T) {
	w := newWorld(t)
	got, failed := w.call(t, w.Owner, "goals_delete", map[string]any{"id": "gol_1"})
	if !failed || got["code"] != "forbidden" || got["reason"] != "approval_required" || len(w.proposals.calls) != 0 {
		t.Errorf("%v %v", got, w.proposals.calls)
	}
}

func TestGetError(t *testing.T) {
	w := newWorld(t)
	listed, _ := w.call(t, w.Owner, "errors_list", map[string]any{"status": "all"})
	row := listed["data"].(map[string]any)["data"].([]any)[0].(map[string]any)
	events, _ := w.call(t, w.Owner, "errors_events", map[string]any{"issueId": row["id"]})
	event := events["data"].(map[string]any)["data"].([]any)[0].(map[string]any)
	issue, failed := w.call(t, w.Owner, "get_error", map[string]any{"issueId": row["id"]})
	if failed || issue["tool"] != "errors_get" || issue["data"].(map[string]any)["title"] != row["title"] {
		t.Errorf("the issue is %v", issue)
	}
	occurrence, failed := w.call(t, w.Owner, "call_read", map[string]any{"tool": "get_error", "arguments": map[string]any{"issueId": row["id"], "eventId": event["id"]}})
	if failed || occurrence["tool"] != "errors_event" || occurrence["data"].(map[string]any)["id"] != event["id"] {
		t.Errorf("the occurrence is %v", occurrence)
	}
	if missing, failed := w.call(t, w.Owner, "get_error", map[string]any{"issueId": row["id"], "eventId": "evt_none"}); !failed || missing["status"] != 404.0 {
		t.Errorf("%v", missing)
	}
	if masked, _ := w.call(t, w.Viewer, "get_error", map[string]any{"issueId": row["id"], "eventId": event["id"]}); strings.Contains(string(mustJSON(t, masked)), "@example.com") {
		t.Errorf("a viewer reads %v", masked)
	}
}

func TestToolsAreFoundByWhatTheyDo(t *testing.T) {
	w := newWorld(t)
	got, failed := w.call(t, w.Owner, "find_tools", map[string]any{"query": "create a goal", "limit": 1})
	golden(t, "find.golden", got)
	if failed {
		t.Error("it is an error")
	}
	if got, _ := w.call(t, w.Reader, "find_tools", map[string]any{"query": "create a goal"}); strings.Contains(string(mustJSON(t, got)), "goals_create") {
		t.Errorf("a reader finds %v", got)
	}
	if got, _ := w.call(t, w.Owner, "find_tools", map[string]any{"query": "qwertz"}); got["hint"] == nil || len(got["tools"].([]any)) != 0 {
		t.Errorf("nonsense finds %v", got)
	}
	if got, failed := w.call(t, w.Owner, "find_tools", map[string]any{"query": "goals", "limit": 21}); !failed || codeOf(got) != "invalid_request" {
		t.Errorf("%v", got)
	}
}

func TestThePagesAreResources(t *testing.T) {
	w := newWorld(t)
	listed := w.ask(t, w.Reader, "resources/list", nil)
	pages := w.ports.Docs.Pages()
	if got := listed.Result["resources"].([]any); len(got) != len(pages) || got[0].(map[string]any)["uri"] != "svc://docs/"+pages[0].Slug {
		t.Errorf("%d resources, %d pages: %v", len(got), len(pages), got[0])
	}
	for i := range pages {
		read := w.ask(t, w.Reader, "resources/read", map[string]any{"uri": "svc://docs/" + pages[i].Slug})
		if read.Error != nil {
			t.Errorf("%s: %+v", pages[i].Slug, read.Error)
			continue
		}
		content := read.Result["contents"].([]any)[0].(map[string]any)
		if content["text"] != pages[i].Markdown || content["mimeType"] != "text/markdown" {
			t.Errorf("%s: %.80v", pages[i].Slug, content)
		}
	}
	for _, uri := range []string{"svc://docs/none", "svc://docs/", "svc://docs/../me", "svc://other", "file:///etc/passwd"} {
		if read := w.ask(t, w.Reader, "resources/read", map[string]any{"uri": uri}); read.Error == nil || read.Error.Code != -32602 {
			t.Errorf("%s: %+v", uri, read)
		}
	}
	templates := w.ask(t, w.Reader, "resources/templates/list", nil)
	if got := templates.Result["resourceTemplates"].([]any)[0].(map[string]any)["uriTemplate"]; got != "svc://docs/{+slug}" {
		t.Errorf("the template is %v", got)
	}
}
