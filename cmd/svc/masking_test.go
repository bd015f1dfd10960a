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
	"time"

	"svc/domain"
	"svc/http/route"
)

// planted are the texts that name and locate a person; each occurs nowhere else.
var planted = map[string]string{
	"e-mail": "zephyrine.quux@plant.example", "name": "Zephyrine Quux", "phone": "+49 170 5550199",
	"work phone": "0151 55501987", "number": "Q7-55-PLANT", "card": "4111 1111 1111 1111", "account": "DE89 3704 0044 0532 0130 00", "token": "sk_live_51HqLyjWDarjtT1zdp7dc",
}

// plant lets a person leave the planted texts in every possible place, and members write them down. It returns the ids
// that paths name.
func (s *server) plant(t *testing.T) map[string]string {
	t.Helper()
	email, name, phone := planted["e-mail"], planted["name"], planted["phone"]
	at := time.Now().Add(-time.Hour)
	told := map[string]any{
		"email": email, "name": name, "phone": phone, "contact": map[string]any{"phone": phone, "fullName": name},
		"workPhone": planted["work phone"], "ssn": planted["number"], "note": "paid with " + planted["card"] + " and " + planted["account"], "hint": planted["token"],
	}
	page := func(id, distinct, path string, after time.Duration) map[string]any {
		it := item(id, distinct, path, at.Add(after))
		it["url"], it["title"], it["referrer"] = "https://acme.example"+path, "Account of "+email, "https://mail.example/?to="+url.QueryEscape(email)
		it["properties"] = told
		return it
	}
	identify := map[string]any{"type": "identify", "id": "plant-1", "ts": at.Format(time.RFC3339Nano), "distinctId": email, "anonymousId": "plant-device", "traits": told}
	s.send(
		page("plant-0", "plant-device", "/account?email="+url.QueryEscape(email), -time.Minute), identify,
		map[string]any{"type": "group", "id": "plant-g", "ts": at.Add(time.Second).Format(time.RFC3339Nano), "distinctId": email, "groupId": email, "traits": map[string]any{"name": "Plant of " + email, "phone": phone}},
		page("plant-2", email, "/account", time.Minute),
		map[string]any{"type": "event", "name": "checkout", "id": "plant-3", "ts": at.Add(2 * time.Minute).Format(time.RFC3339Nano), "distinctId": email, "properties": told},
		map[string]any{"type": "page", "id": "plant-now", "distinctId": email, "url": "https://acme.example/live/" + email},
	)
	s.report(map[string]any{
		"name": "PlantError", "message": "no account of " + email, "distinctId": email, "extra": map[string]any{"customer": told}, "tags": map[string]any{"phone": phone, "email": email},
		"user":        map[string]any{"id": "u-7", "email": email, "username": name},
		"breadcrumbs": []any{map[string]any{"category": "form", "message": "typed " + email}},
		"stack":       "PlantError: no account of " + email + "\n    at load (https://acme.example/app.js:10:5)",
	})
	s.settled()
	var person, issue, occurrence string
	eventually(t, "the person and the error are found", func() error {
		rows := s.get(appPath + "/people?q=zephyrine")["data"].([]any)
		issues, _ := s.listed("status=all")
		if len(rows) != 1 || len(issues) != 1 {
			return fmt.Errorf("%d people, %d issues", len(rows), len(issues))
		}
		person, issue = rows[0].(map[string]any)["id"].(string), issues[0]["id"].(string)
		occurrence = s.get(errorsPath + "/" + issue + "/events")["data"].([]any)[0].(map[string]any)["id"].(string)
		return nil
	})
	note := `{"text":"` + name + ` asks us to call ` + phone + ` or to write to ` + email + `"}`
	if got := s.call("POST", appPath+"/people/"+person+"/notes", s.boot.Token, []byte(note), nil); got.status != 201 {
		t.Fatalf("adding a note: %d %s", got.status, got.body)
	}
	body := `{"tags":["` + email + `"],"crm":{"phone":"` + phone + `","email":"` + email + `","owner":{"name":"` + name + `"}}}`
	if got := s.call("PATCH", appPath+"/people/"+person, s.boot.Token, []byte(body), nil); got.status != 200 {
		t.Fatalf("deciding about the person: %d %s", got.status, got.body)
	}
	return map[string]string{"person": person, "issue": issue, "occurrence": occurrence}
}

