// Command monitors measures uptime checks and alerts: what a check with its stored result
// costs, how punctual many monitors are, how soon all are checked after a start, how much
// memory one takes, how soon a webhook hears of a failed check, and of events and
// observations that a rule among many counts; and what making rules costs, and having them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"svc/bench/harness"
)

// options are the flags.
type options struct {
	binary   string
	results  string
	monitors int
	seconds  int
	rules    int
	rounds   int
	pin      bool
	limit    time.Duration
}

func main() { harness.Main("monitors", start) }

// start reads the flags and measures.
func start(ctx context.Context) (err error) {
	var o options
	flag.StringVar(&o.binary, "server", "bin/svc", "the server's program")
	flag.StringVar(&o.results, "results", "bench/results", "folder of results")
	flag.IntVar(&o.monitors, "monitors", 500, "monitors that are checked every second; 10000 by hand")
	flag.IntVar(&o.seconds, "seconds", 10, "how long the checks are measured; 60 by hand")
	flag.IntVar(&o.rules, "rules", 200, "rules that count events and observations; 10000 by hand")
	flag.IntVar(&o.rounds, "rounds", 20, "how often a webhook is told of a failure, and of events and observations; 200 by hand")
	flag.BoolVar(&o.pin, "pin", false, "server on processor 1, target on processor 0")
	flag.DurationVar(&o.limit, "limit", 30*time.Minute, "the run ends with an error after this time")
	flag.Parse()
	if o.pin {
		if err := harness.PinSelf(harness.GeneratorCPU); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, fmt.Errorf("the run took longer than %s", o.limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "svc-monitors-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return measure(ctx, &o, dir)
}

// bench is one server under measurement, and what it calls.
type bench struct {
	*options
	server  *harness.Server
	target  *target
	result  *harness.Result
	client  *http.Client
	session string
	channel string
}

func measure(ctx context.Context, o *options, dir string) error {
	b := &bench{options: o, result: harness.NewResult(ctx, "monitors", o.binary, o.pin), client: &http.Client{Timeout: time.Minute}}
	b.result.Bottleneck = "the CPU of the server's process: the HTTP client of a check, then the store's inserts"
	b.result.Notes = []string{
		"checks a second and core: stored checks divided by the CPU time of the whole server while they were made",
		"memory a monitor: what the server's anonymous memory grew by while the monitors were made and checked, connections included",
	}
	cpu := harness.Unpinned
	if o.pin {
		cpu = harness.ServerCPU
	}
	var err error
	if b.target, err = newTarget(ctx); err != nil {
		return err
	}
	defer b.target.close()
	b.server, err = harness.NewServer(ctx, harness.Settings{
		Binary: o.binary, Dir: dir, Sync: "os", CPU: cpu, Environment: []string{"SVC_MONITOR_ALLOW=127.0.0.1", "SVC_MONITOR_LEAST=1s", "SVC_LOG_LEVEL=warn"},
	})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	for _, scenario := range []func(context.Context) error{b.prepare, b.failures, b.streams, b.checks, b.begin} {
		if err := scenario(ctx); err != nil {
			return err
		}
	}
	name, err := b.result.Write(o.results)
	if err != nil {
		return err
	}
	fmt.Println("written:", name)
	return b.server.Stop()
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

func (b *bench) compare(ratio harness.Ratio) {
	b.result.Ratios = append(b.result.Ratios, ratio)
	fmt.Printf("  %s: %.3f (%v)\n", ratio.Name, ratio.Value, ratio.Met)
}
