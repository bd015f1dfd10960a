package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"svc/bench/harness"
)

// Variables that give a copy of this program the target of its flood.
const (
	floodAddressVariable = "SVC_BENCH_FLOOD_ADDRESS"
	floodKeyVariable     = "SVC_BENCH_FLOOD_KEY"
)

const (
	// floodConnections send as fast as they are answered.
	floodConnections = 200
	floodBatch       = 200
	// floodTime limits a flood that is not stopped.
	floodTime = 10 * time.Minute
)

// flood is a copy of this program that sends as fast as it is answered. It is a separate process, so that the measured
// load does not wait for the goroutines of the flood.
type flood struct {
	cmd      *exec.Cmd
	out, bad bytes.Buffer
}

// startFlood floods an address with a key until end is called.
func startFlood(ctx context.Context, address, key string) (*flood, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program: %w", err)
	}
	f := &flood{cmd: exec.CommandContext(ctx, self)}
	f.cmd.Env = append(os.Environ(), floodAddressVariable+"="+address, floodKeyVariable+"="+key)
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.bad
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := f.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the flood: %w", err)
	}
	return f, nil
}

// end ends the flood and returns its results.
func (f *flood) end() (row harness.Measurement, err error) {
	if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return row, fmt.Errorf("ending the flood: %w", err)
	}
	if err := f.cmd.Wait(); err != nil {
		return row, fmt.Errorf("the flood: %w", errors.Join(err, errors.New(f.bad.String())))
	}
	if err := json.Unmarshal(f.out.Bytes(), &row); err != nil {
		return row, fmt.Errorf("reading what the flood came to: %w", err)
	}
	return row, nil
}

// runFlood is the main function of the copy: it sends until ctx ends, and prints its results.
func runFlood(ctx context.Context, address string) error {
	load := harness.Load{
		Address: address, Path: "/api/v1/batch", Key: os.Getenv(floodKeyVariable), Connections: floodConnections, Batch: floodBatch,
		Duration: floodTime, Seed: uint64(time.Now().UnixNano()),
	}
	outcome := load.Run(ctx)
	row := outcome.Fill("", harness.KindService, harness.Usage{})
	row.Extra = map[string]float64{"p95ms": millis(outcome.Latency.Percentile(0.95))}
	return json.NewEncoder(os.Stdout).Encode(row)
}
