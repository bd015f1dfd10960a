package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc/domain/export"
	"svc/http/route"
)

// TestAnApplicationsPersonalFieldsAreMaskedEverywhere lets an application treat a name as personal that is on no list. It
// plants a value without a shape under the name, in several spellings, and looks for it in the rows that read, in the tools
// of models, in previews and in exports.
func TestAnApplicationsPersonalFieldsAreMaskedEverywhere(t *testing.T) {
	const value = "orchid-seventeen"
	s := startServer(t, t.TempDir(), watched())
	if got := s.call("PATCH", appPath, s.boot.Token, []byte(`{"personalFields":["loyaltyNumber"]}`), nil); got.status != 200 {
		t.Fatalf("setting the fields: %d %s", got.status, got.body)
	}
	told := map[string]any{"loyalty_number": value, "plan": "pro", "club": map[string]any{"loyaltyNumber": value, "since": 2020}, "cards": []any{map[string]any{"LOYALTY-NUMBER": value}}}
	s.send(
		map[string]any{"type": "identify", "id": "own-1", "distinctId": "ada", "traits": told},
		map[string]any{"type": "event", "id": "own-2", "name": "checkout", "distinctId": "ada", "properties": told},
		map[string]any{"type": "group", "id": "own-3", "distinctId": "ada", "groupId": "acme", "traits": map[string]any{"name": "Acme", "loyaltyNumber": value}},
	)
	s.report(map[string]any{"name": "OwnError", "message": "no card", "distinctId": "ada", "extra": map[string]any{"customer": told}, "tags": map[string]any{"loyaltyNumber": value}})
	s.settled()
	ids := map[string]string{}
	eventually(t, "the person and the error are found", func() error {
		rows := s.get(appPath + "/people")["data"].([]any)
		issues, _ := s.listed("status=all")
		if len(rows) != 1 || len(issues) != 1 {
			return fmt.Errorf("%d people, %d issues", len(rows), len(issues))
		}
		ids["person"], ids["issue"] = rows[0].(map[string]any)["id"].(string), issues[0]["id"].(string)
		ids["occurrence"] = s.get(errorsPath + "/" + ids["issue"] + "/events")["data"].([]any)[0].(map[string]any)["id"].(string)
		return nil
	})
	viewer := s.viewerToken(t)
	shows := func(body []byte) bool { return bytes.Contains(body, []byte(value)) }
	seen := map[string]bool{}
	look := func(what, method, path string, body []byte) {
		t.Helper()
		header := map[string]string{"Accept": "application/json, text/event-stream"}
		if got := s.call(method, path, viewer, body, header); shows(got.body) {
			t.Errorf("%s %s shows the value: %s", what, path, got.body[max(0, bytes.Index(got.body, []byte(value))-200):])
		}
		seen[what] = seen[what] || shows(s.call(method, path, s.boot.Token, body, header).body)
	}
	queries := map[string][]string{
		"analytics.breakdown": {"dimension=property.loyalty_number&range=24h", "dimension=property.club&range=24h", "dimension=property.cards&range=24h"},
		"events.properties":   {"range=24h&name=checkout"}, "errors.list": {"status=all"},
	}
	for _, row := range s.node.handler.Routes() {
		if row.Surface != route.Manage || row.Method != http.MethodGet && row.Effect != route.Read {
			continue
		}
		for _, query := range append(queries[row.Operation], "") {
			look(row.Operation, row.Method, filled(row, ids)+"?"+query, nil)
		}
		known := map[string]any{"id": ids["person"], "issueId": ids["issue"], "eventId": ids["occurrence"], "dimension": "property.club", "range": "24h"}
		arguments := map[string]any{}
		for name, value := range known {
			if strings.Contains(row.Path, "{"+name+"}") || name != "id" && slices.Contains(parameters(row.Handler.Input), name) {
				arguments[name] = value
			}
		}
		call, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
			"name": "call_read", "arguments": map[string]any{"tool": strings.ReplaceAll(row.Operation, ".", "_"), "arguments": arguments},
		}})
		look("tool "+row.Operation, "POST", "/mcp", call)
	}
	for _, operation := range []string{"events.list", "events.properties", "analytics.breakdown", "people.get", "errors.event", "tool events.list"} {
		if !seen[operation] {
			t.Errorf("%s shows the owner no value, so the test would not notice one", operation)
		}
	}
	for name, part := range map[string]string{"whole": value, "part": "rchid-sevent"} {
		for _, path := range []string{"/events?search=", "/analytics/breakdown?range=24h&dimension=property.club&search=", "/events/properties?range=24h&search=", "/people?q="} {
			rows := func(word string) string {
				got := s.call("GET", appPath+path+url.QueryEscape(word), viewer, nil, nil)
				data, _ := object(t, got.body)["data"].([]any)
				return fmt.Sprint(got.status, len(data))
			}
			if found, none := rows(part), rows("qqqqqqqqq"); found != none {
				t.Errorf("%s finds the %s value: %s, %s", path, name, found, none)
			}
		}
	}
	for name, ask := range map[string]struct{ path, body string }{
		"preview of a segment": {"/segments/preview", `{"definition":{"all":[{"field":"trait.loyaltyNumber","op":"eq","value":"o"}]}}`},
		"preview of an alert":  {"/alerts/preview", `{"kind":"metric","threshold":1,"comparator":"gt","windowMinutes":5,"condition":{"name":"x","agg":"avg","labels":{"loyaltyNumber":"o"}}}`},
	} {
		if got := s.call("POST", appPath+ask.path, viewer, []byte(ask.body), nil); got.status != 403 || shows(got.body) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	for token, want := range map[string]bool{viewer: false, s.boot.Token: true} {
		for _, kind := range []export.Kind{export.Events, export.People} {
			for _, format := range []export.Format{export.NDJSON, export.CSV} {
				one := s.export(t, token, fmt.Sprintf(`{"kind":%q,"format":%q}`, kind, format))
				if file := s.fetch(one["url"]); file.status != 200 || shows(file.body) != want {
					t.Errorf("the export of %s as %s (the value is to be shown: %t): %d %s", kind, format, want, file.status, file.body)
				}
			}
		}
	}
}