// viewerToken mints a token of a member that sees no personal data.
func (s *server) viewerToken(t *testing.T) string {
	t.Helper()
	ctx := t.Context()
	if _, err := s.node.identity.PutMember(ctx, "acme", domain.RoleOwner, domain.MemberSpec{Email: "viewer@acme.example", Name: "Vic", Role: domain.RoleViewer}); err != nil {
		t.Fatal(err)
	}
	viewer, err := s.node.identity.KnownUser(ctx, "viewer@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.node.identity.MintToken(ctx, domain.TokenOwner{User: viewer}, domain.TokenSpec{Name: "viewer", Scopes: domain.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal()
}

// filled inserts the ids of the planted objects into the path of a row.
func filled(row route.Route, ids map[string]string) string {
	id := "nothing"
	if strings.Contains(row.Path, "/people/") {
		id = ids["person"]
	}
	return strings.NewReplacer("{org}", "acme", "{app}", "web", "{id}", id, "{issueId}", ids["issue"], "{eventId}", ids["occurrence"],
		"{email}", "nobody@acme.example", "{slug...}", "index").Replace(row.Pattern())
}

// shownIn returns the planted texts that an answer contains.
func shownIn(body []byte) (found []string) {
	text := strings.ToLower(string(body))
	for what, word := range planted {
		for _, form := range []string{word, url.QueryEscape(word), url.PathEscape(word)} {
			if strings.Contains(text, strings.ToLower(form)) {
				found = append(found, what)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// maskedQuestions are the parameters with which rows are requested; every row is also requested without parameters.
func maskedQuestions() map[string][]string {
	breakdown := []string{}
	for _, dimension := range []string{"path", "referrer", "source", "event", "entry_page", "property.email", "property.phone", "property.name", "property.contact"} {
		breakdown = append(breakdown, "dimension="+dimension+"&range=24h")
	}
	return map[string][]string{
		"analytics.breakdown": breakdown, "analytics.live": {"env=production"},
		"events.list": {"limit=500"}, "events.names": {"range=24h"}, "events.properties": {"range=24h", "range=24h&name=$identify", "range=24h&name=checkout"},
		"people.timeline": {"kind=event", "kind=activity", "kind=error"}, "errors.list": {"status=all"}, "errors.overview": {"range=24h"},
	}
}

// TestPersonalFieldsAreMaskedEverywhere requests every reading row, and every tool of models, with the token of a
// member without people.pii.read. No answer contains the planted address, name or number, and no search finds them.
func TestPersonalFieldsAreMaskedEverywhere(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	ids := s.plant(t)
	token := s.viewerToken(t)
	asked, seen := 0, map[string]bool{}
	for _, row := range s.node.handler.Routes() {
		if row.Surface != route.Manage || row.Method != http.MethodGet && row.Effect != route.Read {
			continue
		}
		for _, query := range append(maskedQuestions()[row.Operation], "") {
			path := filled(row, ids) + "?" + query
			header := map[string]string{"Accept": "application/json"}
			got := s.call(row.Method, path, token, nil, header)
			asked++
			if words := shownIn(got.body); len(words) > 0 {
				t.Errorf("%s %s shows %v: %s", row.Operation, query, words, excerpt(got.body))
			}
			if owner := s.call(row.Method, path, s.boot.Token, nil, header); len(shownIn(owner.body)) > 0 {
				seen[row.Operation] = true
			}
		}
		s.toolIsMasked(t, token, row, ids)
	}
	// The owner sees the texts there, so the test would detect them.
	for _, operation := range []string{
		"events.list", "events.properties", "analytics.breakdown", "analytics.live", "companies.list", "people.list", "people.get", "people.timeline", "errors.list", "errors.get", "errors.events", "errors.event",
	} {
		if !seen[operation] {
			t.Errorf("%s shows the owner none of the planted texts", operation)
		}
	}
	if asked < 40 {
		t.Errorf("only %d requests were made", asked)
	}
	t.Run("search", func(t *testing.T) { s.searchIsBlind(t, token) })
}

// toolIsMasked calls a row as models do.
func (s *server) toolIsMasked(t *testing.T, token string, row route.Route, ids map[string]string) {
	t.Helper()
	arguments := map[string]any{"id": ids["person"], "issueId": ids["issue"], "eventId": ids["occurrence"], "dimension": "property.phone", "env": "production"}
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": "call_read", "arguments": map[string]any{"tool": strings.ReplaceAll(row.Operation, ".", "_"), "arguments": arguments},
	}})
	got := s.call("POST", "/mcp", token, body, map[string]string{"Accept": "application/json, text/event-stream"})
	if words := shownIn(got.body); len(words) > 0 {
		t.Errorf("the tool %s shows %v: %s", row.Operation, words, excerpt(got.body))
	}
}

// searchIsBlind searches for the planted texts and for texts that no person has: the answers have equal lengths.
func (s *server) searchIsBlind(t *testing.T, token string) {
	for _, path := range []string{
		"/people?q=", "/companies?q=", "/events?search=", "/errors?status=all&q=", "/analytics/breakdown?range=24h&dimension=path&search=",
		"/analytics/breakdown?range=24h&dimension=property.phone&search=", "/analytics/breakdown?range=24h&dimension=property.email&search=", "/events/properties?range=24h&search=",
	} {
		rows := func(word string) int {
			got := s.call("GET", appPath+path+url.QueryEscape(word), token, nil, nil)
			if got.status == 403 && object(t, got.body)["reason"] == "personal_data" {
				return 0
			}
			if got.status != 200 {
				t.Fatalf("%s%s: %d %s", path, word, got.status, got.body)
			}
			return len(object(t, got.body)["data"].([]any))
		}
		for what, word := range planted {
			for _, part := range []string{word, word[1 : len(word)-2]} {
				if found, none := rows(part), rows("qqqqqqqqqqq"); found != none {
					t.Errorf("%s finds the %s %q: %d rows", path, what, part, found)
				}
			}
		}
	}
}

// excerpt shortens an answer around a forbidden text.
func excerpt(body []byte) []byte {
	at := len(body)
	for _, word := range planted {
		if i := bytes.Index(bytes.ToLower(body), bytes.ToLower([]byte(word))); i >= 0 {
			at = min(at, i)
		}
	}
	return body[max(0, at-300):min(len(body), at+100)]
}
