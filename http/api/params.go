package api

import (
	"fmt"
	"slices"
	"strings"

	"svc"
	"svc/http/route"
)

// appPath is the address of an application in a path.
type appPath struct {
	Org string `path:"org" doc:"The organization's slug."`
	App string `path:"app" doc:"The application's slug."`
}

// orgPath is the address of an organization in a path.
type orgPath struct {
	Org string `path:"org" doc:"The organization's slug."`
}

// paging holds the parameters of a list.
type paging struct {
	Limit  pageLimit `query:"limit" doc:"Rows of a page; more than 200 means 200."`
	Cursor string    `query:"cursor" doc:"The nextCursor of the page before."`
}

// covered holds the parameters of every analytics read.
type covered struct {
	Env         environment `query:"env" doc:"The environment's slug."`
	Range       window      `query:"range" doc:"The span of time; custom:<YYYY-MM-DD>..<YYYY-MM-DD> takes up to 400 days."`
	Filter      filters     `query:"filter" doc:"<dimension>:<value>; repeated filters are ANDed."`
	IncludeBots bool        `query:"includeBots" doc:"Count bots as well." default:"false"`
}

// scope returns what the read is about.
func (c *covered) scope() svc.AnalyticsScope {
	return svc.AnalyticsScope{App: c.Env.app, Environment: c.Env.Environment, Window: c.Range.Window, Filters: c.Filter.Filters, IncludeBots: c.IncludeBots}
}

// environment is the parameter env: one of the application's, production where
// the request names none.
type environment struct {
	svc.Environment
	app svc.AppRef
}

// Parse finds the environment in the path's application.
func (e *environment) Parse(call *route.Call, words []string) []svc.FieldError {
	env, ok := call.App.Environment(first(words))
	if !ok {
		return []svc.FieldError{unknownWord("env", "environment", first(words), environmentSlugs(&call.App))}
	}
	e.Environment, e.app = env, call.Ref()
	return nil
}

// Schema describes the parameter.
func (environment) Schema() route.Schema {
	return route.Schema{"type": "string", "default": svc.DefaultEnvironment}
}

// optionalEnvironment is the parameter env where all environments are meant unless the
// request names one.
type optionalEnvironment struct{ environment }

// Parse finds the environment, if there is one to find.
func (e *optionalEnvironment) Parse(call *route.Call, words []string) []svc.FieldError {
	if len(words) == 0 {
		return nil
	}
	return e.environment.Parse(call, words)
}

// Schema describes the parameter.
func (optionalEnvironment) Schema() route.Schema { return route.Schema{"type": "string"} }

func environmentSlugs(app *svc.Application) []string {
	slugs := make([]string, len(app.Environments))
	for i, env := range app.Environments {
		slugs[i] = env.Slug
	}
	return slugs
}

// window is the parameter range in the application's time zone.
type window struct{ svc.Window }

// Parse reads the range word; relative ranges end at the request.
func (w *window) Parse(call *route.Call, words []string) []svc.FieldError {
	parsed, problem := svc.ParseWindow(first(words), call.Now, call.App.Location())
	if problem != nil {
		return []svc.FieldError{*problem}
	}
	w.Window = parsed
	return nil
}

// Schema describes the parameter.
func (window) Schema() route.Schema {
	return route.Schema{"type": "string", "default": svc.DefaultWindow, "examples": []string{"24h", "30d", "today", "custom:2026-01-01..2026-01-31"}}
}

// filters is the repeatable parameter filter.
type filters struct{ svc.Filters }

// Parse reads the pairs.
func (f *filters) Parse(_ *route.Call, words []string) []svc.FieldError {
	parsed, problems := svc.ParseFilters(words)
	f.Filters = parsed
	return problems
}

// Repeats marks the parameter as repeatable.
func (*filters) Repeats() {}

// Schema describes the parameter.
func (filters) Schema() route.Schema {
	names := make([]string, 0, len(svc.Dimensions()))
	for _, dimension := range svc.Dimensions() {
		names = append(names, string(dimension))
	}
	return route.Schema{"type": "array", "items": route.Schema{"type": "string", "pattern": "^(" + strings.Join(names, "|") + "):"}}
}

// pageLimit is the parameter limit of ordinary lists.
type pageLimit int

// Parse reads the page size.
func (l *pageLimit) Parse(_ *route.Call, words []string) []svc.FieldError {
	return parseLimit((*int)(l), words, svc.MaxPageSize)
}

// Schema describes the parameter.
func (pageLimit) Schema() route.Schema { return limitSchema() }

// feedLimit is the parameter limit of the event feed.
type feedLimit int

// Parse reads the page size.
func (l *feedLimit) Parse(_ *route.Call, words []string) []svc.FieldError {
	return parseLimit((*int)(l), words, svc.MaxEventPageSize)
}

// Schema describes the parameter.
func (feedLimit) Schema() route.Schema { return limitSchema() }

func parseLimit(into *int, words []string, maximum int) []svc.FieldError {
	limit, problem := svc.ParseLimit(first(words), svc.DefaultPageSize, maximum)
	if problem != nil {
		return []svc.FieldError{*problem}
	}
	*into = limit
	return nil
}

func limitSchema() route.Schema {
	return route.Schema{"type": "integer", "minimum": 1, "default": svc.DefaultPageSize}
}

// metric is the parameter metric of a time series.
type metric svc.Metric

// Parse reads the metric; visitors are meant where the request names none.
func (m *metric) Parse(_ *route.Call, words []string) []svc.FieldError {
	word, problems := metricChoice().parse(words)
	*m = metric(word)
	return problems
}

// Schema describes the parameter.
func (metric) Schema() route.Schema {
	return metricChoice().schema()
}

func metricChoice() choice {
	return choice{"metric", "metric", string(svc.MetricVisitors), texts(svc.Metrics())}
}

func unknownWord(field, what, word string, allowed []string) svc.FieldError {
	return svc.FieldError{Field: field, Code: "unknown_value", Message: fmt.Sprintf("Unknown %s %q.", what, word), Allowed: allowed}
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = string(value)
	}
	return out
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// pageOfAll makes a page of a list that its port returns whole, in the order of
// key, which is also the keyset.
func pageOfAll[Row any](call *route.Call, rows []Row, paging paging, key func(Row) string) (svc.Page[Row], error) {
	keyset, err := call.Keyset(paging.Cursor, 1)
	if err != nil {
		return svc.Page[Row]{}, err
	}
	sorted := slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return strings.Compare(key(a), key(b)) })
	if keyset != nil {
		sorted = slices.DeleteFunc(sorted, func(row Row) bool { return key(row) <= keyset[0] })
	}
	limit := min(int(paging.Limit), len(sorted))
	return route.PageOf(call, sorted[:limit], len(sorted) > limit, func(last Row) []string { return []string{key(last)} }), nil
}

// convert maps rows of a port to rows of an answer; the result is never null.
func convert[From, To any](rows []From, one func(*From) To) []To {
	out := make([]To, len(rows))
	for i := range rows {
		out[i] = one(&rows[i])
	}
	return out
}

// known returns a word for an answer, null where it is empty.
func known(word string) *string {
	if word == "" {
		return nil
	}
	return &word
}
