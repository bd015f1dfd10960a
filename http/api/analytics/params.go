package analytics

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc"
	"svc/http/api"
	"svc/http/route"
)

// covered holds the parameters of every analytics read.
type covered struct {
	Env         api.Env `query:"env" doc:"The environment's slug."`
	Range       window  `query:"range" doc:"The span of time; custom:<YYYY-MM-DD>..<YYYY-MM-DD> takes up to 400 days."`
	Filter      filters `query:"filter" doc:"<dimension>:<value>; repeated filters are ANDed."`
	IncludeBots bool    `query:"includeBots" doc:"Count bots as well." default:"false"`
}

// scope returns the application, environment, window and filters of the read. A filter by a segment requires the same
// access as reading people.
func (c *covered) scope(ctx context.Context, call *route.Call, segments Segments) (svc.AnalyticsScope, error) {
	scope := svc.AnalyticsScope{App: c.Env.App, Environment: c.Env.Environment, Window: c.Range.Window, Filters: c.Filter.Filters, IncludeBots: c.IncludeBots, AsOf: call.Now}
	id := scope.Filters.Value(svc.DimSegment)
	switch {
	case id == "":
		return scope, nil
	case !slices.Contains(call.App.Modules, svc.ModulePeople):
		return scope, svc.Invalid(svc.FieldError{Field: "filter", Code: "unknown_segment", Message: "The application has no segments: its module people is off."})
	case !call.Grant.May(svc.PermPeopleRead):
		return scope, &svc.Error{Code: svc.CodeForbidden, Required: &svc.Required{Permission: svc.PermPeopleRead}, Message: "A filter by a segment needs people.read."}
	}
	all, err := segments.Segments(ctx, call.App)
	if err != nil {
		return scope, err
	}
	at := slices.IndexFunc(all, func(one svc.Segment) bool { return one.ID == id })
	if at < 0 {
		return scope, svc.Invalid(svc.FieldError{Field: "filter", Code: "unknown_segment", Message: fmt.Sprintf("The application has no segment %q.", id)})
	}
	scope.Segment = &all[at]
	return scope, nil
}

// Segments stores the segments of applications.
type Segments interface {
	// Segments returns the segments of an application.
	Segments(ctx context.Context, app svc.Application) ([]svc.Segment, error)
}

// window is the parameter range in the application's time zone.
type window struct{ svc.Window }

// Parse reads the range word; relative ranges end at the request.
func (w *window) Parse(call *route.Call, words []string) []svc.FieldError {
	parsed, problem := svc.ParseWindow(api.First(words), call.Now, call.App.Location())
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
	names := make([]string, 0, len(svc.FilterDimensions()))
	for _, dimension := range svc.FilterDimensions() {
		names = append(names, string(dimension))
	}
	return route.Schema{"type": "array", "items": route.Schema{"type": "string", "pattern": "^(" + strings.Join(names, "|") + "):"}}
}

// metric is the parameter metric of a time series.
type metric svc.Metric

// Parse reads the metric; the default is visitors.
func (m *metric) Parse(_ *route.Call, words []string) []svc.FieldError {
	word, problems := metricChoice().Parse(words)
	*m = metric(word)
	return problems
}

// Schema describes the parameter.
func (metric) Schema() route.Schema {
	return metricChoice().Schema()
}

func metricChoice() api.Choice {
	return api.Choice{Field: "metric", What: "metric", Fallback: string(svc.MetricVisitors), Allowed: api.Words(svc.Metrics())}
}

// feedLimit is the parameter limit of the event feed.
type feedLimit int

// Parse reads the page size.
func (l *feedLimit) Parse(_ *route.Call, words []string) []svc.FieldError {
	return api.ParseLimit((*int)(l), words, svc.MaxEventPageSize)
}

// Schema describes the parameter.
func (feedLimit) Schema() route.Schema { return api.LimitSchema() }
