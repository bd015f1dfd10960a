package docs_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	manual "svc/docs"
	"svc/domain"
	"svc/http/api/apitest"
	"svc/http/docs"
)

func library(t *testing.T) *docs.Library {
	t.Helper()
	l, err := docs.Open(manual.Documentation)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Describe(apitest.Routes()); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"no index":     {fstest.MapFS{}, "README.md"},
		"no title":     {fstest.MapFS{"README.md": {Data: []byte("text\n## second\n")}}, "no title"},
		"capital name": {fstest.MapFS{"README.md": {Data: []byte("# T")}, "Guide.md": {Data: []byte("# G")}}, `"Guide" is no slug`},
		"second index": {fstest.MapFS{"README.md": {Data: []byte("# T")}, "index.md": {Data: []byte("# I")}}, `"index" is taken`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := docs.Open(tc.files); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestPagesAreFoundByTheirSlugs(t *testing.T) {
	t.Parallel()
	l := library(t)
	for _, page := range l.Pages() {
		got, err := l.Page(page.Slug)
		if err != nil || got != page || page.Title == "" {
			t.Errorf("page %q: %v", page.Slug, err)
		}
	}
	for _, slug := range []string{"", "nothing", "README", "a/b/c/d/e/f", "../README", "index/"} {
		if _, err := l.Page(slug); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("page %q: got %v", slug, err)
		}
	}
}

// TestTheReferenceIsWhole checks that every route has a line in the index of the reference and a section on the page of
// its noun. Every code must have its anchor on the page of errors.
func TestTheReferenceIsWhole(t *testing.T) {
	t.Parallel()
	l := library(t)
	index, err := l.Page("reference")
	if err != nil {
		t.Fatal(err)
	}
	var sections strings.Builder
	for _, page := range l.Pages() {
		if strings.HasPrefix(page.Slug, "reference/") {
			sections.WriteString(page.Markdown)
		}
	}
	for _, route := range apitest.Routes() {
		path := strings.Replace(route.Pattern(), "...}", "}", 1)
		if !strings.Contains(index.Markdown, "| `"+route.Method+"` | `"+path+"` |") {
			t.Errorf("the index lacks %s %s", route.Method, route.Pattern())
		}
		if !strings.Contains(sections.String(), "\n## "+route.Operation+"\n") {
			t.Errorf("no section describes %s", route.Operation)
		}
	}
	problems, err := l.Page("errors")
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range domain.Codes() {
		if !strings.Contains(problems.Markdown, "\n## "+string(info.Code)+"\n") {
			t.Errorf("no section describes the code %s", info.Code)
		}
	}
}

// TestLinksLeadToPages follows the links between pages.
func TestLinksLeadToPages(t *testing.T) {
	t.Parallel()
	l := library(t)
	link := regexp.MustCompile(`\]\((reference/[a-z/-]+)\)`)
	for _, page := range l.Pages() {
		for _, match := range link.FindAllStringSubmatch(page.Markdown, -1) {
			if _, err := l.Page(match[1]); err != nil {
				t.Errorf("page %s links to %s: %v", page.Slug, match[1], err)
			}
		}
	}
}
