// Command errors measures error tracking: errors of 8 KiB at a rate, a hundred thousand issues, the reads over many
// occurrences, and how soon a resolved issue that occurs again is listed as regressed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"time"

	"svc/bench/harness"
)

// options are the flags.
type options struct {
	harness.Run

	rate        int
	seconds     int
	issues      int
	occurrences int
	rounds      int
	warm        int
}

func main() { harness.Main("errors", start) }

// start reads the flags and measures.
func start(ctx context.Context) error {
	var o options
	o.Flags(30 * time.Minute)
	flag.IntVar(&o.rate, "rate", 2000, "errors a second of the open loop")
	flag.IntVar(&o.seconds, "seconds", 10, "length of the open loop; 60 by hand")
	flag.IntVar(&o.issues, "issues", 10_000, "distinct issues of the flood; 100000 by hand")
	flag.IntVar(&o.occurrences, "occurrences", 50_000, "occurrences that the reads cover; 1000000 by hand")
	flag.IntVar(&o.rounds, "rounds", 30, "how often an issue is resolved and comes back")
	flag.IntVar(&o.warm, "warm", 30, "warm runs of each read")
	flag.Parse()
	return o.Within(ctx, "errors", func(ctx context.Context, dir string) error { return measure(ctx, &o, dir) })
}

// bench is one server under measurement.
type bench struct {
	*options
	server *harness.Server
	result *harness.Result
	sent   uint64
}

func measure(ctx context.Context, o *options, dir string) error {
	b := &bench{options: o, result: harness.NewResult(ctx, "errors", o.Binary, o.Pin)}
	b.result.Bottleneck = "the CPU of the server's process: decoding and grouping, then the engine's insert and merges"
	var err error
	if b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: dir, Sync: "os", CPU: o.CPU()}); err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	for _, scenario := range []func(context.Context) error{b.steady, b.regressions, b.flood, b.fill, b.reads} {
		if err := scenario(ctx); err != nil {
			return err
		}
	}
	return errors.Join(b.server.Stop(), o.Keep(b.result))
}

func (b *bench) add(row harness.Measurement) {
	b.result.Rows = append(b.result.Rows, row)
	fmt.Print(harness.Line(&row))
}

const (
	connections = 8
	batchSize   = 20
	// steadyIssues is the number of issues of the open loop.
	steadyIssues = 1000
	// drainTime limits the wait for a backlog.
	drainTime = 20 * time.Minute
)

// load sends errors and waits until all are stored.
func (b *bench) load(ctx context.Context, name string, l harness.Load, extra map[string]float64) error {
	l.Address, l.Path, l.Key = b.server.Address, "/api/v1/errors", b.server.Keys["production"].Secret
	l.Connections, l.Batch = connections, batchSize
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	outcome := l.Run(ctx)
	ended := time.Now()
	if err := b.server.AwaitDrained(ctx, drainTime); err != nil {
		return err
	}
	extra["drainMs"] = float64(time.Since(ended).Milliseconds())
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	if outcome.Failures > 0 {
		return fmt.Errorf("%s: %d requests failed, the first: %s", name, outcome.Failures, outcome.FirstFailure)
	}
	b.sent += outcome.Events
	row := outcome.Fill(name, harness.KindService, usage)
	extra["storedPerSecond"] = float64(outcome.Events) / usage.Elapsed.Seconds()
	metrics, err := b.server.Scrape(ctx)
	if err != nil {
		return err
	}
	extra["actors"] = metrics["svc_actors_resident"]
	row.Extra = extra
	rss, _, err := harness.ProcessRSS(b.server.PID())
	if err != nil {
		return err
	}
	row.RSSBytes = rss
	b.add(row)
	return nil
}

