package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"time"

	"svc/bench/harness"
)

const (
	connections = 8
	otlpPath    = "/v1/metrics"
	otlpMedia   = "application/x-protobuf"
	// drainTime limits the wait for a backlog.
	drainTime = 20 * time.Minute
	// lagInterval is the interval at which the backlog is polled.
	lagInterval = 250 * time.Millisecond
	// minStored is the part of the rate that must be stored while it is sent.
	minStored = 0.95
	// maxGrowth limits the backlog in the second half, as a multiple of the first half's.
	maxGrowth = 2
)

// ingest sends points at the rate, watches the backlog, and compares the stored with the sent points.
func (b *bench) ingest(ctx context.Context, dir string) error {
	var err error
	if b.server, err = harness.NewServer(ctx, harness.Settings{Binary: b.Binary, Dir: dir, Sync: "os", CPU: b.CPU()}); err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	processes := make([]*process, connections)
	for n := range processes {
		processes[n] = newProcess(n, b.series/connections, time.Now())
	}
	if err := b.steady(ctx, processes); err != nil {
		return err
	}
	if err := b.last(processes); err != nil {
		return err
	}
	if err := b.server.AwaitDrained(ctx, drainTime); err != nil {
		return err
	}
	if err := b.check(ctx, processes); err != nil {
		return err
	}
	return b.server.Stop()
}

// steady drives the open loop.
func (b *bench) steady(ctx context.Context, processes []*process) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan []int64, 1)
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	go func() { watched <- b.lags(watching) }()
	outcome := harness.Load{
		Address: b.server.Address, Path: otlpPath, Key: b.server.Keys["production"].Secret, Media: otlpMedia,
		Connections: connections, Batch: b.batch, Rate: float64(b.rate) / float64(b.batch), Duration: time.Duration(b.seconds) * time.Second,
		Bodies: func(stream int) func([]byte, int, time.Time) []byte { return processes[stream].appendRequest },
	}.Run(ctx)
	stop()
	lags := <-watched
	accepting, err := meter.Read()
	if err != nil {
		return err
	}
	at, err := b.server.Scrape(ctx)
	if err != nil {
		return err
	}
	if err := b.server.AwaitDrained(ctx, drainTime); err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	if outcome.Failures > 0 {
		return fmt.Errorf("%d requests failed, the first: %s", outcome.Failures, outcome.FirstFailure)
	}
	row := outcome.Fill(fmt.Sprintf("%d points/s in OTLP batches of %d, %d series", b.rate, b.batch, b.series), harness.KindService, usage)
	if row.RSSBytes, _, err = harness.ProcessRSS(b.server.PID()); err != nil {
		return err
	}
	first, second := b.halves(lags)
	stored := float64(at[harness.MetricStored]) / accepting.Elapsed.Seconds()
	row.Extra = map[string]float64{
		"lagFirstHalf": first, "lagSecondHalf": second, "lagEnd": float64(at.Lag()), "drainMs": float64((usage.Elapsed - accepting.Elapsed).Milliseconds()),
		"storedPerSecond": math.Round(stored), "cpuOfOneCore": float64(accepting.Server) / float64(accepting.Elapsed),
	}
	b.add(row)
	b.result.Ratios = append(b.result.Ratios,
		harness.AtLeast("metrics", "points accepted, of the rate", outcome.EventsPerSecond()/float64(b.rate), minStored),
		harness.AtMost("metrics", "highest backlog of the second half, of the first", second/first, maxGrowth))
	return nil
}

// last makes every process export once more, as at its end, so that its final values are sent.
func (b *bench) last(processes []*process) error {
	for _, p := range processes {
		conn := harness.NewMediaConn(b.server.Address, otlpPath, b.server.Keys["production"].Secret, "bench", otlpMedia)
		reply, err := conn.Post(p.appendRequest(nil, len(p.series), time.Now()))
		conn.Close()
		if err != nil {
			return err
		}
		if reply.Status != http.StatusOK || len(reply.Body) > 0 {
			return fmt.Errorf("the last export: status %d: %q", reply.Status, reply.Body)
		}
	}
	return nil
}

// halves returns the highest backlog of both halves. The first is at least the points of one second, because a lower
// backlog is meaningless.
func (b *bench) halves(lags []int64) (first, second float64) {
	first, second = float64(b.rate), 0
	for n, lag := range lags {
		if n < len(lags)/2 {
			first = max(first, float64(lag))
		} else {
			second = max(second, float64(lag))
		}
	}
	return first, second
}

// lags polls the backlog until ctx ends.
func (b *bench) lags(ctx context.Context) []int64 {
	var lags []int64
	ticker := time.NewTicker(lagInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return lags
		case <-ticker.C:
			if metrics, err := b.server.Scrape(ctx); err == nil {
				lags = append(lags, metrics.Lag())
			}
		}
	}
}

// check compares the sums of counters and the counts of histograms with the final values of the processes.
func (b *bench) check(ctx context.Context, processes []*process) error {
	want := map[string]float64{}
	for _, p := range processes {
		for n := range p.series {
			metric := n / seriesPerMetric
			switch kindOf(metric) {
			case counter:
				want[nameOf(metric)] += p.series[n].sum
			case histogram:
				want[nameOf(metric)] += float64(p.series[n].count())
			case gauge:
			}
		}
	}
	for _, metric := range slices.Sorted(maps.Keys(want)) {
		var answer struct {
			Summary struct {
				Sum   float64 `json:"sum"`
				Count float64 `json:"count"`
			} `json:"summary"`
		}
		if err := b.server.Read(ctx, "/metrics/series", url.Values{"name": {metric}, "agg": {"sum"}, "range": {"1h"}}, &answer); err != nil {
			return err
		}
		got := answer.Summary.Sum
		if metric[:len("bench.h")] == "bench.h" {
			got = answer.Summary.Count
		}
		if got != want[metric] {
			b.result.Violations = append(b.result.Violations, fmt.Sprintf("%s is %v; the processes had reached %v", metric, got, want[metric]))
		}
	}
	return nil
}
