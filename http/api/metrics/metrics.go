package metrics

import (
	"context"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/metric"
	"svc/http/api"
	"svc/http/route"
)

// Metrics reads metrics.
type Metrics interface {
	// MetricNames returns the metrics of an environment, sorted by name.
	MetricNames(ctx context.Context, environment domain.Environment) ([]metric.Name, error)
	// MetricSeries returns a metric in buckets; an unknown metric has no values.
	MetricSeries(ctx context.Context, query metric.Query) (metric.Series, error)
}

// metrics serves the routes of metrics.
type metrics struct{ metrics Metrics }

func metricRoutes(ports Ports) []route.Route {
	metrics := metrics{metrics: ports.Metrics}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/metrics/names", Operation: "metrics.names", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Metric names, kinds and units", Handler: route.Typed(metrics.names),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/metrics/series", Operation: "metrics.series", Module: domain.ModuleMetrics, Scope: domain.ScopeRead, Permission: domain.PermMetricsRead, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "One metric aggregated into buckets", Handler: route.Typed(metrics.series),
		},
	}
}

type listMetricNames struct {
	api.AppPath
	api.Paging
	Env api.Env `query:"env" doc:"The environment's slug."`
}

// metricName is one row of …/metrics/names (contract 67).
type metricName struct {
	Name       string      `json:"name"`
	Kind       metric.Kind `json:"kind" open:"true"`
	Unit       string      `json:"unit" doc:"As the sender says it; empty where it does not."`
	LabelKeys  []string    `json:"labelKeys"`
	Series     uint64      `json:"series"`
	LastSeenAt route.Time  `json:"lastSeenAt"`
}

func metricNameOf(n *metric.Name) metricName {
	return metricName{
		Name: n.Name, Kind: n.Kind, Unit: n.Unit, LabelKeys: append([]string{}, n.LabelKeys...), Series: n.Series, LastSeenAt: route.Time(n.LastSeenAt),
	}
}

// metricNamePage is the answer of …/metrics/names.
type metricNamePage struct {
	domain.Page[metricName]
	Environment string `json:"environment"`
}

func (m metrics) names(ctx context.Context, call *route.Call, in listMetricNames) (metricNamePage, error) {
	names, err := m.metrics.MetricNames(ctx, in.Env.Environment)
	if err != nil {
		return metricNamePage{}, err
	}
	page, err := api.PageOfAll(call, api.Convert(names, metricNameOf), in.Paging, func(n metricName) string { return n.Name })
	return metricNamePage{Page: page, Environment: in.Env.Slug}, err
}

type getMetricSeries struct {
	api.AppPath
	Env      api.Env        `query:"env" doc:"The environment's slug."`
	Name     string         `query:"name" required:"true" doc:"The metric's name."`
	Agg      agg            `query:"agg" doc:"How the observations of a bucket become its value."`
	Range    metricRange    `query:"range" doc:"The span of time; it ends now."`
	Interval metricInterval `query:"interval" doc:"The width of a bucket; the range's own where it is missing. A series has at most 1500 points."`
	Labels   labelFilter    `query:"label.<key>" doc:"Keeps the series whose label has the value. One key may have several values, of which any will do; every key must be met."`
	GroupBy  string         `query:"groupBy" doc:"A label; the answer has the groups of its values with the highest value, at most 10."`
}

// maxMetricGroups bounds the groups of an answer.
const maxMetricGroups = 10

// Check validates the interval against the range.
func (in *getMetricSeries) Check(call *route.Call) []domain.FieldError {
	window, problems := metric.ParseMetricWindow(string(in.Range.key), string(in.Interval), call.Now, call.App.Location())
	in.Range.Window = window
	if len(in.GroupBy) > metric.MaxLabelKey {
		problems = append(problems, domain.FieldError{Field: "groupBy", Code: "too_long", Message: "The name of the label is too long."})
	}
	return problems
}

// metricPoint is one bucket.
type metricPoint struct {
	T     route.Time `json:"t"`
	Value *float64   `json:"value" doc:"A quiet bucket has a sum and a count of 0, and no other value."`
}

func metricPointOf(p *metric.Point) metricPoint {
	return metricPoint{T: route.Time(p.T), Value: p.Value}
}

// metricSummary contains the numbers of the whole range.
type metricSummary struct {
	Count uint64   `json:"count" doc:"Observations."`
	Sum   *float64 `json:"sum"`
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
	Avg   *float64 `json:"avg"`
}

func metricSummaryOf(t metric.Totals) metricSummary {
	return metricSummary{Count: t.Count, Sum: metric.AggSum.Of(t), Min: metric.AggMin.Of(t), Max: metric.AggMax.Of(t), Avg: metric.AggAvg.Of(t)}
}

// metricGroup is the part of a metric with one value of a label.
type metricGroup struct {
	Label   string        `json:"label" doc:"The label's value; empty for the series without the label."`
	Value   *float64      `json:"value" doc:"That of the whole range."`
	Points  []metricPoint `json:"points"`
	Summary metricSummary `json:"summary"`
}

