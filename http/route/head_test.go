package route_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/share"
	"svc/http/route"
)

// nobody knows no token and no application.
type nobody struct{}

func (nobody) Authorize(context.Context, string, domain.RateClass, string) (domain.Grant, domain.RateState, error) {
	return domain.Grant{Token: domain.Token{ID: "tok_1", Scopes: domain.Scopes()}}, domain.RateState{}, nil
}

func (nobody) Read(context.Context, domain.AppRef, share.AppPart) (domain.Application, share.AppParts, error) {
	return domain.Application{}, share.AppParts{}, domain.NotFound("application")
}

// TestHeadsOfAnswers requests good and bad paths. No answer may be taken for another media type, no address may contain
// a name that the caller chose, and a problem shows instants in milliseconds at most.
func TestHeadsOfAnswers(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 123_456_789, time.UTC)
	table := []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/origin", Operation: "origin.get", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault, Summary: "A row of the tests",
			Handler: route.Typed(func(_ context.Context, call *route.Call, _ struct{}) (map[string]string, error) {
				return map[string]string{"origin": call.Origin()}, nil
			}),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/busy", Operation: "busy.get", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault, Summary: "A row of the tests",
			Handler: route.Typed(func(context.Context, *route.Call, struct{}) (map[string]string, error) {
				return nil, &domain.Error{Code: domain.CodeConflict, Turn: &domain.TurnProblem{Actions: []domain.PendingAction{{ID: "act_1", ExpiresAt: at}}}}
			}),
		},
	}
	handler, err := route.New(route.Config{
		Routes: table, Authority: nobody{}, Applications: nobody{}, Cursors: domain.NewCursors([]byte("key")), Now: time.Now, Origin: "http://localhost:8080",
	})
	if err != nil {
		t.Fatal(err)
	}
	secret := domain.MintSecret(domain.TokenPersonal.Prefix(), make([]byte, 32)).Reveal()
	for path, want := range map[string]string{
		"/api/v1/origin":       `{"origin":"http://localhost:8080"}`,
		"/api/v1/busy":         `"actions":[{"id":"act_1","expiresAt":"2026-11-20T12:00:00.123Z"}]`,
		"/api/v1/nothing":      `"code":"not_found"`,
		"/api/v1/openapi.json": `"openapi"`,
	} {
		request := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
		request.Host = "evil.example"
		request.Header.Set("Authorization", "Bearer "+secret)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if !strings.Contains(answer.Body.String(), want) || strings.Contains(answer.Body.String(), "evil.example") {
			t.Errorf("%s: %s, want %s", path, answer.Body, want)
		}
		if got := answer.Header().Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s %d: X-Content-Type-Options %q", path, answer.Code, got)
		}
	}
	var _ http.Handler = handler
}
