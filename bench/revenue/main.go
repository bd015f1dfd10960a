// Command revenue measures the revenue overview of an application with many subscriptions: reads through the API while
// nothing changes and after each change, and the first one after a start.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"time"

	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	subscriptions int
	reads         int
	changes       int
}

// The goals, in milliseconds, of a revenue overview of twelve months.
const overviewGoal = 100

//go:embed spans.raw.sql
var spansQuery string

func main() { harness.Main("revenue", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	var o options
	o.Flags(20 * time.Minute)
	flag.IntVar(&o.subscriptions, "subscriptions", 100_000, "number of subscriptions, with eight billing items each")
	flag.IntVar(&o.reads, "reads", 200, "reads while nothing changes")
	flag.IntVar(&o.changes, "changes", 40, "changes, each with a read after it")
	flag.Parse()
	return o.Within(ctx, "revenue", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement.
type bench struct {
	*options
	server *harness.Server
	store  string
	result *harness.Result
	// window is the range of twelve months, of whole days; environment is the number of the filled environment.
	window, environment string
	// items is the number of stored items, payments the amount paid in the last twelve months.
	items    int
	payments int64
}

// measure fills a server, restarts it, and reads.
func measure(ctx context.Context, o *options, dir string) error {
	store, err := harness.FreeAddress(ctx)
	if err != nil {
		return err
	}
	server, err := harness.NewServer(ctx, harness.Settings{
		Binary: o.Binary, Dir: dir, Sync: "os", CPU: o.CPU(), Environment: []string{"SVC_CLICKHOUSE_LISTEN=" + store, "SVC_LOG_LEVEL=warn"},
	})
	if err != nil {
		return err
	}
	defer server.Kill()
	b := &bench{options: o, server: server, store: store, result: harness.NewResult(ctx, "revenue", o.Binary, o.Pin)}
	b.result.Notes = []string{
		fmt.Sprintf("%d subscriptions with three changes and five payments each, over 14 months", o.subscriptions),
		"after each change: an item is sent and stored, and the read after it shows it",
		"the state of the blocks: the question to the store that each read begins with, asked directly",
	}
	if _, err := server.Open(ctx); err != nil {
		return err
	}
	now := time.Now().UTC()
	b.window = "custom:" + now.AddDate(-1, 0, 0).Format(time.DateOnly) + ".." + now.Format(time.DateOnly)
	for _, part := range []struct {
		name string
		run  func(*bench, context.Context) error
	}{{"filling", (*bench).fill}, {"the first reading", (*bench).first}, {"reading", (*bench).steady}, {"changes", (*bench).change}} {
		if err := part.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	b.judge()
	if err := o.Keep(b.result); err != nil {
		return err
	}
	return server.Stop()
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

// Names of rows that are compared.
const (
	steadyRow = "overview of 12 months, nothing new"
	changeRow = "overview of 12 months, after a change"
	spansRow  = "the state of the blocks, asked at the store"
)

// judge names the bottleneck: the larger part of a read.
func (b *bench) judge() {
	p95 := func(row *harness.Measurement) float64 { return row.Latency.P95 }
	p50 := func(row *harness.Measurement) float64 { return row.Latency.P50 }
	goal := harness.AtMost(fmt.Sprintf("a revenue overview of 12 months takes at most %d ms", overviewGoal), "p95 in ms", b.result.Median(steadyRow, p95), overviewGoal)
	part := b.result.Median(spansRow, p50) / b.result.Median(steadyRow, p50)
	b.result.Ratios = append(b.result.Ratios, goal)
	fmt.Printf("  %s: %.1f (%v)\n", goal.Name, goal.Value, goal.Met)
	b.result.Bottleneck = fmt.Sprintf("adding up the days of the range and ranking the plans of all subscriptions; the store's answer to what is new is %.0f %% of a read", 100*part)
	if part > 0.5 {
		b.result.Bottleneck = fmt.Sprintf("the store, which reads the block number of every billing item for each question: %.0f %% of a read", 100*part)
	}
	fmt.Println("  bottleneck:", b.result.Bottleneck)
}
