package analytics

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/segment"
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
func (c *covered) scope(ctx context.Context, call *route.Call, segments Segments) (analytics.Scope, error) {
	scope := analytics.Scope{App: c.Env.App, Environment: c.Env.Environment, Window: c.Range.Window, Filters: c.Filter.Filters, IncludeBots: c.IncludeBots, AsOf: call.Now}
	id := scope.Filters.Value(filter.DimSegment)
	switch {
	case id == "":
		return scope, nil
	case !slices.Contains(call.App.Modules, domain.ModulePeople):
		return scope, domain.Invalid(domain.FieldError{Field: "filter", Code: "unknown_segment", Message: "The application has no segments: its module people is off."})
	case !call.Grant.May(domain.PermPeopleRead):
		return scope, &domain.Error{Code: domain.CodeForbidden, Required: &domain.Required{Permission: domain.PermPeopleRead}, Message: "A filter by a segment needs people.read."}
	}
	all, err := segments.Segments(ctx, call.App)
	if err != nil {
		return scope, err
	}
	at := slices.IndexFunc(all, func(one segment.Segment) bool { return one.ID == id })
	if at < 0 {
		return scope, domain.Invalid(domain.FieldError{Field: "filter", Code: "unknown_segment", Message: fmt.Sprintf("The application has no segment %q.", id)})
	}
	scope.Segment = &all[at]
	return scope, nil
}

// Segments stores the segments of applications.
type Segments interface {
	// Segments returns the segments of an application.
	Segments(ctx context.Context, app domain.Application) ([]segment.Segment, error)
}

// window is the parameter range in the application's time zone.
type window struct{ domain.Window }

// Parse reads the range word; relative ranges end at the request.
func (w *window) Parse(call *route.Call, words []string) []domain.FieldError {
	parsed, problem := domain.ParseWindow(api.First(words), call.Now, call.App.Location())
	if problem != nil {
		return []domain.FieldError{*problem}
	}
	w.Window = parsed
	return nil
}

// Schema describes the parameter.
func (window) Schema() route.Schema {
	return route.Schema{"type": "string", "default": domain.DefaultWindow, "examples": []string{"24h", "30d", "today", "custom:2026-01-01..2026-01-31"}}
}

// filters is the repeatable parameter filter.
type filters struct{ filter.Filters }

// Parse reads the pairs.
func (f *filters) Parse(_ *route.Call, words []string) []domain.FieldError {
	parsed, problems := filter.ParseFilters(words)
	f.Filters = parsed
	return problems
}

// Repeats marks the parameter as repeatable.
func (*filters) Repeats() {}

// Schema describes the parameter.
func (filters) Schema() route.Schema {
	names := make([]string, 0, len(filter.FilterDimensions()))
	for _, dimension := range filter.FilterDimensions() {
		names = append(names, string(dimension))
	}
	return route.Schema{"type": "array", "items": route.Schema{"type": "string", "pattern": "^(" + strings.Join(names, "|") + "):"}}
}

// metricName is the parameter metric of a time series.
type metricName analytics.Metric

// Parse reads the metric; the default is visitors.
func (m *metricName) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := metricChoice().Parse(words)
	*m = metricName(word)
	return problems
}

// Schema describes the parameter.
func (metricName) Schema() route.Schema {
	return metricChoice().Schema()
}

func metricChoice() api.Choice {
	return api.Choice{Field: "metric", What: "metric", Fallback: string(analytics.MetricVisitors), Allowed: api.Words(analytics.Metrics())}
}

// feedLimit is the parameter limit of the event feed.
type feedLimit int

// Parse reads the page size.
func (l *feedLimit) Parse(_ *route.Call, words []string) []domain.FieldError {
	return api.ParseLimit((*int)(l), words, domain.MaxEventPageSize)
}

// Schema describes the parameter.
func (feedLimit) Schema() route.Schema { return api.LimitSchema() }
