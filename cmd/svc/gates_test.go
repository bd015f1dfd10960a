package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/signin"
	"svc/http/route"
)

// concrete fills the parameters of a row's path.
func concrete(route route.Route, org, app string) string {
	return strings.NewReplacer("{org}", org, "{app}", app, "{id}", "nothing", "{email}", "nobody@example.com").Replace(route.Pattern())
}

// problem decodes a problem body without the parts that differ between two requests.
func problem(t *testing.T, got answer) map[string]any {
	t.Helper()
	body := object(t, got.body)
	delete(body, "requestId")
	return body
}

// TestEveryRouteOnTheRealServer walks the table. Without a token a route answers 401, and with an ingest key 401. A
// stranger's token gets the same 404 for existing and for missing objects.
func TestEveryRouteOnTheRealServer(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	ctx := context.Background()
	stranger, err := s.node.identity.User(ctx, "stranger@other.example", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.node.identity.CreateOrganization(ctx, stranger, domain.OrgSpec{Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	_, foreign, err := s.node.identity.MintToken(ctx, domain.TokenOwner{User: stranger}, domain.TokenSpec{Name: "all", Scopes: domain.Scopes()})
	if err != nil {
		t.Fatal(err)
	}
	_, session, err := s.node.identity.OpenSession(ctx, signin.SessionSpec{Person: stranger, By: signin.SessionOfOperator})
	if err != nil {
		t.Fatal(err)
	}
	walked := 0
	for _, row := range s.node.handler.Routes() {
		if row.Open || row.Surface != route.Manage && row.Surface != route.Console {
			continue
		}
		walked++
		t.Run(row.Operation, func(t *testing.T) {
			s.t = t
			body := []byte(nil)
			if slices.Contains([]string{"POST", "PATCH", "PUT"}, row.Method) {
				body = []byte(`{}`)
			}
			path := concrete(row, "acme", "web")
			if got := s.call(row.Method, path, "", body, nil); got.status != 401 || got.header.Get("Www-Authenticate") != `Bearer realm="svc"` {
				t.Errorf("no token: %d %s", got.status, got.body)
			}
			if got := s.call(row.Method, path, s.boot.Keys["production"].Secret, body, nil); got.status != 401 || !strings.Contains(string(got.body), "ingest key") {
				t.Errorf("ingest key: %d %s", got.status, got.body)
			}
			if !row.HasParam("org") {
				return
			}
			token := foreign.Reveal()
			if row.Surface == route.Console {
				token = session.Reveal()
			}
			here, nowhere := s.call(row.Method, path, token, body, nil), s.call(row.Method, concrete(row, "missing", "missing"), token, body, nil)
			want, _ := json.Marshal(problem(t, nowhere))
			if got, _ := json.Marshal(problem(t, here)); here.status != 404 || nowhere.status != 404 || string(got) != string(want) {
				t.Errorf("a stranger reads %d %s here and %d %s for what is missing", here.status, got, nowhere.status, want)
			}
		})
	}
	if walked < 20 {
		t.Errorf("only %d routes were walked", walked)
	}
}

// TestTheOpenAPIDocumentIsServed checks that the document names every route.
func TestTheOpenAPIDocumentIsServed(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	document := s.get("/api/v1/openapi.json")
	if document["openapi"] != "3.1.0" {
		t.Errorf("openapi: %v", document["openapi"])
	}
	paths := document["paths"].(map[string]any)
	for _, row := range s.node.handler.Routes() {
		if row.Surface != route.Manage {
			continue
		}
		item, _ := paths[strings.Replace(row.Pattern(), "...}", "}", 1)].(map[string]any)
		if item[strings.ToLower(row.Method)] == nil {
			t.Errorf("%s %s is missing", row.Method, row.Pattern())
		}
	}
}
