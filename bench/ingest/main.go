// Command ingest measures how fast events are accepted, stored and visible, next
// to the bare limits of the machine in the same run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// options are the flags.
type options struct {
	binary  string
	results string
	seconds int
	sustain int
	rounds  int
	rate    float64
	pin     bool
	apart   bool
	limit   time.Duration
}

func main() { harness.Main("ingest", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	var o options
	flag.StringVar(&o.binary, "server", "bin/svc", "the server's program")
	flag.StringVar(&o.results, "results", "bench/results", "folder of results")
	flag.IntVar(&o.seconds, "seconds", 5, "length of one run of a load")
	flag.IntVar(&o.sustain, "sustain", 10, "length of the sustained load in seconds; 60 by hand")
	flag.IntVar(&o.rounds, "rounds", 2, "limit and service alternate so often")
	flag.Float64Var(&o.rate, "rate", 2000, "requests a second of the open loop")
	flag.BoolVar(&o.pin, "pin", false, "server on processor 1, generator on processor 0")
	flag.BoolVar(&o.apart, "apart", false, "measure the accept side alone, and nothing else")
	flag.DurationVar(&o.limit, "limit", 20*time.Minute, "the run ends with an error after this time")
	flag.Parse()
	if o.pin {
		if err := harness.PinSelf(harness.GeneratorCPU); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, fmt.Errorf("the run took longer than %s", o.limit))
	defer cancel()
	result := harness.NewResult(ctx, "ingest", o.binary, o.pin)
	result.Bottleneck = "the CPU of the server's process, which holds HTTP, broker, intake and engine; loopback only"
	for _, sync := range []string{"os", "always"} {
		if o.apart {
			break
		}
		if err := measure(ctx, &o, sync, result); err != nil {
			return fmt.Errorf("with SVC_LOG_SYNC=%s: %w", sync, err)
		}
	}
	if err := measureApart(ctx, &o, result); err != nil {
		return fmt.Errorf("on the accept side: %w", err)
	}
	if result.Ratios = apartRatios(result); !o.apart {
		result.Ratios = ratios(result)
	}
	name, err := result.Write(o.results)
	if err != nil {
		return err
	}
	fmt.Println("written:", name)
	return failures(result)
}

// failures fails a run in which a request did.
func failures(result *harness.Result) error {
	var err error
	for n := range result.Rows {
		if row := &result.Rows[n]; row.Failures > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %d requests failed, the first: %s", row.Name, row.Failures, row.Failure))
		}
	}
	for _, violation := range result.Violations {
		err = errors.Join(err, errors.New(violation))
	}
	return err
}

// bench is one server under measurement.
type bench struct {
	*options
	server *harness.Server
	result *harness.Result
	sync   string
	cpu    int
	dir    string
	// counted is how many events the server accepted since its data began.
	counted uint64
}

// measure runs all scenarios on a fresh server with one way of forcing the log.
func measure(ctx context.Context, o *options, sync string, result *harness.Result) (err error) {
	b := &bench{options: o, result: result, sync: sync, cpu: harness.Unpinned}
	if o.pin {
		b.cpu = harness.ServerCPU
	}
	if b.dir, err = os.MkdirTemp("", "svc-ingest-"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(b.dir)
		} else {
			err = fmt.Errorf("%w (data kept in %s)", err, b.dir)
		}
	}()
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.binary, Dir: b.dir, Sync: sync, CPU: b.cpu})
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

// add keeps and prints a row.
func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}
