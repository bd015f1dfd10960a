// Command metrics measures metrics: points in OTLP batches at a rate, the cost of one, and whether the backlog grows.
// Then it measures reads of series, in turns with the hand-written queries of its folder for the same numbers.
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	rate    int
	seconds int
	batch   int
	series  int
	points  int
	warm    int
	only    string
}

// Parts of a run.
const (
	onlyIngest = "ingest"
	onlyReads  = "reads"
)

func main() { harness.Main("metrics", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	var o options
	o.Flags(30 * time.Minute)
	flag.IntVar(&o.rate, "rate", 100_000, "points a second of the open loop")
	flag.IntVar(&o.seconds, "seconds", 10, "length of the open loop; 60 by hand")
	flag.IntVar(&o.batch, "batch", 500, "points in a request")
	flag.IntVar(&o.series, "series", 8000, "series in all; an environment may have 20000")
	flag.IntVar(&o.points, "points", 600_000, "points that the reads cover; 10000000 by hand")
	flag.IntVar(&o.warm, "warm", 30, "warm runs of each read")
	flag.StringVar(&o.only, "only", "", "ingest or reads; empty is both")
	flag.Parse()
	return o.Within(ctx, "metrics", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one run.
type bench struct {
	*options
	server *harness.Server
	result *harness.Result
}

func measure(ctx context.Context, o *options, dir string) error {
	for _, part := range []struct {
		name, program, bottleneck string
		run                       func(*bench) error
	}{
		{onlyIngest, o.Binary, "the CPU of the server's process: differences of cumulative series, then the engine's insert, views and merges", func(b *bench) error { return b.ingest(ctx, dir) }},
		{onlyReads, "", "the engine's aggregation of sketches; both sides in one process", func(b *bench) error { return b.reads(ctx) }},
	} {
		if o.only != "" && o.only != part.name {
			continue
		}
		b := &bench{options: o, result: harness.NewResult(ctx, "metrics."+part.name, part.program, o.Pin)}
		b.result.Bottleneck = part.bottleneck
		if err := part.run(b); err != nil {
			return err
		}
		if err := o.Keep(b.result); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}
