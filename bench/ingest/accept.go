package main

import (
	"context"
	"fmt"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

const (
	singleConnections = 64
	batchConnections  = 16
	batchSize         = 100
	pacedConnections  = 64
	// drainTime limits the wait until the accepted events are stored.
	drainTime = 5 * time.Minute
)

func (b *bench) span() time.Duration { return time.Duration(b.seconds) * time.Second }

func (b *bench) single() harness.Load {
	return harness.Load{Path: "/api/v1/events", Connections: singleConnections, Batch: 1, Duration: b.span()}
}

func (b *bench) batch() harness.Load {
	return harness.Load{Path: "/api/v1/batch", Connections: batchConnections, Batch: batchSize, Duration: b.span()}
}

// open starts the server on an empty directory.
func (b *bench) open(ctx context.Context) error {
	took, err := b.server.Open(ctx)
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: "first start to ready", Kind: harness.KindService, Extra: map[string]float64{"ms": float64(took.Milliseconds())}})
	return nil
}

// alternate measures limit and service in turns, so that a slow minute of the machine affects both.
func (b *bench) alternate(ctx context.Context) error {
	return b.inTurns(ctx, ", sync "+b.sync, b.drive)
}

// inTurns measures the bare handlers and the service in turns, the service by drive.
func (b *bench) inTurns(ctx context.Context, suffix string, drive func(context.Context, string, harness.Load) (harness.Measurement, error)) error {
	for round := range b.rounds {
		for _, pair := range []struct {
			role string
			load harness.Load
		}{{bare.Single, b.single()}, {bare.Batch, b.batch()}} {
			pair.load.Seed = uint64(time.Now().UnixNano()) // identifiers differ from run to run
			row, err := bare.HTTP(ctx, pair.role, b.CPU(), b.dir, pair.load)
			if err != nil {
				return err
			}
			row.Round = round + 1
			b.add(row)
			if row, err = drive(ctx, pair.role+suffix, pair.load); err != nil {
				return err
			}
			row.Round = round + 1
			b.add(row)
		}
	}
	return nil
}

// drive runs a load on the service and waits until all of it is stored. The row has the cost of an event during
// acceptance and in total.
func (b *bench) drive(ctx context.Context, name string, load harness.Load) (harness.Measurement, error) {
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
	metrics, err := b.server.Scrape(ctx)
	if err != nil {
		return harness.Measurement{}, err
	}
	backlog := max(0, metrics.Lag())
	rss, anonymous, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	if err := b.server.AwaitDrained(ctx, drainTime); err != nil {
		return harness.Measurement{}, fmt.Errorf("after %s: %w", name, err)
	}
	all, err := meter.Read()
	if err != nil {
		return harness.Measurement{}, err
	}
	b.counted += outcome.Events
	row := outcome.Fill(name, harness.KindService, accepting)
	row.RSSBytes = rss
	row.Extra = map[string]float64{
		"backlogEvents": float64(backlog), "anonymousMiB": float64(anonymous >> 20),
		"drainSeconds":    all.Elapsed.Seconds() - outcome.Elapsed.Seconds(),
		"storedPerSecond": float64(outcome.Events) / all.Elapsed.Seconds(),
	}
	if outcome.Events > 0 {
		row.Extra["storedCPUMicrosPerEvent"] = float64(all.Server.Microseconds()) / float64(outcome.Events)
	}
	return row, nil
}

// paced measures latency at a fixed rate, with the bare handler as the floor.
func (b *bench) paced(ctx context.Context) error {
	load := b.single()
	load.Connections, load.Rate, load.Seed = pacedConnections, b.rate, uint64(time.Now().UnixNano())
	row, err := bare.HTTP(ctx, bare.Single, b.CPU(), b.dir, load)
	if err != nil {
		return err
	}
	row.Name = fmt.Sprintf("http single at %v/s", b.rate)
	b.add(row)
	if row, err = b.drive(ctx, fmt.Sprintf("single at %v/s, sync %s", b.rate, b.sync), load); err != nil {
		return err
	}
	b.add(row)
	return nil
}

// counts checks that everything accepted so far is counted.
func (b *bench) counts(ctx context.Context) error {
	headline, err := b.server.Overview(ctx, "production", "24h")
	if err != nil {
		return err
	}
	if headline.Pageviews != b.counted {
		b.result.Violations = append(b.result.Violations,
			fmt.Sprintf("sync %s: %d events were accepted, the overview counts %d page views", b.sync, b.counted, headline.Pageviews))
	}
	return nil
}

// idleTime is how long an idle server is watched.
const idleTime = 5 * time.Second

// idle measures the server with nothing to do.
func (b *bench) idle(ctx context.Context) error {
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	if err := harness.Pause(ctx, idleTime); err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	rss, anonymous, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: "idle, sync " + b.sync, Kind: harness.KindService, RSSBytes: rss, Foreign: usage.Foreign, Extra: map[string]float64{
		"cpuPercent": 100 * usage.Server.Seconds() / usage.Elapsed.Seconds(), "anonymousMiB": float64(anonymous >> 20),
	}})
	return nil
}

// restart measures an orderly stop and the start on data.
func (b *bench) restart(ctx context.Context) error {
	began := time.Now()
	if err := b.server.Stop(); err != nil {
		return err
	}
	stopped := time.Since(began)
	took, err := b.server.Open(ctx)
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: "restart to ready", Kind: harness.KindService, Extra: map[string]float64{
		"ms": float64(took.Milliseconds()), "stopMs": float64(stopped.Milliseconds()), "events": float64(b.counted),
	}})
	return b.counts(ctx)
}
