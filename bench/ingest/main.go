// Command ingest measures how fast events are accepted, stored and visible, compared with the bare limits of the
// machine in the same run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	seconds int
	sustain int
	rounds  int
	rate    float64
	apart   bool
	forced  bool
	share   bool

	storeProgram string
}

func main() { harness.Main("ingest", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	if address := os.Getenv(floodAddressVariable); address != "" {
		return runFlood(ctx, address)
	}
	var o options
	o.Flags(20 * time.Minute)
	flag.IntVar(&o.seconds, "seconds", 5, "length of one run of a load")
	flag.IntVar(&o.sustain, "sustain", 10, "length of the sustained load in seconds; 60 by hand")
	flag.IntVar(&o.rounds, "rounds", 2, "limit and service alternate so often")
	flag.Float64Var(&o.rate, "rate", 2000, "requests a second of the open loop")
	flag.BoolVar(&o.apart, "apart", false, "measure the accept side alone, and nothing else")
	flag.BoolVar(&o.forced, "forced", false, "measure what one event costs until it is stored where every answer waits for the disk, with a reader and without, and nothing else")
	flag.BoolVar(&o.share, "share", false, "measure what the flood of one application does to another, and nothing else")
	flag.StringVar(&o.storeProgram, "store", "bin/svc-store", "the program of the store that stands still while the accept side is measured alone: storage/chdb/serve")
	flag.Parse()
	return o.Within(ctx, "ingest", func(ctx context.Context, dir string) error { return run(ctx, &o, dir) })
}

// run makes the measurements that the flags select.
func run(ctx context.Context, o *options, dir string) error {
	if o.share {
		result := harness.NewResult(ctx, "share", o.Binary, o.Pin)
		result.Bottleneck = "the processors: the flood takes what the other application leaves, and every goroutine on the way of its requests waits for its turn"
		return errors.Join(measureShare(ctx, o, filepath.Join(dir, "share"), result), o.Keep(result))
	}
	if o.forced {
		result := harness.NewResult(ctx, "forced", o.Binary, o.Pin)
		result.Bottleneck = "the processor of the server: the kernel's part of requests and of forcing, then the engine's inserts and merges, which cost much the same for a small block as for a large one"
		return errors.Join(measureForced(ctx, o, dir, result), o.Keep(result), failures(result))
	}
	result := harness.NewResult(ctx, "ingest", o.Binary, o.Pin)
	result.Bottleneck = "the CPU of the server's process, which holds HTTP, broker, intake and engine; loopback only"
	for _, sync := range []string{"os", "always"} {
		if o.apart {
			break
		}
		if err := measure(ctx, o, filepath.Join(dir, sync), sync, result); err != nil {
			return fmt.Errorf("with SVC_LOG_SYNC=%s: %w", sync, err)
		}
	}
	if err := measureApart(ctx, o, filepath.Join(dir, "apart"), result); err != nil {
		return fmt.Errorf("on the accept side: %w", err)
	}
	if result.Ratios = apartRatios(result); !o.apart {
		result.Ratios = ratios(result)
	}
	return errors.Join(o.Keep(result), failures(result))
}

// failures fails a run with a failed request.
func failures(result *harness.Result) error {
	var err error
	for n := range result.Rows {
		if row := &result.Rows[n]; row.Failures > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %d requests failed, the first: %s", row.Name, row.Failures, row.Failure))
		}
	}
	return err
}

// bench is one server under measurement.
type bench struct {
	*options
	server *harness.Server
	result *harness.Result
	sync   string
	dir    string
	// counted is the number of events that the server has accepted since its data began.
	counted uint64
}

// measure runs all scenarios on a fresh server with one mode of syncing the log.
func measure(ctx context.Context, o *options, dir, sync string, result *harness.Result) error {
	b := &bench{options: o, result: result, sync: sync, dir: dir}
	var err error
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: dir, Sync: sync, CPU: o.CPU()})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	scenarios := []func(context.Context) error{b.open, b.alternate, b.paced}
	if sync == "os" {
		scenarios = append(scenarios, b.sustained, b.fresh)
	}
	scenarios = append(scenarios, b.counts, b.idle, b.restart)
	for _, scenario := range scenarios {
		if err := scenario(ctx); err != nil {
			return err
		}
	}
	return b.server.Stop()
}

// add stores and prints a row.
func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}
