// Command monitors measures uptime checks and alerts. It measures the cost of a check with its stored result, the
// punctuality of many monitors, the time until all are checked after a start, and the memory of one. It measures the
// delay from a failed check to a webhook, and from events and observations that one of many rules counts. It also
// measures the cost of creating rules, and of having them.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	monitors int
	seconds  int
	rules    int
	rounds   int
	profiles string
}

func main() { harness.Main("monitors", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	var o options
	o.Flags(30 * time.Minute)
	flag.IntVar(&o.monitors, "monitors", 500, "monitors that are checked every second; 10000 by hand, 0 leaves them out")
	flag.IntVar(&o.seconds, "seconds", 10, "how long the checks are measured; 60 by hand")
	flag.IntVar(&o.rules, "rules", 200, "rules that count events and observations; 10000 by hand, 0 leaves them out")
	flag.IntVar(&o.rounds, "rounds", 20, "how many failures, events and observations are sent until a webhook gets each; 200 by hand")
	flag.StringVar(&o.profiles, "profiles", "", "folder for the server's profiles of processor and memory; empty takes none of the processor")
	flag.Parse()
	return o.Within(ctx, "monitors", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement, with its target and hook.
type bench struct {
	*options
	server  *harness.Server
	target  *target
	result  *harness.Result
	client  *http.Client
	session string
	channel string
	// store is the address of the embedded engine.
	store string
	// bare is the cost of a check by a bare client, in microseconds.
	bare float64
	// The server's memory before the many monitors: heap and stacks, and its own memory.
	liveBefore      float64
	anonymousBefore int64
}

// scenario is one measurement, and its description.
type scenario struct {
	doing string
	run   func(*bench, context.Context) error
}

// measure measures monitors and rules, each with a separate server, so that neither affects the other.
func measure(ctx context.Context, o *options, dir string) error {
	result := harness.NewResult(ctx, "monitors", o.Binary, o.Pin)
	result.Bottleneck = "the CPU of the server's process: the HTTP client of a check, then the store's inserts"
	result.Notes = []string{
		"checks a second and core: stored checks divided by the CPU time of the whole server while they were made",
		"live bytes: heap and stacks after a collection while the monitors are checked, connections included, less those before; resident: all the process's own memory, the engine's included",
		"the many monitors are put into the store while the server runs, which then restarts",
		"rules are measured on a server without these monitors",
	}
	channel := scenario{"making a channel", (*bench).prepare}
	for _, part := range []struct {
		name      string
		wanted    int
		scenarios []scenario
	}{
		{"monitors", o.monitors, []scenario{
			{"measuring bare clients", (*bench).limits},
			channel,
			{"making the monitors that will fail, with their rules", (*bench).failing},
			{"putting the many monitors into the store", (*bench).seed},
			{"starting again", (*bench).begin},
			{"measuring checks", (*bench).checks},
			{"failing some", (*bench).failures},
		}},
		{"rules", o.rules, []scenario{channel, {"making rules, and sending events and observations", (*bench).streams}}},
	} {
		if part.wanted == 0 {
			continue
		}
		b := &bench{options: o, result: result, client: &http.Client{Timeout: time.Minute}}
		if err := b.serve(ctx, filepath.Join(dir, part.name), part.scenarios); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return o.Keep(result)
}

// serve runs scenarios one after another on a new server, and prints their names.
func (b *bench) serve(ctx context.Context, dir string, scenarios []scenario) error {
	var err error
	if b.target, err = newTarget(ctx); err != nil {
		return err
	}
	defer b.target.close()
	if b.store, err = harness.FreeAddress(ctx); err != nil {
		return err
	}
	b.server, err = harness.NewServer(ctx, harness.Settings{
		Binary: b.Binary, Dir: dir, Sync: "os", CPU: b.CPU(),
		Environment: []string{"SVC_MONITOR_ALLOW=127.0.0.1", "SVC_MONITOR_LEAST=1s", "SVC_LOG_LEVEL=warn", "SVC_CLICKHOUSE_LISTEN=" + b.store},
	})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	began := time.Now()
	for _, scenario := range scenarios {
		fmt.Printf("%6.1f s  %s\n", time.Since(began).Seconds(), scenario.doing)
		if err := scenario.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", scenario.doing, err)
		}
	}
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
