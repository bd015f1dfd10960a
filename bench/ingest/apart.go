package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"svc/bench/harness"
)

// apartFlush keeps the server from storing anything while it accepts.
const apartFlush = "1m"

// measureApart measures the accept side alone, in turns with the bare handler: a
// server that stores nothing while the load runs spends what accepting costs, the
// embedded log included.
func measureApart(ctx context.Context, o *options, result *harness.Result) (err error) {
	b := &bench{options: o, result: result, sync: "os", cpu: harness.Unpinned}
	if o.pin {
		b.cpu = harness.ServerCPU
	}
	if b.dir, err = os.MkdirTemp("", "svc-accept-"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.binary, Dir: b.dir, Sync: b.sync, CPU: b.cpu, Flush: apartFlush})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	return b.inTurns(ctx, ", accept side alone", b.accept)
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
