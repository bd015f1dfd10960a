package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"svc/bench/harness"
)

const (
	// seriesP95 is the permitted duration of a read of 30 days, in milliseconds.
	seriesP95 = 50
	// maxByHand limits the duration of a read, as a multiple of the best hand-written query's.
	maxByHand = 1.2
)

// reads measures reads in turns with the queries of this folder. The benchmark runs inside the package, because the
// embedded engine cannot be reached from outside its process.
func (b *bench) reads(ctx context.Context) error {
	found, err := harness.RunGoBenchmarks(ctx, "./cmd/svc", "^BenchmarkMetricReads$", b.warm, "SVC_BENCH_POINTS="+strconv.Itoa(b.points))
	if err != nil {
		return err
	}
	for n := range found {
		b.addRead(&found[n])
	}
	return nil
}

// addRead adds the two sides of a read and its goals.
func (b *bench) addRead(one *harness.GoBenchmark) {
	name := strings.TrimPrefix(one.Name, "MetricReads/")
	for _, side := range []struct{ prefix, kind, what string }{
		{"api-", harness.KindService, name},
		{"hand-", harness.KindLimit, name + ", by hand"},
	} {
		extra := map[string]float64{}
		for unit, value := range one.Metrics {
			if figure, ours := strings.CutPrefix(unit, side.prefix); ours {
				extra[figure] = value
			}
		}
		b.add(harness.Measurement{Name: side.what, Kind: side.kind, Extra: extra})
	}
	of := fmt.Sprintf("%s on %d points, ", name, b.points)
	b.result.Ratios = append(b.result.Ratios,
		harness.AtMost("metrics", of+"p95 ms", one.Metrics["api-p95-ms"], seriesP95),
		harness.AtMost("metrics", of+"of the best query by hand", one.Metrics["ratio"], maxByHand),
		harness.AtMost("metrics", of+"of its processor time", one.Metrics["cpu-ratio"], maxByHand))
}
