// Command limits measures the capacity of this machine without the service: the denominators of the goals.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

func main() { harness.Main("limits", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	if ran, err := bare.Main(); ran {
		return err
	}
	results := flag.String("results", "bench/results", "folder of results")
	seconds := flag.Int("seconds", 5, "length of one run of a load")
	rounds := flag.Int("rounds", 3, "runs of each load")
	pin := flag.Bool("pin", false, "server on processor 1, generator on processor 0")
	flag.Parse()
	cpu := harness.Unpinned
	if *pin {
		if err := harness.PinSelf(harness.GeneratorCPU); err != nil {
			return err
		}
		cpu = harness.ServerCPU
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	result := harness.NewResult(ctx, "limits", "", *pin)
	result.Bottleneck = "one core of the bare program"
	span := time.Duration(*seconds) * time.Second
	for round := range *rounds {
		if err := handlers(ctx, result, cpu, span, round+1); err != nil {
			return err
		}
	}
	if err := selfMeasured(ctx, result, cpu); err != nil {
		return err
	}
	name, err := result.Write(*results)
	if err != nil {
		return err
	}
	fmt.Println("written:", name)
	return nil
}

// handlers measures the bare handlers once.
func handlers(ctx context.Context, result *harness.Result, cpu int, span time.Duration, round int) error {
	dir, err := os.MkdirTemp("", "svc-limits-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it holds a log of the child
	single := harness.Load{Path: "/api/v1/events", Connections: 64, Batch: 1, Duration: span, Seed: uint64(round)}
	batch := harness.Load{Path: "/api/v1/batch", Connections: 16, Batch: 100, Duration: span, Seed: uint64(round)}
	paced := single
	paced.Rate = 2000
	for _, run := range []struct {
		role, name string
		load       harness.Load
	}{
		{bare.Read, "http read, no decoding", single},
		{bare.Single, "http single", single},
		{bare.Batch, "http batch", batch},
		{bare.Single, "http single at 2000/s", paced},
	} {
		row, err := bare.HTTP(ctx, run.role, cpu, dir, run.load)
		if err != nil {
			return err
		}
		row.Name, row.Round = run.name, round
		result.Rows = append(result.Rows, row)
		fmt.Print(harness.Line(&row))
	}
	return nil
}

// selfMeasured adds the programs that account for themselves.
func selfMeasured(ctx context.Context, result *harness.Result, cpu int) error {
	for _, measure := range []func(context.Context, int) ([]harness.Measurement, error){bare.Columns, bare.Produce} {
		rows, err := measure(ctx, cpu)
		if err != nil {
			return err
		}
		for n := range rows {
			fmt.Print(harness.Line(&rows[n]))
		}
		result.Rows = append(result.Rows, rows...)
	}
	return nil
}
