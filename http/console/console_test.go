package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"svc/http/console"
	"svc/http/route"
)

// get asks a row of the console for a path.
func get(t *testing.T, path, encoding string) *httptest.ResponseRecorder {
	t.Helper()
	rows, err := console.Routes(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Accept-Encoding", encoding)
	answer := httptest.NewRecorder()
	for _, row := range rows {
		if prefix, param := strings.CutSuffix(row.Path, "{file}"); row.Path == path || param && strings.HasPrefix(path, prefix) {
			request.SetPathValue("file", strings.TrimPrefix(path, prefix))
			row.Raw(&route.Response{ResponseWriter: answer}, request)
			return answer
		}
	}
	t.Fatalf("no row has %s", path)
	return nil
}

// parts returns the paths of what the page loads.
func parts(t *testing.T) []string {
	t.Helper()
	found := regexp.MustCompile(`(?:src|href)="(/console/assets/[^"]+)"`).FindAllStringSubmatch(get(t, "/console", "").Body.String(), -1)
	if len(found) != 2 {
		t.Fatalf("the page loads %v, want one script and one style sheet", found)
	}
	return []string{found[0][1], found[1][1]}
}

// maxLoad is how much a first visit may transfer, in bytes.
const maxLoad = 150_000

func TestTheFirstVisitIsSmall(t *testing.T) {
	total := 0
	for _, path := range append(parts(t), "/console") {
		for _, encoding := range []string{"gzip, deflate, br, zstd", "gzip", ""} {
			answer := get(t, path, encoding)
			if answer.Code != http.StatusOK || answer.Body.Len() == 0 || encoding != "" && answer.Header().Get("Content-Encoding") == "" {
				t.Fatalf("%s as %q: %d %v", path, encoding, answer.Code, answer.Header())
			}
			if answer.Header().Get("Content-Encoding") != "br" {
				continue
			}
			total += answer.Body.Len()
			if plain, err := io.ReadAll(brotli.NewReader(answer.Body)); err != nil || string(plain) != get(t, path, "").Body.String() {
				t.Errorf("%s as brotli is another file: %v", path, err)
			}
		}
	}
	t.Logf("a first visit transfers %d bytes", total)
	if total > maxLoad {
		t.Errorf("a first visit transfers %d bytes, more than %d", total, maxLoad)
	}
}

// TestThePageRunsNothingButItself reads all parts of the page.
func TestThePageRunsNothingButItself(t *testing.T) {
	for _, path := range append(parts(t), "/console") {
		answer := get(t, path, "")
		header, body := answer.Header(), answer.Body.String()
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, header)
		}
		if lasting := strings.Contains(header.Get("Cache-Control"), "immutable"); lasting == (path == "/console") {
			t.Errorf("%s: %s", path, header.Get("Cache-Control"))
		}
		for _, unsafe := range []string{"insertAdjacentHTML", "document.write", "eval(", "new Function", "<style", "onclick="} {
			if strings.Contains(body, unsafe) {
				t.Errorf("%s has %s", path, unsafe)
			}
		}
	}
}
