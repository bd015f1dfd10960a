package main

import (
	"context"
	"fmt"
	"time"

	"svc/bench/harness"
)

const (
	// ingestRate is the number of events per second that are sent during the reads.
	ingestRate = 5000
	// ingestBatch is the number of events in a request.
	ingestBatch = 100
	// ingestFactor limits the slowdown of the reads meanwhile.
	ingestFactor = 2
	// ingestHead is how long the load runs before the first read.
	ingestHead = 2 * time.Second
	// ingestTime limits the rounds of reads; there are at least ingestRounds.
	ingestTime   = 90 * time.Second
	ingestRounds = 5
)

// underIngest measures the reads while events arrive, in rounds, so that all of them have the same load.
func (b *bench) underIngest(ctx context.Context) error {
	loadCtx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan harness.Outcome, 1)
	go func() {
		ended <- harness.Load{
			Address: b.server.Address, Path: "/api/v1/batch", Key: b.server.Keys["production"].Secret,
			Connections: connections, Batch: ingestBatch, Rate: ingestRate / ingestBatch, Duration: b.Limit, Seed: 2,
		}.Run(loadCtx)
	}()
	select {
	case <-time.After(ingestHead):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	reads := readsOf()
	took := make([]harness.Latency, len(reads))
	began := time.Now()
	for round := range b.warm {
		if round >= ingestRounds && time.Since(began) > ingestTime {
			break
		}
		for i := range reads {
			if err := b.repeat(ctx, &reads[i], &took[i]); err != nil {
				return err
			}
		}
	}
	stop()
	load := <-ended
	for i := range reads {
		spread := took[i].Spread()
		b.add(harness.Measurement{Name: reads[i].name + beside, Kind: harness.KindService, Latency: &spread})
	}
	if load.Failures > 0 && load.Events == 0 {
		return fmt.Errorf("no event was taken beside the reads; the first failure: %s", load.FirstFailure)
	}
	row := load.Fill("ingest beside the reads", harness.KindService, harness.Usage{Elapsed: load.Elapsed})
	b.add(row)
	b.result.Ratios = append(b.result.Ratios, harness.AtLeast("G19", "events a second beside the reads", load.EventsPerSecond(), 0.98*ingestRate))
	return b.server.AwaitDrained(ctx, loadTime)
}

// The suffix of the names of reads that were measured under ingest.
const beside = ", under ingest"

// repeat reads once, or several times if a read takes less than a millisecond.
func (b *bench) repeat(ctx context.Context, read *read, took *harness.Latency) error {
	for range max(read.times, 1) {
		began := time.Now()
		if err := b.server.Read(ctx, read.path, read.query, nil); err != nil {
			return fmt.Errorf("%s: %w", read.name, err)
		}
		took.Record(time.Since(began))
	}
	return nil
}
