package docsite_test

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	manual "svc/docs"
	"svc/domain"
	"svc/domain/share"
	"svc/http/api/apitest"
	"svc/http/docs"
	"svc/http/docsite"
	"svc/http/route"
)

// The site needs neither callers nor applications.
type nobody struct{}

func (nobody) Authorize(context.Context, string, domain.RateClass, string) (domain.Grant, domain.RateState, error) {
	return domain.Grant{}, domain.RateState{}, domain.Errorf(domain.CodeUnauthorized, "unknown")
}

func (nobody) Read(context.Context, domain.AppRef, share.AppPart) (domain.Application, share.AppParts, error) {
	return domain.Application{}, share.AppParts{}, domain.NotFound("application")
}

// site is the site of the service's own pages.
func site(t *testing.T) (*route.Handler, *docs.Library) {
	t.Helper()
	library, err := docs.Open(manual.Documentation)
	if err != nil {
		t.Fatal(err)
	}
	if err := library.Describe(apitest.Routes()); err != nil {
		t.Fatal(err)
	}
	guide, err := docsite.New(library)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := route.New(route.Config{
		Routes: guide.Routes(), Authority: nobody{}, Applications: nobody{}, Cursors: domain.NewCursors([]byte("k")), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return handler, library
}

func read(t *testing.T, handler *route.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
	return answer
}

// TestEveryLinkLeadsSomewhere reads all pages and follows every link in them to its page and anchor.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	handler, library := site(t)
	href, id := regexp.MustCompile(`href="([^"]*)"`), regexp.MustCompile(`id="([^"]*)"`)
	bodies, ids := map[string]string{}, map[string]bool{}
	for _, page := range library.Pages() {
		path := strings.TrimSuffix("/docs/"+page.Slug, "/index")
		answer := read(t, handler, path)
		if answer.Code != 200 || !strings.Contains(answer.Body.String(), "<title>") || !strings.Contains(answer.Body.String(), "<h1 ") {
			t.Errorf("%s: %d", path, answer.Code)
		}
		bodies[path] = answer.Body.String()
		for _, match := range id.FindAllStringSubmatch(bodies[path], -1) {
			if ids[path+"#"+match[1]] {
				t.Errorf("%s has two places #%s", path, match[1])
			}
			ids[path+"#"+match[1]] = true
		}
	}
	followed := 0
	for from, body := range bodies {
		for _, match := range href.FindAllStringSubmatch(body, -1) {
			to, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			if to == "" {
				to = from
			}
			if _, ok := bodies[to]; strings.HasPrefix(to, "/docs") && (!ok || anchor != "" && !ids[to+"#"+anchor]) {
				t.Errorf("%s links to %s", from, match[1])
			}
			followed++
		}
	}
	if followed < 100 {
		t.Errorf("%d links were followed", followed)
	}
	if !strings.Contains(bodies["/docs"], `href="/docs/metrics"`) || !ids["/docs/errors#invalid_request"] {
		t.Error("the index links no guide, or the errors have no anchors")
	}
}

// TestNothingOfAPageBecomesMarkup renders careless and hostile texts of pages.
func TestNothingOfAPageBecomesMarkup(t *testing.T) {
	guide, err := docsite.New(shelf{"index": "# A <b>title</b>\n\nText <i onclick=x>i</i> <script>alert(1)</script> [x](javascript:alert(1)) ![p](docs/p.png) [code](DESIGN.md) [go](a.md#b)\n", "a": "# A\n\n## B\n\n[back](../README.md)\n\n## B\n"})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := route.New(route.Config{Routes: guide.Routes(), Authority: nobody{}, Applications: nobody{}, Cursors: domain.NewCursors([]byte("k")), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/docs":     `<p>Text <!-- raw HTML omitted -->i<!-- raw HTML omitted --> <!-- raw HTML omitted -->alert(1)<!-- raw HTML omitted --> x p code <a href="/docs/a#b">go</a></p>`,
		"/docs/a":   "<h2 id=\"b\">B</h2>\n<p><a href=\"/docs\">back</a></p>\n<h2 id=\"b-1\">B</h2>",
		"/docs/":    `<a href="/docs/a#b">`,
		"/docs/a/":  "<h2 id=\"b\">",
		"/docs/A":   "There is no such page",
		"/docs/a/b": "There is no such page",
	} {
		answer := read(t, handler, path)
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("%s: %s, want %s", path, answer.Body, want)
		}
		if missing := strings.Contains(want, "no such"); (answer.Code == 404) != missing {
			t.Errorf("%s: %d", path, answer.Code)
		}
		if policy := answer.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(answer.Body.String(), "<script") {
			t.Errorf("%s: policy %s, body %s", path, policy, answer.Body)
		}
	}
}

// shelf is a library of a few pages.
type shelf map[string]string

func (s shelf) Pages() []manual.DocPage { return nil }

func (s shelf) Page(slug string) (manual.DocPage, error) {
	text, ok := s[slug]
	if !ok {
		return manual.DocPage{}, domain.NotFound("page")
	}
	return manual.DocPage{Slug: slug, Title: slug, Markdown: text}, nil
}
