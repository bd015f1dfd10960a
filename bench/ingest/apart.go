package main

import (
	"context"
	"fmt"
	"path/filepath"

	"svc/bench/harness"
)

// apartFill is more events than a server reads ahead before it stops reading the log, so that afterwards it only
// accepts.
const apartFill = 250_000

// measureApart measures only the accept side, in turns with the bare handler: a server with a paused store spends
// exactly the cost of accepting, including the embedded log.
func measureApart(ctx context.Context, o *options, dir string, result *harness.Result) error {
	address, err := harness.FreeAddress(ctx)
	if err != nil {
		return err
	}
	store := &harness.Store{Program: o.storeProgram, Dir: filepath.Join(dir, "store"), Address: address}
	defer store.Kill()
	if err := store.Open(ctx); err != nil {
		return err
	}
	b := &bench{options: o, result: result, sync: "os", dir: dir}
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: dir, Sync: b.sync, CPU: o.CPU(), Environment: []string{"SVC_CLICKHOUSE_DSN=" + store.DSN()}})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	if err := store.Pause(); err != nil {
		return err
	}
	if err := b.fill(ctx); err != nil {
		return err
	}
	return b.inTurns(ctx, ", accept side alone", b.accept)
}

// fill sends the server as much as it reads ahead.
func (b *bench) fill(ctx context.Context) error {
	load := b.batch()
	load.Address, load.Key, load.Events, load.Duration = b.server.Address, b.server.Keys["production"].Secret, apartFill, drainTime
	if outcome := load.Run(ctx); outcome.Events < apartFill {
		return fmt.Errorf("filling the server: %d of %d events were accepted: %s", outcome.Events, apartFill, outcome.FirstFailure)
	}
	return nil
}

// accept runs a load without waiting for anything to be stored.
func (b *bench) accept(ctx context.Context, name string, load harness.Load) (harness.Measurement, error) {
	load.Address, load.Key = b.server.Address, b.server.Keys["production"].Secret
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	outcome := load.Run(ctx)
	accepting, err := meter.Read()
	if err != nil {
		return harness.Measurement{}, err
	}
	return outcome.Fill(name, harness.KindService, accepting), nil
}

// apartRatios compares the accept side alone with its goals.
func apartRatios(result *harness.Result) []harness.Ratio {
	cost := func(name string) float64 {
		return result.Median(name, func(m *harness.Measurement) float64 { return m.CPUPerEvent })
	}
	single, batch := "single, accept side alone", "batch, accept side alone"
	return []harness.Ratio{
		harness.AtMost("G2", single+", µs / bare µs", cost(single)/cost("http single"), 1.6),
		harness.AtMost("G2", single+", µs", cost(single), 25),
		harness.AtMost("G3", batch+", µs", cost(batch), 3),
	}
}
