package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"svc/bench/harness"
)

const (
	probes = 60
	// probeTime limits the wait for one probe.
	probeTime = 20 * time.Second
	probePoll = 5 * time.Millisecond
)

// fresh measures the time from the acknowledgement to the row in the feed and to the count in the overview, at half of
// the pipeline's throughput.
func (b *bench) fresh(ctx context.Context) error {
	throughput := b.result.Median("whole pipe, closed loop", func(m *harness.Measurement) float64 { return m.Extra["storedPerSecond"] })
	load := b.batch()
	load.Seed, load.Rate = uint64(time.Now().UnixNano()), throughput/2/batchSize
	load.Duration = 5 * time.Minute // ended by the last probe
	load.Address, load.Key = b.server.Address, b.server.Keys["production"].Secret
	loading, stop := context.WithCancel(ctx)
	done := make(chan harness.Outcome, 1)
	go func() { done <- load.Run(loading) }()
	feed, overview, err := b.probe(ctx)
	stop()
	outcome := <-done
	b.counted += outcome.Events
	if err != nil {
		return err
	}
	if outcome.Failures > 0 {
		b.result.Violations = append(b.result.Violations, "at half load: "+outcome.FirstFailure)
	}
	for name, latency := range map[string]*harness.Latency{"visible in the feed at half load": feed, "counted by the overview at half load": overview} {
		spread := latency.Spread()
		b.add(harness.Measurement{Name: name, Kind: harness.KindService, Latency: &spread, Extra: map[string]float64{"offeredPerSecond": throughput / 2}})
	}
	return b.server.AwaitDrained(ctx, drainTime)
}

// probe sends single events to the environment staging, where nothing else is counted, and waits for each in the feed
// and in the overview.
func (b *bench) probe(ctx context.Context) (feed, overview *harness.Latency, err error) {
	conn := harness.NewConn(b.server.Address, "/api/v1/events", b.server.Keys["staging"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	feed, overview = new(harness.Latency), new(harness.Latency)
	for n := range probes {
		id := "probe-" + strconv.Itoa(n)
		reply, err := conn.Post(harness.AppendEvent(nil, []byte(id), n, n, time.Now()))
		if err != nil || reply.Status != 202 {
			return nil, nil, fmt.Errorf("sending a probe: status %d, %w", reply.Status, err)
		}
		began := time.Now()
		if err := b.awaitProbe(ctx, id, began, feed); err != nil {
			return nil, nil, err
		}
		if err := b.awaitCount(ctx, uint64(n+1), began, overview); err != nil {
			return nil, nil, err
		}
	}
	return feed, overview, nil
}

func (b *bench) awaitProbe(ctx context.Context, id string, began time.Time, latency *harness.Latency) error {
	query := url.Values{"env": {"staging"}, "id": {id}}
	return harness.Poll(ctx, id+" in the feed", probeTime, probePoll, func(ctx context.Context) (bool, string) {
		page, err := b.server.Feed(ctx, query)
		if err != nil {
			return false, err.Error()
		}
		if len(page.Data) == 0 {
			return false, "an empty page"
		}
		latency.Record(time.Since(began))
		return true, ""
	})
}

func (b *bench) awaitCount(ctx context.Context, want uint64, began time.Time, latency *harness.Latency) error {
	return harness.Poll(ctx, "the count of a probe", probeTime, probePoll, func(ctx context.Context) (bool, string) {
		headline, err := b.server.Overview(ctx, "staging", "24h")
		if err != nil {
			return false, err.Error()
		}
		if headline.Pageviews < want {
			return false, fmt.Sprintf("%d of %d", headline.Pageviews, want)
		}
		latency.Record(time.Since(began))
		return true, ""
	})
}
