package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/http/console"
	"svc/http/route"
)

// TestThePageRunsNothingButItself reads all parts of the page.
func TestThePageRunsNothingButItself(t *testing.T) {
	for _, row := range console.Routes() {
		answer := httptest.NewRecorder()
		row.Raw(&route.Response{ResponseWriter: answer}, httptest.NewRequest(row.Method, row.Path, nil))
		body, header := answer.Body.String(), answer.Header()
		if answer.Code != http.StatusOK || body == "" || !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", row.Path, answer.Code, header)
		}
		for _, unsafe := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "localStorage", "<style", "onclick="} {
			if strings.Contains(body, unsafe) {
				t.Errorf("%s has %s", row.Path, unsafe)
			}
		}
	}
}
