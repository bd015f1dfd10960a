package console_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"svc/http/console"
	"svc/http/route"
)

// get requests a path from a row of the console.
func get(t *testing.T, path, encoding string) *httptest.ResponseRecorder {
	t.Helper()
	rows, err := console.Routes()
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

const assets = "/console/assets/"

// loaded returns the paths in the page: its style sheet, its script and the imports of the script.
func loaded(t *testing.T) []string {
	t.Helper()
	var paths []string
	for _, found := range regexp.MustCompile(`(?:src|href)="(/console/assets/[^"]+)"`).FindAllStringSubmatch(get(t, "/console", "").Body.String(), -1) {
		paths = append(paths, found[1])
	}
	if len(paths) < 2 {
		t.Fatalf("the page loads %v, want a script and a style sheet at least", paths)
	}
	return paths
}

// imports returns the parts that a script imports at once, and the parts that it imports on demand.
func imports(t *testing.T, script string) (static, dynamic []string) {
	t.Helper()
	body := get(t, script, "").Body.String()
	for _, found := range regexp.MustCompile(`(?:from|import)"\./([^"]+)"`).FindAllStringSubmatch(body, -1) {
		static = append(static, assets+found[1])
	}
	for _, found := range regexp.MustCompile(`import\("\./([^"]+)"\)`).FindAllStringSubmatch(body, -1) {
		dynamic = append(dynamic, assets+found[1])
	}
	return static, dynamic
}

// with adds a script and its static imports to the parts that a browser has.
func with(t *testing.T, has map[string]bool, script string) map[string]bool {
	t.Helper()
	has = maps.Clone(has)
	for open := []string{script}; len(open) > 0; {
		path := open[0]
		open = open[1:]
		if has[path] {
			continue
		}
		has[path] = true
		static, _ := imports(t, path)
		open = append(open, static...)
	}
	return has
}

// visits returns the parts that a browser loads if it opens the console at each of its pages.
func visits(t *testing.T) map[string]map[string]bool {
	t.Helper()
	first := map[string]bool{"/console": true}
	for _, path := range loaded(t) {
		first = with(t, first, path)
	}
	all := map[string]map[string]bool{}
	for path := range first {
		_, dynamic := imports(t, path)
		for _, part := range dynamic {
			all[part] = with(t, first, part)
		}
	}
	return all
}

// maxLoad is the maximum transfer of a first visit, in bytes.
const maxLoad = 150_000

// TestTheFirstVisitIsSmall opens the console at each of its pages.
func TestTheFirstVisitIsSmall(t *testing.T) {
	sizes := map[string]int{}
	size := func(path string) int {
		if _, known := sizes[path]; !known {
			sizes[path] = compressed(t, path)
		}
		return sizes[path]
	}
	all := visits(t)
	if len(all) < 20 {
		t.Fatalf("the console is divided into %d parts: %v", len(all), all)
	}
	for part, paths := range all {
		total := 0
		for path := range paths {
			total += size(path)
		}
		t.Logf("a first visit that opens %s transfers %d bytes in %d answers", path.Base(part), total, len(paths))
		if total > maxLoad {
			t.Errorf("a first visit that opens %s transfers %d bytes, more than %d", part, total, maxLoad)
		}
	}
}

// compressed returns the size of a path as browsers receive it, and checks that every encoding has the same content.
func compressed(t *testing.T, path string) int {
	t.Helper()
	plain := get(t, path, "").Body.String()
	for _, encoding := range []string{"gzip", "gzip, deflate, br, zstd"} {
		if answer := get(t, path, encoding); answer.Code != http.StatusOK || answer.Header().Get("Content-Encoding") == "" {
			t.Fatalf("%s as %q: %d %v", path, encoding, answer.Code, answer.Header())
		}
	}
	answer := get(t, path, "br").Body
	size := answer.Len()
	if body, err := io.ReadAll(brotli.NewReader(answer)); err != nil || plain == "" || string(body) != plain {
		t.Errorf("%s as brotli is another file: %v", path, err)
	}
	return size
}

// TestThePageRunsNothingButItself reads all parts of the page.
func TestThePageRunsNothingButItself(t *testing.T) {
	every := map[string]bool{}
	for _, paths := range visits(t) {
		maps.Copy(every, paths)
	}
	for path := range every {
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

// TestTheRootLeadsBrowsersToTheConsole requests the root of the service like a browser.
func TestTheRootLeadsBrowsersToTheConsole(t *testing.T) {
	rows, err := console.Routes()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(rows, func(row route.Route) bool { return row.Path == "/" })
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	answer := httptest.NewRecorder()
	rows[at].Raw(&route.Response{ResponseWriter: answer}, request)
	if to := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || to != "/console" {
		t.Errorf("%d to %q", answer.Code, to)
	}
}
