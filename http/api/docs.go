package api

import (
	"context"

	"svc"
	"svc/http/route"
)

// Docs holds the documentation that the service serves about itself.
type Docs interface {
	// Pages lists all pages.
	Pages() []svc.DocPage
	// Page returns one page; it fails with not_found for any other slug.
	Page(slug string) (svc.DocPage, error)
}

// docs answers the routes of the documentation.
type docs struct{ docs Docs }

func docRoutes(ports Ports) []route.Route {
	docs := docs{docs: ports.Docs}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/docs", Operation: "docs.list", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List documentation pages", Handler: route.Typed(docs.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/docs/{slug...}", Operation: "docs.get", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "Read one documentation page as markdown", Handler: route.Typed(docs.get),
		},
	}
}

// docRow is a page as the list shows it.
type docRow struct {
	Slug  string `json:"slug"`
	Title string `json:"title"`
	Bytes int    `json:"bytes" doc:"The length of the markdown."`
}

type listDocs struct{ paging }

func (d docs) list(_ context.Context, call *route.Call, in listDocs) (svc.Page[docRow], error) {
	rows := convert(d.docs.Pages(), func(page *svc.DocPage) docRow {
		return docRow{Slug: page.Slug, Title: page.Title, Bytes: len(page.Markdown)}
	})
	return pageOfAll(call, rows, in.paging, func(row docRow) string { return row.Slug })
}

// docPage is one page.
type docPage struct {
	Slug     string `json:"slug"`
	Title    string `json:"title"`
	Markdown string `json:"markdown"`
}

type docPath struct {
	Slug string `path:"slug" doc:"The page's slug, up to five segments."`
}

func (d docs) get(_ context.Context, call *route.Call, in docPath) (docPage, error) {
	page, err := d.docs.Page(in.Slug)
	if err != nil {
		return docPage{}, err
	}
	call.Tag(page.Revision)
	return docPage{Slug: page.Slug, Title: page.Title, Markdown: page.Markdown}, nil
}
