package metrics

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/metric"
	"svc/protos"
	"svc/storage/clickhouse/clickhousetest"
)

// metricNow is the time of the reads in the tests of metrics.
var metricNow = time.Date(2026, 11, 20, 12, 7, 31, 0, time.UTC)

// observations returns points of a metric with random values over some days.
func observations(seed uint64, count int) []metric.Row {
	rng := rand.New(rand.NewPCG(seed, 8))
	rows := make([]metric.Row, count)
	for i := range rows {
		series := rng.IntN(6)
		back := time.Duration(rng.ExpFloat64() * float64(10*time.Hour)).Truncate(time.Millisecond)
		row := metric.Row{
			Environment: clickhousetest.Production().Number, Name: "latency", Series: uint64(series), Kind: metric.MetricHistogram, Unit: "ms",
			Labels: []metric.Label{{Key: "path", Value: fmt.Sprintf("/%d", series%3)}, {Key: "zone", Value: string(rune('a' + series/3))}},
			Ts:     metricNow.Add(-back), ReceivedAt: metricNow, RetentionDays: 90,
		}
		var values []float64
		for range 1 + rng.IntN(3) {
			values = append(values, math.Round(rng.NormFloat64()*rng.ExpFloat64()*1e6)/1e3)
		}
		row.Totals = metric.Totals{Count: 1, Sum: values[0], Min: values[0], Max: values[0]}
		if len(values) > 1 {
			row.Values, row.Totals = values, metric.Totals{Min: slices.Min(values), Max: slices.Max(values)}
			for _, value := range values {
				weight := uint64(1 + rng.IntN(3))
				row.Weights = append(row.Weights, weight)
				row.Count += weight
				row.Sum += value * float64(weight)
			}
		}
		rows[i] = row
	}
	return rows
}

// observationsOf returns every observation of points.
func observationsOf(rows []metric.Row) []float64 {
	var all []float64
	for _, row := range rows {
		if len(row.Values) == 0 {
			all = append(all, row.Sum)
		}
		for i, value := range row.Values {
			for range row.Weights[i] {
				all = append(all, value)
			}
		}
	}
	slices.Sort(all)
	return all
}

// reckon computes an aggregation without sketches or totals.
func reckon(agg metric.Agg, rows []metric.Row) *float64 {
	all := observationsOf(rows)
	sum := 0.0
	for _, value := range all {
		sum += value
	}
	count := float64(len(all))
	switch {
	case agg == metric.AggSum:
		return &sum
	case agg == metric.AggCount:
		return &count
	case len(all) == 0:
		return nil
	}
	value := map[metric.Agg]float64{metric.AggAvg: sum / count, metric.AggMin: all[0], metric.AggMax: all[len(all)-1]}[agg]
	if at, ok := agg.Percentile(); ok {
		value = all[int(math.Ceil(count*metric.Percentiles()[at]))-1]
	}
	return &value
}

// near compares values: sums up to rounding, percentiles of rollups up to the tolerance.
func near(got, want *float64, tolerance float64) bool {
	if got == nil || want == nil {
		return got == want
	}
	return math.Abs(*got-*want) <= tolerance*math.Abs(*want)+1e-6
}

