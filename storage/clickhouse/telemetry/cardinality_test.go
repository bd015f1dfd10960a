package telemetry

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/telemetry"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// seen adds series of a metric to the catalogue, each with its own value for the label id.
func seen(t testing.TB, conn *clickhouse.Conn, environment uint64, name string, numbers int, at time.Time) {
	t.Helper()
	clickhousetest.Exec(t, conn, fmt.Sprintf(`INSERT INTO metric_seen
		SELECT %d, '%s', cityHash64('%s', number), toDateTime64('%s', 3, 'UTC'), 'counter', '',
			['host', 'id', 'path', 'region', 'status', 'tier'],
			[toString(number %% 100), toString(number), concat('/', toString(number %% 1000)), toString(number %% 4), toString(number %% 2), 'one'], '2100-01-01'
		FROM numbers(%d)`, environment, name, name, at.UTC().Format("2006-01-02 15:04:05"), numbers))
}

// happened stores events of one name. properties is an SQL expression over number.
func happened(t testing.TB, conn *clickhouse.Conn, environment uint64, name, properties string, numbers int, at time.Time) {
	t.Helper()
	clickhousetest.Exec(t, conn, fmt.Sprintf(`INSERT INTO events (environment, ts, received_at, id, name, properties, expires)
		SELECT %d, toDateTime64('%s', 3, 'UTC') - number AS at, at, concat('%s', toString(number)), '%s', %s, '2100-01-01' FROM numbers(%d)`,
		environment, at.UTC().Format("2006-01-02 15:04:05"), name, name, properties, numbers))
}