func metricGroupOf(g *metric.Group) metricGroup {
	return metricGroup{Label: g.Label, Value: g.Value, Points: api.Convert(g.Points, metricPointOf), Summary: metricSummaryOf(g.Summary)}
}

// metricSeries is the answer of …/metrics/series.
type metricSeries struct {
	Name        string          `json:"name"`
	Agg         metric.Agg      `json:"agg" open:"true"`
	Interval    metric.Interval `json:"interval" open:"true"`
	Source      metric.Source   `json:"source" open:"true" doc:"points or rollups; percentiles of rollups are within 1 % of those of the points."`
	Range       metricSpan      `json:"range"`
	Points      []metricPoint   `json:"points"`
	Summary     metricSummary   `json:"summary"`
	Groups      []metricGroup   `json:"groups,omitempty" doc:"With groupBy: the highest first."`
	GroupCount  *int            `json:"groupCount,omitempty" doc:"With groupBy: how many groups there are."`
	Environment string          `json:"environment"`
}

// metricSpan is a span of time with the word of its parameter.
type metricSpan struct {
	From route.Time `json:"from"`
	To   route.Time `json:"to"`
	Key  string     `json:"key"`
}

// known fails with not_found if the environment has never had a metric with the name.
func (m metrics) known(ctx context.Context, environment domain.Environment, name string) error {
	names, err := m.metrics.MetricNames(ctx, environment)
	if err == nil && !slices.ContainsFunc(names, func(one metric.Name) bool { return one.Name == name }) {
		err = domain.NotFound("metric")
	}
	return err
}

func (m metrics) series(ctx context.Context, _ *route.Call, in getMetricSeries) (metricSeries, error) {
	window := in.Range.Window
	found, err := m.metrics.MetricSeries(ctx, metric.Query{
		Environment: in.Env.Environment, Name: in.Name, Agg: metric.Agg(in.Agg), Window: window, Labels: in.Labels, GroupBy: in.GroupBy, Groups: maxMetricGroups,
	})
	if err != nil {
		return metricSeries{}, err
	}
	if found.Summary.Count == 0 {
		if err := m.known(ctx, in.Env.Environment, in.Name); err != nil {
			return metricSeries{}, err
		}
	}
	out := metricSeries{
		Name: in.Name, Agg: metric.Agg(in.Agg), Interval: window.Interval, Source: window.Source,
		Range:  metricSpan{From: route.Time(window.From), To: route.Time(window.To), Key: window.Key},
		Points: api.Convert(found.Points, metricPointOf), Summary: metricSummaryOf(found.Summary), Environment: in.Env.Slug,
	}
	if in.GroupBy != "" {
		out.Groups, out.GroupCount = api.Convert(found.Groups, metricGroupOf), &found.GroupCount
	}
	return out, nil
}

// agg is the parameter agg of a series.
type agg metric.Agg

// Parse reads the aggregation; the default is the mean.
func (a *agg) Parse(_ *route.Call, words []string) []domain.FieldError {
	word, problems := aggChoice().Parse(words)
	*a = agg(word)
	return problems
}

// Schema describes the parameter.
func (agg) Schema() route.Schema {
	return aggChoice().Schema()
}

func aggChoice() api.Choice {
	return api.Choice{Field: "agg", What: "aggregation", Fallback: string(metric.AggAvg), Allowed: api.Words(metric.Aggs())}
}

// metricRange is the parameter range of a series.
type metricRange struct {
	metric.Window
	key string
}

// Parse stores the word for Check, which knows the interval.
func (r *metricRange) Parse(_ *route.Call, words []string) []domain.FieldError {
	r.key = api.First(words)
	return nil
}

// Schema describes the parameter.
func (metricRange) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": metric.Ranges(), "default": metric.DefaultMetricRange}
}

// metricInterval is the parameter interval of a series.
type metricInterval string

// Parse stores the word for the check of the whole input.
func (i *metricInterval) Parse(_ *route.Call, words []string) []domain.FieldError {
	*i = metricInterval(api.First(words))
	return nil
}

// Schema describes the parameter.
func (metricInterval) Schema() route.Schema {
	return route.Schema{"type": "string", "enum": metric.IntervalWords()}
}

// labelFilter is the repeatable parameter label.<key>.
type labelFilter []metric.Label

// maxLabelFilters bounds the filters of a request.
const maxLabelFilters = 50

// Parse reads the pairs.
func (f *labelFilter) Parse(_ *route.Call, words []string) []domain.FieldError {
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if key == "" || value == "" || len(word) > metric.MaxLabelKey+metric.MaxLabelValue {
			return []domain.FieldError{{Field: "label." + key, Code: "invalid_value", Message: "A label filter needs a name and a value."}}
		}
		*f = append(*f, metric.Label{Key: key, Value: value})
	}
	if len(*f) > maxLabelFilters {
		return []domain.FieldError{{Field: "label.<key>", Code: "too_many", Message: "There are more than 50 label filters."}}
	}
	return nil
}

// Repeats marks the parameter as repeatable.
func (*labelFilter) Repeats() {}

// Schema describes the parameter.
func (labelFilter) Schema() route.Schema {
	return route.Schema{"type": "array", "items": route.Schema{"type": "string"}}
}
