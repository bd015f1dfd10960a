package metric

import (
	"fmt"
	"slices"
	"time"

	"svc/domain"
)

// Interval is the width of a metric's buckets.
type Interval string

// metricIntervals lists the widths, the narrowest first.
func metricIntervals() []Interval {
	return []Interval{"1m", "5m", "15m", "1h", "6h", metricDay}
}

// metricDay is a local day, which may have 23 or 25 hours; the other intervals count from midnight UTC.
const metricDay Interval = "1d"

// Length returns the width; a day counts 24 hours.
func (i Interval) Length() time.Duration {
	return map[Interval]time.Duration{
		"1m": time.Minute, "5m": RollupSlot, "15m": 15 * time.Minute, "1h": time.Hour, "6h": 6 * time.Hour, metricDay: 24 * time.Hour,
	}[i]
}

// Source is the table that a read of a metric uses (contract 67).
type Source string

// The sources. With points, percentiles are as exact as the sender's data; with rollups they are within SketchAccuracy
// of that.
const (
	SourcePoints  Source = "points"
	SourceRollups Source = "rollups"
)

const (
	// RollupSlot is the step of rollups.
	RollupSlot = 5 * time.Minute
	// MaxMetricBuckets limits the points of a series (contract 67).
	MaxMetricBuckets = 1500
	// rawMetricTime is the longest range that is read from points by default.
	rawMetricTime = 6 * time.Hour
	// DefaultMetricRange is the range of a request that names none.
	DefaultMetricRange = "24h"
)

// Window is the span of time of a read of metrics: From is included, To is excluded.
type Window struct {
	Key      string
	From, To time.Time
	Interval Interval
	Source   Source
	Location *time.Location
}

// Ranges lists the range words of metrics.
func Ranges() []string { return []string{"1h", "6h", DefaultMetricRange, "7d", "30d", "90d"} }

// metricRange is the length of a range and its default interval.
type metricRange struct {
	length   time.Duration
	interval Interval
}

func metricRangeOf(key string) metricRange {
	const day = 24 * time.Hour
	return map[string]metricRange{
		"1h": {time.Hour, "1m"}, "6h": {rawMetricTime, "5m"}, "24h": {day, "15m"}, "7d": {7 * day, "1h"}, "30d": {30 * day, "6h"}, "90d": {90 * day, metricDay},
	}[key]
}

// Intervals lists the intervals into which a range may be divided.
func Intervals(key string) []string {
	var allowed []string
	for _, interval := range metricIntervals() {
		if metricRangeOf(key).length/interval.Length() <= MaxMetricBuckets {
			allowed = append(allowed, string(interval))
		}
	}
	return allowed
}

// IntervalWords lists all intervals.
func IntervalWords() []string { return Intervals(Ranges()[0]) }

// ParseMetricWindow parses a range and an interval; empty words mean the defaults. The window ends at now. It begins
// with the minute, the rollup slot or, with an interval of hours, the hour in which its length begins. A range over six
// hours is read from rollups unless the interval is finer than a rollup.
func ParseMetricWindow(key, interval string, now time.Time, loc *time.Location) (Window, []domain.FieldError) {
	if key == "" {
		key = DefaultMetricRange
	}
	if !slices.Contains(Ranges(), key) {
		return Window{}, []domain.FieldError{{Field: "range", Code: "unknown_value", Message: fmt.Sprintf("Unknown range %q.", key), Allowed: Ranges()}}
	}
	span := metricRangeOf(key)
	if interval == "" {
		interval = string(span.interval)
	}
	if allowed := Intervals(key); !slices.Contains(allowed, interval) {
		message := fmt.Sprintf("The interval %q does not suit the range %s; a series has at most %d points.", interval, key, MaxMetricBuckets)
		if !slices.Contains(IntervalWords(), interval) {
			message = fmt.Sprintf("Unknown interval %q.", interval)
		}
		return Window{}, []domain.FieldError{{Field: "interval", Code: "unknown_value", Message: message, Allowed: allowed}}
	}
	w := Window{Key: key, To: now, Interval: Interval(interval), Source: SourcePoints, Location: loc}
	step := time.Minute
	if span.length > rawMetricTime && w.Interval.Length() >= RollupSlot {
		w.Source, step = SourceRollups, RollupSlot
	}
	if w.Interval.Length() >= time.Hour {
		step = time.Hour
	}
	w.From = now.Add(-span.length).Truncate(step)
	return w, nil
}

// Buckets returns the beginnings of all buckets that the window touches. The last bucket contains To; the first may
// begin before From.
func (w Window) Buckets() []time.Time {
	if w.Interval == metricDay {
		return domain.Window{From: w.From, To: w.To.Add(time.Millisecond), Location: w.Location}.Buckets(domain.Day)
	}
	var out []time.Time
	for t := w.From.UTC().Truncate(w.Interval.Length()); !t.After(w.To); t = t.Add(w.Interval.Length()) {
		out = append(out, t)
	}
	return out
}
