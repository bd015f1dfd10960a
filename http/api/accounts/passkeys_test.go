package accounts_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"svc/domain/conversation"
	"svc/http/api/apitest"
)

// TestOldSessionsChangeNoPasskeys lets time pass after the sign-in.
func TestOldSessionsChangeNoPasskeys(t *testing.T) {
	for age, want := range map[time.Duration]int{0: http.StatusOK, conversation.FreshSession - time.Second: http.StatusOK, conversation.FreshSession: http.StatusForbidden} {
		now := apitest.Noon()
		world := apitest.NewMemory(func() time.Time { return now }).Fill(t)
		now = now.Add(age)
		for method, path := range map[string]string{http.MethodPost: "/challenge", http.MethodDelete: "/key_1"} {
			request := httptest.NewRequest(method, "/console/api/v1/me/passkeys"+path, bytes.NewReader(nil))
			request.Header.Set("Authorization", "Bearer "+world.Session.Reveal())
			answer := httptest.NewRecorder()
			world.Handler.ServeHTTP(answer, request)
			status := want
			if method == http.MethodDelete && want == http.StatusOK {
				status = http.StatusNotFound
			}
			var problem struct{ Code, Reason string }
			if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil || answer.Code != status || want == http.StatusForbidden && problem.Reason != "session_too_old" {
				t.Errorf("%s after %s: %d %s, want %d", method, age, answer.Code, answer.Body, status)
			}
		}
	}
}
