package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"svc/bench/harness"
)

// Limits of the goals of turns.
const (
	// maxByHand limits the duration of a filtered read, as a multiple of the best hand-written query's.
	maxByHand = 1.2
	// maxOfRaw is the part of a scan of the raw table that an unfiltered read may take.
	maxOfRaw = 0.1
	// unfilteredP95 and filteredP95 are in milliseconds.
	unfilteredP95, filteredP95 = 50, 1500
	// maxClientSide limits the processor time of our block, as a multiple of bare columns'.
	maxClientSide = 1.5
	// minRowsPerSecond is the rate of inserts of small blocks.
	minRowsPerSecond = 20_000
	// partsPerBlock limits a table to two parts per second: a block every half second.
	partsPerBlock = 1
	// maxStoredBytes is per reference event, including aggregates.
	maxStoredBytes = 68
)

// turns measures reads in turns with hand-written queries, and inserts in turns with bare columns. The benchmarks run
// inside the packages, because the embedded engine cannot be reached from outside its process.
func (b *bench) turns(ctx context.Context) error {
	b.noteLoad("beginning")
	defer b.noteLoad("end")
	reads, err := harness.RunGoBenchmarks(ctx, "./cmd/svc", "^BenchmarkReads$", b.warm, "SVC_BENCH_EVENTS="+strconv.Itoa(b.events))
	if err != nil {
		return err
	}
	for n := range reads {
		b.addTurns(&reads[n])
	}
	inserts, err := harness.RunGoBenchmarks(ctx, "./storage/clickhouse/block", "^Benchmark(ClientSide|Blocks)$", insertRuns)
	if err != nil {
		return err
	}
	stored, err := harness.RunGoBenchmarks(ctx, "./storage/clickhouse/block", "^BenchmarkStoredBytes$", 1)
	if err != nil {
		return err
	}
	for _, one := range append(inserts, stored...) {
		b.add(harness.Measurement{Name: one.Name, Kind: harness.KindService, Extra: one.Metrics})
		b.insertRatios(&one)
	}
	return nil
}

// noteLoad records the load of the machine, so that a reader knows which times to trust.
func (b *bench) noteLoad(when string) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	lately, _, _ := strings.Cut(string(text), " ")
	b.result.Notes = append(b.result.Notes, fmt.Sprintf("Load average at the %s: %s on %d processors.", when, lately, b.result.Machine.Cores))
}

// insertRuns is the number of runs of each insert benchmark.
const insertRuns = 10

// addTurns adds the two sides of a read and its goals.
func (b *bench) addTurns(one *harness.GoBenchmark) {
	name := strings.TrimPrefix(one.Name, "Reads/")
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
	ratio, p95 := one.Metrics["ratio"], one.Metrics["api-p95-ms"]
	add := func(text string, value, bound float64) {
		b.result.Ratios = append(b.result.Ratios, harness.AtMost("G19", fmt.Sprintf("%s on %d events, %s", name, b.events, text), value, bound))
	}
	if strings.Contains(name, "/") {
		add("of the best query by hand", ratio, maxByHand)
		add("of its processor time", one.Metrics["cpu-ratio"], maxByHand)
		add("p95 ms", p95, filteredP95)
		return
	}
	add("p95 ms", p95, unfilteredP95)
	if strings.HasSuffix(name, "-30d") {
		add("of a scan of the raw table", ratio, maxOfRaw)
	}
}

// insertRatios adds the goals of an insert benchmark.
func (b *bench) insertRatios(one *harness.GoBenchmark) {
	ratios := &b.result.Ratios
	switch {
	case one.Name == "ClientSide":
		*ratios = append(*ratios, harness.AtMost("G7", "processor time of our block, of bare columns", one.Metrics["ratio"], maxClientSide))
	case one.Name == "StoredBytes":
		*ratios = append(*ratios, harness.AtMost("G8", "bytes stored per reference event", one.Metrics["B/row"], maxStoredBytes))
	case strings.HasPrefix(one.Name, "Blocks/"):
		*ratios = append(*ratios,
			harness.AtLeast("G7", one.Name+", rows/s", one.Metrics["rows/s"], minRowsPerSecond),
			harness.AtMost("G7", one.Name+", parts per block and table", one.Metrics["parts/block"], partsPerBlock))
	}
}
