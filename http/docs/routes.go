package docs

import (
	"context"

	manual "svc/docs"
	"svc/domain"
	"svc/http/api"
	"svc/http/route"
)

// Routes returns the rows of the documentation.
func (l *Library) Routes() []route.Route {
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/docs", Operation: "docs.list", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List documentation pages", Handler: route.Typed(l.list),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/docs/{slug...}", Operation: "docs.get", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "Read one documentation page as markdown", Handler: route.Typed(l.get),
		},
	}
}

// docRow is a page as the list shows it.
type docRow struct {
	Slug  string `json:"slug"`
	Title string `json:"title"`
	Bytes int    `json:"bytes" doc:"The length of the markdown."`
}

type listDocs struct{ api.Paging }

func (l *Library) list(_ context.Context, call *route.Call, in listDocs) (domain.Page[docRow], error) {
	rows := api.Convert(l.Pages(), func(page *manual.DocPage) docRow {
		return docRow{Slug: page.Slug, Title: page.Title, Bytes: len(page.Markdown)}
	})
	return api.PageOfAll(call, rows, in.Paging, func(row docRow) string { return row.Slug })
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

func (l *Library) get(_ context.Context, call *route.Call, in docPath) (docPage, error) {
	page, err := l.Page(in.Slug)
	if err != nil {
		return docPage{}, err
	}
	call.Tag(page.Revision)
	return docPage{Slug: page.Slug, Title: page.Title, Markdown: page.Markdown}, nil
}