// TestMetricCardinality counts the series of one environment since a time, and names the labels that cause them.
func TestMetricCardinality(t *testing.T) {
	store, conn := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen(t, conn, 7, "requests", 3000, now)
	seen(t, conn, 7, "requests", 3000, now) // seen again, but not merged yet
	seen(t, conn, 7, "latency", 3, now)
	seen(t, conn, 7, "forgotten", 9, now.AddDate(0, 0, -8))
	seen(t, conn, 8, "of.others", 9, now)
	got, err := store.MetricCardinality(t.Context(), telemetry.CardinalityQuery{Environment: clickhousetest.Production(), Since: now.AddDate(0, 0, -7)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Metrics) != 2 || got.Series != 3003 || got.Truncated {
		t.Fatalf("the answer is %+v", got)
	}
	wide, narrow := got.Metrics[0], got.Metrics[1]
	if wide.Name != "requests" || wide.Series != 3000 || len(wide.Labels) != telemetry.CardinalityLabels || len(wide.Labels[0].Samples) != telemetry.CardinalitySamples {
		t.Fatalf("the widest metric is %+v", wide)
	}
	var labels []string
	for _, label := range wide.Labels {
		labels = append(labels, fmt.Sprint(label.Key, " ", label.DistinctValues))
	}
	if want := []string{"id 3000", "path 1000", "host 100", "region 4", "status 2"}; !reflect.DeepEqual(labels, want) {
		t.Errorf("the labels are %v, not %v", labels, want)
	}
	if want := (telemetry.LabelWidth{Key: "host", DistinctValues: 3, Samples: []string{"0", "1", "2"}}); narrow.Name != "latency" || !reflect.DeepEqual(narrow.Labels[0], want) {
		t.Errorf("the narrow metric is %+v", narrow)
	}
}

// TestMetricCardinalitySaysWhatItLeavesOut has more metrics than the limit of the list.
func TestMetricCardinalitySaysWhatItLeavesOut(t *testing.T) {
	store, conn := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clickhousetest.Exec(t, conn, fmt.Sprintf(`INSERT INTO metric_seen
		SELECT 7, concat('m', toString(number)), number, toDateTime64('2026-11-20 11:00:00', 3, 'UTC'), 'counter', '', [], [], '2100-01-01' FROM numbers(%d)`, telemetry.CardinalityMetrics+1))
	got, err := store.MetricCardinality(t.Context(), telemetry.CardinalityQuery{Environment: clickhousetest.Production(), Since: now.AddDate(0, 0, -7)})
	if err != nil || len(got.Metrics) != telemetry.CardinalityMetrics || got.Series != telemetry.CardinalityMetrics+1 || !got.Truncated {
		t.Errorf("%d metrics, %d series, truncated %t: %v", len(got.Metrics), got.Series, got.Truncated, err)
	}
}

// TestLabelsOfManySeriesAreOfAPart has more series than the limit. Of a wide metric a part of about the right size
// counts; of a narrow one all series count. The answer reports that it omits some.
func TestLabelsOfManySeriesAreOfAPart(t *testing.T) {
	store, conn := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen(t, conn, 7, "wide", 5*telemetry.CardinalitySeries/2, now)
	seen(t, conn, 7, "narrow", 3, now)
	got, err := store.MetricCardinality(t.Context(), telemetry.CardinalityQuery{Environment: clickhousetest.Production(), Since: now.AddDate(0, 0, -7)})
	if err != nil || len(got.Metrics) != 2 || !got.Truncated {
		t.Fatalf("the answer is %+v: %v", got, err)
	}
	const part = 5 * telemetry.CardinalitySeries / 2 / 3
	if ids := got.Metrics[0].Labels[0]; ids.Key != "id" || ids.DistinctValues < part*98/100 || ids.DistinctValues > part*102/100 {
		t.Errorf("of the wide metric %+v counts, about %d are looked at", ids, part)
	}
	if hosts := got.Metrics[1].Labels[0]; hosts.Key != "host" || hosts.DistinctValues != 3 {
		t.Errorf("of the narrow metric %+v counts", hosts)
	}
}

// TestPropertyCardinality counts values by event and property, with their types.
func TestPropertyCardinality(t *testing.T) {
	store, conn := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	happened(t, conn, 7, "signup", `concat('{"plan":"', if(number % 2 = 0, 'pro', 'free'), '","order":', toString(number), '}')`, 200, now)
	happened(t, conn, 7, "login", `if(number % 2 = 0, '{"order":true,"tags":["a"]}', '{"order":null,"at":{"x":1}}')`, 10, now)
	happened(t, conn, 7, event.IdentifyEvent, `'{"ada@example.com":1}'`, 1, now)
	happened(t, conn, 8, "signup", `'{"of":"others"}'`, 3, now)
	happened(t, conn, 7, "signup", `'{"too":"old"}'`, 3, now.AddDate(0, 0, -8))
	query := telemetry.CardinalityQuery{Environment: clickhousetest.Production(), Since: now.AddDate(0, 0, -7), Masked: true}
	got, err := store.PropertyCardinality(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	want := telemetry.PropertyCardinality{Keys: 5, Events: 210, Properties: []telemetry.PropertyWidth{
		{Event: "signup", Key: "order", DistinctValues: 200, Types: []analytics.PropertyType{analytics.PropertyNumber}},
		{Event: "login", Key: "order", DistinctValues: 2, Types: []analytics.PropertyType{analytics.PropertyBoolean, analytics.PropertyNull}},
		{Event: "signup", Key: "plan", DistinctValues: 2, Types: []analytics.PropertyType{analytics.PropertyText}},
		{Event: "login", Key: "at", DistinctValues: 1, Types: []analytics.PropertyType{analytics.PropertyObject}},
		{Event: "login", Key: "tags", DistinctValues: 1, Types: []analytics.PropertyType{analytics.PropertyArray}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the answer is\n%+v, not\n%+v", got, want)
	}
	query.Masked = false
	if got, err = store.PropertyCardinality(t.Context(), query); err != nil || got.Keys != 6 || got.Events != 211 {
		t.Errorf("who may see persons is answered %d keys of %d events: %v", got.Keys, got.Events, err)
	}
}

// TestPropertyCardinalityIsBounded has properties that a loop named by numbers, so that no two events share one.
func TestPropertyCardinalityIsBounded(t *testing.T) {
	store, conn := open(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	happened(t, conn, 7, "loop", `concat('{"k', toString(number), '":1}')`, telemetry.CardinalityEvents+100, now)
	got, err := store.PropertyCardinality(t.Context(), telemetry.CardinalityQuery{Environment: clickhousetest.Production(), Since: now.AddDate(0, 0, -7)})
	if err != nil {
		t.Fatal(err)
	}
	// The engine applies the limit per block, so it distinguishes somewhat more keys.
	if got.Events != telemetry.CardinalityEvents || got.Keys < telemetry.CardinalityKeys || got.Keys >= telemetry.CardinalityEvents || len(got.Properties) != telemetry.CardinalityProperties || !got.Truncated {
		t.Errorf("%d properties of %d keys in %d events, truncated %t", len(got.Properties), got.Keys, got.Events, got.Truncated)
	}
}

// BenchmarkMetricCardinality reads the widest metrics of a million series. The goal is that 95 of 100 answers take at
// most 300 ms.
func BenchmarkMetricCardinality(b *testing.B) {
	store, conn := open(b)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for n := range 20 {
		seen(b, conn, 7, fmt.Sprint("metric", n), 50_000, now)
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if got, err := store.MetricCardinality(b.Context(), telemetry.CardinalityQuery{Environment: clickhousetest.Production(), Since: now.AddDate(0, 0, -7)}); err != nil || len(got.Metrics) != 20 {
			b.Fatal(got, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	p95 := took[len(took)*95/100]
	b.ReportMetric(float64(p95.Milliseconds()), "p95-ms")
	b.ReportMetric(float64(p95)/float64(300*time.Millisecond), "p95/goal")
}

// BenchmarkPropertyCardinality reads the widest properties of the maximum number of events.
func BenchmarkPropertyCardinality(b *testing.B) {
	store, conn := open(b)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	happened(b, conn, 7, "order", `concat('{"plan":"pro","order":', toString(number), ',"url":"https://example.com/orders/', toString(number % 500), '","total":', toString(number % 97), ',"first":true}')`, 200_000, now)
	for b.Loop() {
		if got, err := store.PropertyCardinality(b.Context(), telemetry.CardinalityQuery{Environment: clickhousetest.Production(), Since: now.AddDate(0, 0, -7)}); err != nil || got.Events != telemetry.CardinalityEvents {
			b.Fatal(got, err)
		}
	}
}
