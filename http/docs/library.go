package docs

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	manual "svc/docs"
	"svc/domain"
)

// indexFile is the file that is served as the page index.
const indexFile = "README.md"

// slugPattern is a slug: up to five lowercase segments.
var slugPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*){0,4}$`)

// Library contains the pages. It is filled before it is first read, and does not change afterwards.
type Library struct {
	pages map[string]manual.DocPage
}

// Open reads the pages of a folder: README.md as index, and every other markdown file under its name.
// It fails if a name makes no slug or a page has no title.
func Open(files fs.FS) (*Library, error) {
	library := &Library{pages: map[string]manual.DocPage{}}
	names, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, indexFile) {
		return nil, fmt.Errorf("the folder has no %s", indexFile)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading a page: %w", err)
		}
		slug := "index"
		if name != indexFile {
			slug = strings.TrimSuffix(name, ".md")
		}
		if err := library.add(slug, string(text)); err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
	}
	return library, nil
}

// add adds a page.
func (l *Library) add(slug, markdown string) error {
	if !slugPattern.MatchString(slug) {
		return fmt.Errorf("%q is no slug", slug)
	}
	if _, taken := l.pages[slug]; taken {
		return fmt.Errorf("the slug %q is taken", slug)
	}
	title := titleOf(markdown)
	if title == "" {
		return errors.New("no line begins with one #, so the page has no title")
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(markdown)) // Writing to a hash cannot fail.
	l.pages[slug] = manual.DocPage{Slug: slug, Title: title, Markdown: markdown, Revision: sum.Sum64()}
	return nil
}

// titleOf returns the text of the first heading of the first level.
func titleOf(markdown string) string {
	for line := range strings.Lines(markdown) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(title)
		}
	}
	return ""
}

// Pages lists all pages in the order of their slugs.
func (l *Library) Pages() []manual.DocPage {
	return slices.SortedFunc(maps.Values(l.pages), func(a, b manual.DocPage) int { return strings.Compare(a.Slug, b.Slug) })
}

// Page returns the page of a slug; it fails with not_found if the slug is malformed or unknown.
func (l *Library) Page(slug string) (manual.DocPage, error) {
	page, ok := l.pages[slug]
	if !ok {
		return manual.DocPage{}, domain.NotFound("page")
	}
	return page, nil
}
