package analytics

import (
	"context"
	"math"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/domain/share"
	"svc/http/api"
	"svc/http/route"
)

// Analytics serves the reads of the analytics module. An event that matches a goal is a conversion.
type Analytics interface {
	// Overview returns the headline of a window and of the one before.
	Overview(ctx context.Context, scope analytics.Scope, goals []goal.Matcher) (analytics.Overview, error)
	// Timeseries returns a dense series.
	Timeseries(ctx context.Context, scope analytics.Scope, metric analytics.Metric, interval domain.Interval, goals []goal.Matcher) (analytics.Series, error)
}

// handlers serves the routes of the analytics module.
type handlers struct {
	analytics Analytics
	segments  Segments
}

func summaryRoutes(ports Ports) []route.Route {
	analytics := handlers{analytics: ports.Analytics, segments: ports.Segments}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/overview", Operation: "analytics.overview", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppGoals, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Headline metrics with a comparison window", Handler: route.Typed(marked(ports.Sampling, analytics.overview)),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/analytics/timeseries", Operation: "analytics.timeseries", Module: domain.ModuleAnalytics, Scope: domain.ScopeRead, Permission: domain.PermAnalyticsRead, AppPart: share.AppGoals, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "One metric bucketed over a range", Handler: route.Typed(marked(ports.Sampling, analytics.timeseries)),
		},
	}
}

// headline holds the metrics of one window as answers show them.
type headline struct {
	Visitors       uint64  `json:"visitors" doc:"Daily uniques, summed over the range."`
	UniqueVisitors uint64  `json:"uniqueVisitors" doc:"Distinct visitors over the whole range."`
	Pageviews      uint64  `json:"pageviews"`
	Sessions       uint64  `json:"sessions"`
	BounceRate     float64 `json:"bounceRate" doc:"0..1"`
	AvgDurationMs  uint64  `json:"avgDurationMs"`
	Conversions    uint64  `json:"conversions"`
}

// headlineDelta contains the changes as percentages; null if the window before was zero.
type headlineDelta struct {
	Visitors       *float64 `json:"visitors"`
	UniqueVisitors *float64 `json:"uniqueVisitors"`
	Pageviews      *float64 `json:"pageviews"`
	Sessions       *float64 `json:"sessions"`
	BounceRate     *float64 `json:"bounceRate"`
	AvgDurationMs  *float64 `json:"avgDurationMs"`
	Conversions    *float64 `json:"conversions"`
}

// comparison is the headline of the window before with the changes since.
type comparison struct {
	headline
	Delta headlineDelta `json:"delta"`
}

// windowShape is a span of time as answers show it.
type windowShape struct {
	From     route.Time      `json:"from"`
	To       route.Time      `json:"to"`
	Interval domain.Interval `json:"interval"`
}

// overview is the answer of …/analytics/overview.
type overview struct {
	Range       windowShape `json:"range"`
	Environment string      `json:"environment"`
	headline
	Capped     bool       `json:"capped" doc:"The numbers describe the last 90 days of the range."`
	Comparison comparison `json:"comparison"`
	sampling
}

func headlineOf(h analytics.Headline) headline {
	return headline{
		Visitors: h.Visitors, UniqueVisitors: h.UniqueVisitors, Pageviews: h.Pageviews, Sessions: h.Sessions,
		BounceRate: finite(h.BounceRate), AvgDurationMs: h.AvgDurationMs, Conversions: h.Conversions,
	}
}

func deltaOf(now, before headline) headlineDelta {
	count := func(now, before uint64) *float64 { return domain.Delta(float64(now), float64(before)) }
	return headlineDelta{
		Visitors: count(now.Visitors, before.Visitors), UniqueVisitors: count(now.UniqueVisitors, before.UniqueVisitors),
		Pageviews: count(now.Pageviews, before.Pageviews), Sessions: count(now.Sessions, before.Sessions),
		BounceRate: domain.Delta(now.BounceRate, before.BounceRate), AvgDurationMs: count(now.AvgDurationMs, before.AvgDurationMs),
		Conversions: count(now.Conversions, before.Conversions),
	}
}

// finite returns a number that JSON can represent: zero for infinities and NaN.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

type getOverview struct {
	api.AppPath
	covered
}

func (a handlers) overview(ctx context.Context, call *route.Call, in getOverview) (overview, error) {
	scope, err := in.scope(ctx, call, a.segments)
	if err != nil {
		return overview{}, err
	}
	result, err := a.analytics.Overview(ctx, scope, goal.Matchers(call.Parts.Goals))
	if err != nil {
		return overview{}, err
	}
	now, before := headlineOf(result.Current), headlineOf(result.Previous)
	return overview{
		Range:       windowShape{From: route.Time(in.Range.From), To: route.Time(in.Range.To), Interval: in.Range.Interval},
		Environment: in.Env.Slug, headline: now, Capped: result.Capped,
		Comparison: comparison{headline: before, Delta: deltaOf(now, before)},
	}, nil
}

type getTimeseries struct {
	api.AppPath
	covered
	Metric   metricName `query:"metric" doc:"What the series counts."`
	Interval string     `query:"interval" doc:"The width of a bucket; the range's own grain where it is absent." enum:"hour,day,week,month"`
}

// Check refuses an interval that is too fine for the range.
func (g *getTimeseries) Check(*route.Call) []domain.FieldError {
	if g.Range.Location == nil {
		return nil
	}
	if _, problem := g.Range.ParseInterval(g.Interval); problem != nil {
		return []domain.FieldError{*problem}
	}
	return nil
}

// series is the answer of …/analytics/timeseries.
type series struct {
	Metric      analytics.Metric `json:"metric"`
	Interval    domain.Interval  `json:"interval"`
	Environment string           `json:"environment"`
	Capped      bool             `json:"capped" doc:"The numbers describe the last 90 days of the range."`
	Points      []point          `json:"points" doc:"Dense: a quiet bucket is a zero."`
	sampling
}

type point struct {
	T     route.Time `json:"t"`
	Value float64    `json:"value"`
}

func (a handlers) timeseries(ctx context.Context, call *route.Call, in getTimeseries) (series, error) {
	interval, problem := in.Range.ParseInterval(in.Interval)
	if problem != nil {
		return series{}, domain.Invalid(*problem)
	}
	scope, err := in.scope(ctx, call, a.segments)
	if err != nil {
		return series{}, err
	}
	result, err := a.analytics.Timeseries(ctx, scope, analytics.Metric(in.Metric), interval, goal.Matchers(call.Parts.Goals))
	if err != nil {
		return series{}, err
	}
	points := api.Convert(result.Points, func(p *analytics.Point) point { return point{T: route.Time(p.T), Value: finite(p.Value)} })
	return series{Metric: analytics.Metric(in.Metric), Interval: interval, Environment: in.Env.Slug, Capped: result.Capped, Points: points}, nil
}
