package admin

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWarningsKeepANodeReady shows a warning next to the checks that hold.
func TestWarningsKeepANodeReady(t *testing.T) {
	failing := func(context.Context) error { return errors.New("3 entities cannot be read") }
	for warning, want := range map[bool]struct {
		status int
		body   string
	}{
		true:  {200, `{"unreadable":"warning: 3 entities cannot be read"}`},
		false: {503, `{"unreadable":"3 entities cannot be read"}`},
	} {
		answer := httptest.NewRecorder()
		readyz(answer, httptest.NewRequest("GET", "/readyz", nil), []Check{{Name: "unreadable", Ready: failing, Warning: warning}})
		if got := strings.TrimSpace(answer.Body.String()); answer.Code != want.status || got != want.body {
			t.Errorf("warning %t: %d %s, want %d %s", warning, answer.Code, got, want.status, want.body)
		}
	}
}