// steady sends at the rate and watches the lag: its middle and its end show whether it grows.
func (b *bench) steady(ctx context.Context) error {
	extra := map[string]float64{}
	watching, stop := context.WithCancel(ctx)
	watched := make(chan []int64)
	go func() { watched <- b.lags(watching) }()
	err := b.load(ctx, fmt.Sprintf("%d errors/s of 8 KiB", b.rate), harness.Load{
		Issues: steadyIssues, Rate: float64(b.rate) / batchSize, Duration: time.Duration(b.seconds) * time.Second, Seed: 1,
	}, extra)
	stop()
	lags := <-watched
	if err != nil {
		return err
	}
	row := &b.result.Rows[len(b.result.Rows)-1]
	row.Extra["lagMiddle"], row.Extra["lagEnd"] = float64(highest(lags[:len(lags)/2])), float64(highest(lags[len(lags)/2:]))
	// A record holds the requests that arrived while another was in progress, a handful each.
	b.result.Ratios = append(b.result.Ratios, harness.AtMost("errors", "highest lag of the second half, records, per that of the first", row.Extra["lagEnd"]/max(row.Extra["lagMiddle"], 1), 2))
	return nil
}

// lags reads the lag twice a second until ctx ends.
func (b *bench) lags(ctx context.Context) []int64 {
	var lags []int64
	ticker := time.NewTicker(500 * time.Millisecond)
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

func highest(lags []int64) int64 {
	var most int64
	for _, lag := range lags {
		most = max(most, lag)
	}
	return most
}

// flood creates many issues at once and counts the actors that it loaded.
func (b *bench) flood(ctx context.Context) error {
	err := b.load(ctx, fmt.Sprintf("errors of %d issues", b.issues), harness.Load{Issues: b.issues, Events: b.issues * 2, Duration: drainTime, Seed: 2}, map[string]float64{})
	if err != nil {
		return err
	}
	b.result.Ratios = append(b.result.Ratios, harness.AtMost("errors", "actors in memory after the flood", b.result.Rows[len(b.result.Rows)-1].Extra["actors"], 20_000))
	return nil
}

// fill sends the missing occurrences, spread over a month.
func (b *bench) fill(ctx context.Context) error {
	missing := b.occurrences - int(b.sent)
	if missing <= 0 {
		return nil
	}
	began := time.Now().AddDate(0, 0, -29)
	step := float64(time.Since(began)-time.Minute) * connections / float64(missing)
	return b.load(ctx, "fill", harness.Load{
		Issues: steadyIssues, Events: missing, Duration: drainTime, Seed: 3,
		Time: func(sent int) time.Time { return began.Add(time.Duration(step * float64(sent))) },
	}, map[string]float64{})
}

// reads measures the list in its orders and the overview of a month.
func (b *bench) reads(ctx context.Context) error {
	for _, read := range []struct {
		name, path string
		query      url.Values
	}{
		{"list, last seen", "/errors", url.Values{"status": {"all"}}},
		{"list, most occurrences", "/errors", url.Values{"sort": {"count"}}},
		{"list, most users", "/errors", url.Values{"sort": {"users"}}},
		{"list, one word", "/errors", url.Values{"q": {"stepzero"}}},
		{"list, one release", "/errors", url.Values{"release": {"shop@1.7.0"}}},
		{"overview 30d", "/errors/overview", url.Values{"range": {"30d"}}},
		{"overview 24h", "/errors/overview", url.Values{"range": {"24h"}}},
	} {
		var warm harness.Latency
		for n := range 1 + b.warm {
			began := time.Now()
			if err := b.server.Read(ctx, read.path, read.query, nil); err != nil {
				return fmt.Errorf("%s: %w", read.name, err)
			}
			if n > 0 {
				warm.Record(time.Since(began))
			}
		}
		spread := warm.Spread()
		b.add(harness.Measurement{Name: read.name, Kind: harness.KindService, Latency: &spread, Extra: map[string]float64{"occurrences": float64(b.sent)}})
		b.result.Ratios = append(b.result.Ratios, harness.AtMost("errors", fmt.Sprintf("%s over %d occurrences, p95 ms", read.name, b.sent), float64(warm.Percentile(0.95).Microseconds())/1000, 200))
	}
	return nil
}
