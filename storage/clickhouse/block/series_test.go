package block

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain/metric"
)

// TestSeriesAreToldOnce checks that blocks contain only series that are new, have another unit, or have not been
// written for long. They must also contain the latest point of every metric.
func TestSeriesAreToldOnce(t *testing.T) {
	db := open(t)
	ctx, seriesNow := deadline(t), time.Date(2026, 11, 20, 12, 7, 31, 0, time.UTC)
	block := db.NewBlock()
	insert := func(number int, back time.Duration, unit string, series ...uint64) (told []uint64) {
		t.Helper()
		block.Reset()
		for n, one := range series {
			at := seriesNow.Add(back + time.Duration(n)*time.Second)
			block.AppendMetric(&metric.Row{
				Environment: 9, Name: "requests", Series: one, Kind: metric.Counter, Unit: unit, Ts: at, ReceivedAt: at, RetentionDays: 90,
				Totals: metric.Totals{Count: 1, Sum: 1, Min: 1, Max: 1},
			})
		}
		told = slices.Clone(block.metrics.seen.series)
		if number > 0 {
			if err := db.Insert(ctx, fmt.Sprint("told", number), uint64(number), block); err != nil {
				t.Fatal(err)
			}
		}
		return told
	}
	for _, step := range []struct {
		name   string
		number int
		back   time.Duration
		unit   string
		series []uint64
		want   []uint64
	}{
		{"not stored", 0, 0, "s", []uint64{1, 2, 3}, []uint64{1, 2, 3}},
		{"new", 1, 0, "s", []uint64{1, 2, 3, 2}, []uint64{1, 2, 3}},
		{"known", 2, time.Minute, "s", []uint64{2, 3, 1, 2}, []uint64{2}},
		{"one is new", 3, 2 * time.Minute, "s", []uint64{1, 2, 4}, []uint64{1, 4}},
		{"another unit", 4, 3 * time.Minute, "ms", []uint64{1, 2, 3}, []uint64{1, 2, 3}},
		{"went on", 5, 8*time.Minute + time.Second, "ms", []uint64{3, 2, 1}, []uint64{3, 2, 1}},
		{"late", 6, time.Minute, "ms", []uint64{3, 2, 1}, []uint64{3}},
	} {
		if got := insert(step.number, step.back, step.unit, step.series...); !slices.Equal(got, step.want) {
			t.Errorf("%s: told of %v instead of %v", step.name, got, step.want)
		}
	}
	if n := ask[uint64](t, db, "SELECT uniqExact(series) FROM metric_series WHERE environment = 9 AND name = 'requests'"); n != 4 {
		t.Errorf("the catalogue has %d series, want 4", n)
	}
	if unit := ask[string](t, db, "SELECT argMaxMerge(unit) FROM metric_series WHERE environment = 9"); unit != "ms" {
		t.Errorf("the unit is %q, want the latest", unit)
	}
	if last := ask[time.Time](t, db, "SELECT max(last_seen) FROM metric_series WHERE environment = 9"); !last.Equal(seriesNow.Add(8*time.Minute + 3*time.Second)) {
		t.Errorf("last seen at %s", last)
	}
}