// TestMetricSeries compares every aggregation, range and interval with a computation from the points.
func TestMetricSeries(t *testing.T) {
	db := open(t)
	rows := observations(1, 4000)
	for part := range 4 {
		block := db.NewBlock()
		for i := range rows[part*1000 : part*1000+1000] {
			block.AppendMetric(&rows[part*1000+i])
		}
		for range 2 { // a repetition under the same token changes nothing
			if err := db.Insert(deadline(t), fmt.Sprint("metrics", part), uint64(part), block); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Days of Kathmandu begin at 18:15 UTC, so hours do not add up to days.
	zones := []string{"Asia/Kathmandu", "Europe/Berlin"}
	if testing.Short() {
		zones = zones[:1]
	}
	for _, zone := range zones {
		compareMetrics(t, db, rows, clickhousetest.Location(t, zone))
	}
}

// compareMetrics compares the ranges and intervals of one time zone.
func compareMetrics(t *testing.T, db *testDB, rows []metric.Row, zone *time.Location) {
	t.Helper()
	for _, key := range metric.Ranges() {
		for _, interval := range metric.Intervals(key) {
			window, problems := metric.ParseMetricWindow(key, interval, metricNow, zone)
			if problems != nil {
				t.Fatal(problems)
			}
			for _, agg := range metric.Aggs() {
				compareMetric(t, db, rows, metric.Query{Environment: clickhousetest.Production(), Name: "latency", Agg: agg, Window: window})
			}
			for _, agg := range []metric.Agg{metric.AggP95, metric.AggAvg} {
				for _, db.rowsAtOnce = range []uint64{0, exactRows} {
					compareMetric(t, db, rows, metric.Query{
						Environment: clickhousetest.Production(), Name: "latency", Agg: agg, Window: window, GroupBy: "path", Groups: 2,
						Labels: []metric.Label{{Key: "path", Value: "/0"}, {Key: "path", Value: "/1"}, {Key: "path", Value: "/2"}, {Key: "zone", Value: "b"}},
					})
				}
			}
			compareMetric(t, db, rows, metric.Query{Environment: clickhousetest.Production(), Name: "latency", Agg: metric.AggSum, Window: window, Labels: []metric.Label{{Key: "nothing", Value: "x"}}})
		}
	}
}

func compareMetric(t *testing.T, db *testDB, rows []metric.Row, query metric.Query) {
	t.Helper()
	got, err := db.MetricSeries(deadline(t), query)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%s %s %s of %s", query.Agg, query.Window.Interval, query.Window.Key, query.Window.Source)
	tolerance := 1e-9
	if _, percentile := query.Agg.Percentile(); percentile && query.Window.Source == metric.SourceRollups {
		tolerance = metric.SketchAccuracy + 1e-9
	}
	buckets := append(query.Window.Buckets(), query.Window.To.Add(time.Millisecond))
	if len(got.Points) != len(buckets)-1 {
		t.Fatalf("%s: %d points instead of %d", name, len(got.Points), len(buckets)-1)
	}
	matching := slices.DeleteFunc(slices.Clone(rows), func(row metric.Row) bool {
		return row.Ts.Before(query.Window.From) || !row.Ts.Before(query.Window.To) || !keeps(query.Labels, row.Labels)
	})
	inside := inBuckets(buckets, matching)
	for i, point := range got.Points {
		if want := reckon(query.Agg, inside[i]); !point.T.Equal(buckets[i]) || !near(point.Value, want, tolerance) {
			t.Fatalf("%s: at %s %v instead of %v", name, point.T, show(point.Value), show(want))
		}
	}
	if count := uint64(len(observationsOf(matching))); got.Summary.Count != count {
		t.Fatalf("%s: the summary counts %d instead of %d", name, got.Summary.Count, count)
	}
	if query.GroupBy != "" {
		compareGroups(t, name, query, matching, got, tolerance)
	}
}

// inBuckets groups rows by their bucket.
func inBuckets(buckets []time.Time, rows []metric.Row) [][]metric.Row {
	inside := make([][]metric.Row, len(buckets))
	for _, row := range rows {
		at, exact := slices.BinarySearchFunc(buckets, row.Ts, time.Time.Compare)
		if !exact {
			at--
		}
		inside[at] = append(inside[at], row)
	}
	return inside
}

// compareGroupPoints compares the points of a group with its rows.
func compareGroupPoints(t *testing.T, name string, query metric.Query, rows []metric.Row, group metric.Group, tolerance float64) {
	t.Helper()
	if want := uint64(len(observationsOf(rows))); group.Summary.Count != want {
		t.Fatalf("%s: the summary of group %s counts %d instead of %d", name, group.Label, group.Summary.Count, want)
	}
	inside := inBuckets(query.Window.Buckets(), rows)
	for i, point := range group.Points {
		if want := reckon(query.Agg, inside[i]); !near(point.Value, want, tolerance) {
			t.Fatalf("%s: group %s at %s is %v instead of %v", name, group.Label, point.T, show(point.Value), show(want))
		}
	}
}

func compareGroups(t *testing.T, name string, query metric.Query, matching []metric.Row, got metric.Series, tolerance float64) {
	t.Helper()
	byLabel := map[string][]metric.Row{}
	for _, row := range matching {
		byLabel[row.Labels[0].Value] = append(byLabel[row.Labels[0].Value], row)
	}
	if got.GroupCount != len(byLabel) || len(got.Groups) != min(len(byLabel), query.Groups) {
		t.Fatalf("%s: %d groups of %d, instead of %d", name, len(got.Groups), got.GroupCount, len(byLabel))
	}
	for _, group := range got.Groups {
		if want := reckon(query.Agg, byLabel[group.Label]); !near(group.Value, want, tolerance) || len(group.Points) != len(got.Points) {
			t.Fatalf("%s: group %s is %v instead of %v", name, group.Label, show(group.Value), show(want))
		}
		compareGroupPoints(t, name, query, byLabel[group.Label], group, tolerance)
	}
	values := func(a, b metric.Group) int { return cmp.Compare(*b.Value, *a.Value) }
	if !slices.IsSortedFunc(got.Groups, values) {
		t.Fatalf("%s: the groups are not ordered by their values", name)
	}
}

func keeps(wanted, labels []metric.Label) bool {
	for _, one := range wanted {
		if !slices.ContainsFunc(wanted, func(w metric.Label) bool { return w.Key == one.Key && slices.Contains(labels, w) }) {
			return false
		}
	}
	return true
}

func show(value *float64) any {
	if value == nil {
		return nil
	}
	return *value
}

// TestMetricState reads the state that a new owner of a partition needs.
func TestMetricState(t *testing.T) {
	db := open(t)
	ctx := deadline(t)
	row := func(series uint64, id string, once bool, minute int, state string) metric.Row {
		at := metricNow.Add(time.Duration(minute) * time.Minute)
		return metric.Row{
			Environment: 7, Name: "requests", Series: series, Kind: metric.Counter, ID: id, Once: once, Ts: at, ReceivedAt: at, State: []byte(state),
			Labels: []metric.Label{{Key: "host", Value: fmt.Sprint(series)}}, RetentionDays: 90,
		}
	}
	for id, rows := range map[uint64][]metric.Row{
		1: {row(1, "", true, 0, "senderA a"), row(1, "", true, 1, "senderA b"), row(2, "mine", false, 1, ""), row(3, "", false, 1, "")},
		2: {row(1, "", true, 2, "senderA c"), row(4, "", true, 2, "senderA d")},
	} {
		block := db.NewBlock()
		for i := range rows {
			block.AppendMetric(&rows[i])
		}
		if err := db.Insert(ctx, fmt.Sprint("state", id), id, block); err != nil {
			t.Fatal(err)
		}
	}
	states := map[uint64]string{}
	err := db.Cumulatives(ctx, metricNow.Add(-time.Hour), 2, func(s metric.CumulativeSeries) {
		states[s.Series] = fmt.Sprint(s.Environment, s.Name, string(s.State), s.SeenAt.Sub(metricNow))
	})
	if want := map[uint64]string{1: "7requestssenderA b1m0s"}; err != nil || !reflect.DeepEqual(states, want) {
		t.Errorf("states %v, %v", states, err)
	}
	keys := map[[2]uint64]uint64{}
	err = db.RecentMetrics(ctx, metricNow.Add(-time.Hour), 2, 1000, func(metric uint64, key [2]uint64) { keys[key] = metric })
	m, at := protos.VisitorHash(7, "requests"), metricNow.UnixMilli()
	wantKeys := map[[2]uint64]uint64{protos.InstantKey(1, at): m, protos.InstantKey(1, at+60_000): m, protos.PointKey(2, "mine"): m}
	if err != nil || !reflect.DeepEqual(keys, wantKeys) {
		t.Errorf("keys %v, want %v (%v)", keys, wantKeys, err)
	}
	series := map[uint64]int{}
	if err := db.SeriesSince(ctx, []uint64{6, 7}, metricNow.Add(-time.Hour), func(environment uint64, numbers []uint64) { series[environment] = len(numbers) }); err != nil || len(series) != 1 || series[7] != 4 {
		t.Errorf("series %v, %v", series, err)
	}
	names, err := db.MetricNames(ctx, domain.Environment{Number: 7})
	want := []metric.Name{{Name: "requests", Kind: metric.Counter, LabelKeys: []string{"host"}, Series: 4, LastSeenAt: metricNow.Add(2 * time.Minute)}}
	if err != nil || !reflect.DeepEqual(names, want) {
		t.Errorf("names %+v, %v", names, err)
	}
}
