// Package docsite serves the documentation as web pages under /docs, to which the type of every problem points. They
// are the same pages that the API and the assistant read as markdown. A page is one answer, has no scripts, and loads
// nothing from another host.
package docsite

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	manual "svc/docs"
	"svc/http/route"
)

//go:embed assets
var assets embed.FS

// Library contains the pages.
type Library interface {
	// Pages lists all pages in the order of their slugs.
	Pages() []manual.DocPage
	// Page returns one page; it fails with not_found for any other slug.
	Page(slug string) (manual.DocPage, error)
}

// indexSlug is the page that /docs shows.
const indexSlug = "index"

// referenceSlug is the page of the generated reference; the slugs of the pages below it begin with it and a slash.
const referenceSlug = "reference"

// Site shows the pages of a library. The zero value has routes and no pages.
type Site struct {
	library Library
	page    *template.Template
	style   template.CSS
	policy  string
}

// New returns the site of a library. Pages may be added to the library until the first request.
func New(library Library) (*Site, error) {
	style, err := assets.ReadFile("assets/docsite.css")
	if err != nil {
		return nil, fmt.Errorf("reading the style of the site: %w", err)
	}
	page, err := template.ParseFS(assets, "assets/docsite.html")
	if err != nil {
		return nil, fmt.Errorf("reading the page of the site: %w", err)
	}
	return &Site{
		library: library, page: page, style: template.CSS(style),
		policy: "default-src 'none'; style-src " + route.PolicyHash(style) + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}, nil
}

// Routes returns the rows of the site.
func (m *Site) Routes() []route.Route {
	row := func(path, operation, summary string) route.Route {
		return route.Route{
			Surface: route.Share, Method: http.MethodGet, Path: path, Operation: operation, Effect: route.Read, Summary: summary, Raw: m.serve,
		}
	}
	return []route.Route{
		row("/docs", "manual.index", "Show the documentation to people."),
		row("/docs/{slug...}", "manual.page", "Show a page of the documentation to people."),
	}
}

// shown contains the values of the template.
type shown struct {
	Style     template.CSS
	Title     string
	Body      template.HTML
	Guides    []link
	Reference []link
}

// link is an entry of the table of contents.
type link struct {
	Title, Href string
	Current     bool
}

// serve answers with a page.
func (m *Site) serve(w *route.Response, r *http.Request) {
	slug := strings.TrimSuffix(r.PathValue("slug"), "/")
	if slug == "" {
		slug = indexSlug
	}
	status := http.StatusOK
	page, err := m.library.Page(slug)
	if err != nil {
		status = http.StatusNotFound
		page = manual.DocPage{Title: "There is no such page", Markdown: "# There is no such page\n\nThe contents name all that there are.\n"}
	}
	body, err := m.render(&page)
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	route.PageHead(w.Header(), "text/html; charset=utf-8", m.policy)
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(status)
	_, _ = w.Write(body) // A reader that has disconnected needs no answer.
}

// render makes the whole page.
func (m *Site) render(page *manual.DocPage) ([]byte, error) {
	content, err := m.html(page)
	if err != nil {
		return nil, err
	}
	view := shown{Style: m.style, Title: page.Title, Body: content}
	for _, one := range m.library.Pages() {
		entry := link{Title: one.Title, Href: hrefOf(one.Slug), Current: one.Slug == page.Slug}
		if one.Slug == referenceSlug || strings.HasPrefix(one.Slug, referenceSlug+"/") {
			view.Reference = append(view.Reference, entry)
			continue
		}
		view.Guides = append(view.Guides, entry)
	}
	var out bytes.Buffer
	if err := m.page.Execute(&out, view); err != nil {
		return nil, fmt.Errorf("making the page %s: %w", page.Slug, err)
	}
	return out.Bytes(), nil
}

// hrefOf is the address of a page.
func hrefOf(slug string) string {
	if slug == indexSlug {
		return "/docs"
	}
	return "/docs/" + slug
}
