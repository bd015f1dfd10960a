package telemetry

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/telemetry"
	"svc/storage/clickhouse"
)

// MetricCardinality returns the metrics with the most series, and the labels that cause them.
func (db *Store) MetricCardinality(ctx context.Context, q telemetry.CardinalityQuery) (telemetry.MetricCardinality, error) {
	key := fmt.Sprintf("metric cardinality %d %d", q.Environment.Number, q.Since.UnixMilli())
	return clickhouse.Share(ctx, db.conn.Of(q.Environment.Number), key, func(ctx context.Context) (telemetry.MetricCardinality, error) {
		out, err := db.metricWidths(ctx, q)
		if err != nil || len(out.Metrics) == 0 {
			return out, err
		}
		return out, db.labelWidths(ctx, q, out.Metrics)
	})
}

// metricWidths counts the series of each metric.
func (db *Store) metricWidths(ctx context.Context, q telemetry.CardinalityQuery) (telemetry.MetricCardinality, error) {
	out := telemetry.MetricCardinality{Metrics: []telemetry.MetricWidth{}}
	looked := int64(0)
	args := clickhouse.Args{"environment": q.Environment.Number, "since": q.Since, "limit": telemetry.CardinalityMetrics + 1}
	err := db.conn.Read(ctx, "counting series", db.queries["cardinality.Metrics"], args, func(rows driver.Rows) (bool, error) {
		var metric telemetry.MetricWidth
		var series, total uint64
		if err := rows.Scan(&metric.Name, &series, &total); err != nil {
			return false, err
		}
		out.Series = int64(total)
		if len(out.Metrics) == telemetry.CardinalityMetrics {
			out.Truncated = true
			return false, nil
		}
		metric.Series = int64(series)
		looked += metric.Series
		out.Truncated = looked > telemetry.CardinalitySeries
		out.Metrics = append(out.Metrics, metric)
		return true, nil
	})
	return out, err
}

// labelWidths adds the widest labels of metrics.
func (db *Store) labelWidths(ctx context.Context, q telemetry.CardinalityQuery, metrics []telemetry.MetricWidth) error {
	names, narrow, places, series := make([]string, len(metrics)), []string{}, map[string]int{}, int64(0)
	for n := range metrics {
		names[n], places[metrics[n].Name] = metrics[n].Name, n
		series += metrics[n].Series
		if metrics[n].Series <= telemetry.CardinalityNarrow {
			narrow = append(narrow, metrics[n].Name)
		}
	}
	share := 1 + (series-1)/telemetry.CardinalitySeries
	args := clickhouse.Args{
		"environment": q.Environment.Number, "since": q.Since, "names": names, "narrow": narrow, "share": share, "labels": telemetry.CardinalityLabels,
	}
	return db.conn.Read(ctx, "counting values of labels", db.queries["cardinality.Labels"], args, func(rows driver.Rows) (bool, error) {
		var name string
		var label telemetry.LabelWidth
		var values uint64
		if err := rows.Scan(&name, &label.Key, &values, &label.Samples); err != nil {
			return false, err
		}
		label.DistinctValues = int64(values)
		slices.Sort(label.Samples)
		metric := &metrics[places[name]]
		metric.Labels = append(metric.Labels, label)
		return true, nil
	})
}

// PropertyCardinality returns the properties with the most values among the newest events.
func (db *Store) PropertyCardinality(ctx context.Context, q telemetry.CardinalityQuery) (telemetry.PropertyCardinality, error) {
	key := fmt.Sprintf("property cardinality %d %d %t", q.Environment.Number, q.Since.UnixMilli(), q.Masked)
	return clickhouse.Share(ctx, db.conn.Of(q.Environment.Number), key, func(ctx context.Context) (telemetry.PropertyCardinality, error) {
		return db.propertyWidths(ctx, q)
	})
}

func (db *Store) propertyWidths(ctx context.Context, q telemetry.CardinalityQuery) (telemetry.PropertyCardinality, error) {
	out := telemetry.PropertyCardinality{Properties: []telemetry.PropertyWidth{}}
	args := clickhouse.Args{"environment": q.Environment.Number, "since": q.Since, "besides": "", "events": telemetry.CardinalityEvents + 1, "limit": telemetry.CardinalityProperties + 1}
	if q.Masked {
		args["besides"] = event.IdentifyEvent
	}
	var events uint64
	err := db.conn.Read(ctx, "counting events with properties", db.queries["cardinality.Events"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&events)
	})
	if err != nil {
		return out, err
	}
	out.Events, out.Truncated = min(int64(events), telemetry.CardinalityEvents), events > telemetry.CardinalityEvents
	args["events"] = out.Events
	err = db.conn.Read(ctx, "counting values of properties", db.queries["cardinality.Properties"], args, func(rows driver.Rows) (bool, error) {
		row, keys, err := scanPropertyWidth(rows, q.Masked)
		if err != nil {
			return false, err
		}
		if out.Keys = keys; len(out.Properties) == telemetry.CardinalityProperties {
			out.Truncated = true
			return false, nil
		}
		out.Properties = append(out.Properties, row)
		return true, nil
	})
	return out, err
}

// scanPropertyWidth reads a property. If masked is set, it removes e-mail addresses from the names.
func scanPropertyWidth(rows driver.Rows, masked bool) (row telemetry.PropertyWidth, keys int64, err error) {
	var types []string
	var values, all uint64
	if err := rows.Scan(&row.Event, &row.Key, &values, &types, &all); err != nil {
		return row, 0, err
	}
	for _, word := range types {
		row.Types = append(row.Types, analytics.PropertyType(word))
	}
	if masked {
		row.Event, row.Key = domain.MaskShapes(row.Event), domain.MaskShapes(row.Key)
	}
	row.DistinctValues = int64(values)
	return row, int64(all), nil
}
