package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc/bench/harness"
)

// sustained keeps the whole pipeline busy: first as fast as it accepts, which gives its throughput from request to row,
// then at nine tenths of that while it watches the lag.
func (b *bench) sustained(ctx context.Context) error {
	load := b.batch()
	load.Duration, load.Seed = time.Duration(b.sustain)*time.Second, uint64(time.Now().UnixNano())
	row, err := b.drive(ctx, "whole pipe, closed loop", load)
	if err != nil {
		return err
	}
	b.add(row)
	load.Seed++
	load.Rate = 0.9 * row.Extra["storedPerSecond"] / batchSize
	watched, stop := context.WithCancel(ctx)
	lags := make(chan lag, 1)
	go func() { lags <- b.watch(watched) }()
	type share struct {
		of  float64
		err error
	}
	shares := make(chan share, 1)
	go func() {
		of, err := b.accountingOf(ctx, max(1, b.sustain-2))
		shares <- share{of, err}
	}()
	row, err = b.drive(ctx, "whole pipe, sustained at 0.9", load)
	stop()
	seen, counting := <-lags, <-shares
	if err := errors.Join(err, counting.err); err != nil {
		return err
	}
	row.Extra["accountingShare"] = counting.of
	row.Extra["lagMaxEvents"], row.Extra["lagFirstHalfMean"], row.Extra["lagSecondHalfMean"] = seen.max, seen.first, seen.second
	row.Extra["offeredPerSecond"] = load.Rate * batchSize
	b.add(row)
	if seen.second > 2*seen.first+row.Extra["offeredPerSecond"] {
		b.result.Notes = append(b.result.Notes, fmt.Sprintf("the lag grows at %.0f events a second", row.Extra["offeredPerSecond"]))
	}
	return nil
}

// maxAllStages limits the processor time of a single event until it is stored, as a multiple of a bare handler's time.
const maxAllStages = 4

// lag is the number of waiting events, at most and by halves of the time.
type lag struct{ max, first, second float64 }

// watchInterval is the interval at which the lag is read.
const watchInterval = 250 * time.Millisecond

// watch samples the lag until ctx ends or the sustained time is over.
func (b *bench) watch(ctx context.Context) lag {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b.sustain)*time.Second)
	defer cancel()
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	var samples []float64
	for {
		select {
		case <-ticker.C:
			if metrics, err := b.server.Scrape(ctx); err == nil {
				samples = append(samples, float64(max(0, metrics.Lag())))
			}
		case <-ctx.Done():
			return lagOf(samples)
		}
	}
}

func lagOf(samples []float64) lag {
	var result lag
	half := len(samples) / 2
	for n, sample := range samples {
		result.max = max(result.max, sample)
		if n < half {
			result.first += sample / float64(half)
		} else {
			result.second += sample / float64(len(samples)-half)
		}
	}
	return result
}

// ratios compares the medians with the goals.
func ratios(result *harness.Result) []harness.Ratio {
	speed := func(name string) float64 {
		return result.Median(name, func(m *harness.Measurement) float64 { return m.EventsPerSecond })
	}
	cost := func(name string) float64 {
		return result.Median(name, func(m *harness.Measurement) float64 { return m.CPUPerEvent })
	}
	stored := func(name string) float64 {
		return result.Median(name, func(m *harness.Measurement) float64 { return m.Extra["storedCPUMicrosPerEvent"] })
	}
	tail := func(name string, of func(*harness.Spread) float64) float64 {
		return result.Median(name, func(m *harness.Measurement) float64 { return of(m.Latency) })
	}
	p99 := func(s *harness.Spread) float64 { return s.P99 }
	longest := func(s *harness.Spread) float64 { return s.Max }
	fresh := "visible in the feed at half load"
	rows := []harness.Ratio{
		harness.AtLeast("G5", "whole pipe, events a second", result.Median("whole pipe, closed loop", func(m *harness.Measurement) float64 { return m.Extra["storedPerSecond"] }), 100_000),
		harness.AtMost("G5", "whole pipe, µs per stored event", stored("whole pipe, closed loop"), 2.5*7.4),
		harness.AtMost("telemetry", "accounting, part of the processor time", result.Median("whole pipe, sustained at 0.9", func(m *harness.Measurement) float64 { return m.Extra["accountingShare"] }), accountingShare),
		harness.AtMost("G6", "accept to visible, p50 ms", tail(fresh, func(s *harness.Spread) float64 { return s.P50 }), 500),
		harness.AtMost("G6", "accept to visible, p99 ms", tail(fresh, p99), 1000),
	}
	for _, sync := range []string{"os", "always"} {
		single, batch, paced := "single, sync "+sync, "batch, sync "+sync, "single at 2000/s, sync "+sync
		rows = append(rows,
			harness.AtLeast("G1", single+" / bare", speed(single)/speed("http single"), 0.65),
			harness.AtMost("G2", single+", µs / bare µs", cost(single)/cost("http single"), 1.6),
			harness.AtMost("G2", single+", all stages, µs / bare µs", stored(single)/cost("http single"), maxAllStages),
			harness.AtLeast("G3", batch+" / bare", speed(batch)/speed("http batch"), 0.55))
		if tail(paced, p99) > 0 {
			rows = append(rows,
				harness.AtMost("G4", paced+", p99 ms over the floor", tail(paced, p99)-tail("http single at 2000/s", p99), 1),
				harness.AtMost("G4", paced+", longest ms", tail(paced, longest), 20))
		}
	}
	return append(rows, apartRatios(result)...)
}
