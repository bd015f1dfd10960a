package telemetry

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/telemetry"
	"svc/http/api"
	"svc/http/route"
)

type getCardinality struct {
	api.AppPath
	Env  api.Env `query:"env" doc:"The environment's slug."`
	Days days    `query:"days" doc:"How many days back series and events count."`
}

// days is the parameter days.
type days int

// Parse reads a number of days.
func (d *days) Parse(_ *route.Call, words []string) []domain.FieldError {
	*d = telemetry.DefaultCardinalityDays
	word := api.First(words)
	if word == "" {
		return nil
	}
	number, err := strconv.Atoi(word)
	if err != nil || number < 1 || number > telemetry.MaxCardinalityDays {
		return []domain.FieldError{{Field: "days", Code: "out_of_range", Message: fmt.Sprintf("days must be 1 to %d.", telemetry.MaxCardinalityDays)}}
	}
	*d = days(number)
	return nil
}

// Schema describes the parameter.
func (days) Schema() route.Schema {
	return route.Schema{"type": "integer", "minimum": 1, "maximum": telemetry.MaxCardinalityDays, "default": telemetry.DefaultCardinalityDays}
}

// cardinalityAnswer is the answer of GET …/telemetry/cardinality (contract 28).
type cardinalityAnswer struct {
	Environment string     `json:"environment"`
	Since       route.Time `json:"since" doc:"Series with a point, and events, since then count."`
	// Metrics and Properties are nil if the caller may not read them.
	Metrics      *[]metricWidth   `json:"metrics" doc:"The metrics with most series, 50 at most; null without metrics.read."`
	Series       *int64           `json:"series" doc:"Series of all metrics; null without metrics.read."`
	Properties   *[]propertyWidth `json:"properties" doc:"The properties with most values in the newest events, 100 at most; null without analytics.read."`
	PropertyKeys *int64           `json:"propertyKeys" doc:"Pairs of event and property in them, 10000 at most; null without analytics.read."`
	Events       *int64           `json:"events" doc:"How many of the newest events were looked at, 50000 at most; null without analytics.read."`
	Truncated    bool             `json:"truncated" doc:"There is more than the answer lists, or more than was looked at."`
}

// metricWidth is the number of series of a metric, and the labels that make them.
type metricWidth struct {
	Name      string       `json:"name"`
	Series    int64        `json:"series" doc:"Exact up to some ten thousand, then within 1 %."`
	TopLabels []labelWidth `json:"topLabels" doc:"The labels with most values, 5 at most."`
}

// labelWidth is the number of values of a label.
type labelWidth struct {
	Key            string   `json:"key"`
	DistinctValues int64    `json:"distinctValues"`
	SampleValues   []string `json:"sampleValues" doc:"Some of the values, 5 at most."`
}

// propertyWidth is the number of values of a property.
type propertyWidth struct {
	Event          string                   `json:"event"`
	Key            string                   `json:"key"`
	DistinctValues int64                    `json:"distinctValues"`
	Types          []analytics.PropertyType `json:"types"`
}

func metricWidthOf(m *telemetry.MetricWidth) metricWidth {
	return metricWidth{Name: m.Name, Series: m.Series, TopLabels: api.Convert(m.Labels, func(l *telemetry.LabelWidth) labelWidth {
		return labelWidth{Key: l.Key, DistinctValues: l.DistinctValues, SampleValues: append([]string{}, l.Samples...)}
	})}
}

func propertyWidthOf(p *telemetry.PropertyWidth) propertyWidth {
	return propertyWidth{Event: p.Event, Key: p.Key, DistinctValues: p.DistinctValues, Types: p.Types}
}

// cardinality answers both halves; a half that the caller may not read is null.
func (t handlers) cardinality(ctx context.Context, call *route.Call, in getCardinality) (cardinalityAnswer, error) {
	since := call.Now.UTC().Truncate(time.Minute).AddDate(0, 0, -int(in.Days))
	query := telemetry.CardinalityQuery{Environment: in.Env.Environment, Since: since, Masked: !call.Grant.May(domain.PermPeoplePIIRead)}
	answer := cardinalityAnswer{Environment: in.Env.Slug, Since: route.Time(since)}
	if call.Grant.May(domain.PermMetricsRead) {
		found, err := t.Cardinality.MetricCardinality(ctx, query)
		if err != nil {
			return answer, err
		}
		rows := api.Convert(found.Metrics, metricWidthOf)
		answer.Metrics, answer.Series, answer.Truncated = &rows, &found.Series, found.Truncated
	}
	if call.Grant.May(domain.PermAnalyticsRead) {
		found, err := t.Cardinality.PropertyCardinality(ctx, query)
		if err != nil {
			return answer, err
		}
		rows := api.Convert(found.Properties, propertyWidthOf)
		answer.Properties, answer.PropertyKeys, answer.Events = &rows, &found.Keys, &found.Events
		answer.Truncated = answer.Truncated || found.Truncated
	}
	return answer, nil
}
