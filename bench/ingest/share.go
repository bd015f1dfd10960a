package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

const (
	// calmConnections and calmRate are the load of the application that is measured.
	calmConnections = 8
	calmRate        = 50
	// shareRounds alternate all measurements.
	shareRounds = 2
)

// Names of the rows: the calm load against the service and against a bare handler, each alone and during the flood. The
// flood during the bare handler's measurement goes to the service. So it affects the handler only through the machine,
// not through parts of a shared service.
const (
	calmAlone    = "one application alone"
	calmFlooded  = "beside the flood of another"
	freshAlone   = "visible in the feed, alone"
	freshFlooded = "visible in the feed, beside the flood"
	bareAlone    = "bare handler alone"
	bareFlooded  = "bare handler, flooded itself"
	bareApart    = "bare handler, beside the flooded service"
)

// measureShare measures the effect of one application's flood on another: the duration of its requests, and the delay
// until its events are visible.
func measureShare(ctx context.Context, o *options, dir string, result *harness.Result) error {
	b := &bench{options: o, result: result, sync: "os", dir: dir}
	var err error
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: dir, Sync: b.sync, CPU: o.CPU()})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	key, err := b.secondKey(ctx)
	if err != nil {
		return err
	}
	for round := range shareRounds {
		if err := b.shareRound(ctx, round+1, key); err != nil {
			return err
		}
	}
	result.Ratios = shareRatios(result)
	return b.server.Stop()
}

// shareRound makes all measurements once.
func (b *bench) shareRound(ctx context.Context, round int, key string) error {
	handler, err := bare.StartHandler(ctx, bare.Both, b.CPU(), b.dir)
	if err != nil {
		return err
	}
	defer handler.Kill()
	bareCalm := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			b.calm(ctx, round, name, harness.Load{Address: handler.Address, Key: "none"})
			return nil
		}
	}
	served := func(name, fresh string) func(context.Context) error {
		return func(ctx context.Context) error { return b.sharing(ctx, round, name, fresh) }
	}
	drained := func() error { return b.server.AwaitDrained(ctx, drainTime) }
	for _, step := range []func() error{
		func() error { return bareCalm(bareAlone)(ctx) },
		func() error {
			return b.beside(ctx, round, "the flood of the bare handler", handler.Address, "none", bareCalm(bareFlooded))
		},
		func() error { return served(calmAlone, freshAlone)(ctx) },
		func() error {
			return b.beside(ctx, round, "the flood", b.server.Address, key, served(calmFlooded, freshFlooded))
		},
		drained,
		func() error {
			return b.beside(ctx, round, "the flood beside the bare handler", b.server.Address, key, bareCalm(bareApart))
		},
		drained,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// beside measures during a flood.
func (b *bench) beside(ctx context.Context, round int, name, address, key string, measure func(context.Context) error) error {
	flooding, err := startFlood(ctx, address, key)
	if err != nil {
		return err
	}
	measuring := measure(ctx)
	row, err := flooding.end()
	if err == nil {
		row.Name, row.Round = name, round
		b.add(row)
	}
	return errors.Join(measuring, err)
}

// calm measures the calm load.
func (b *bench) calm(ctx context.Context, round int, name string, load harness.Load) {
	load.Path, load.Batch, load.Connections, load.Rate = "/api/v1/events", 1, calmConnections, calmRate
	load.Duration, load.Seed = b.span(), uint64(time.Now().UnixNano())
	outcome := load.Run(ctx)
	row := outcome.Fill(name, harness.KindService, harness.Usage{})
	if load.Address != b.server.Address {
		row.Kind = harness.KindLimit
	}
	row.Round, row.Extra = round, map[string]float64{"p95ms": millis(outcome.Latency.Percentile(0.95))}
	b.add(row)
}

// sharing measures the calm load on the service, and the delay of its events meanwhile.
func (b *bench) sharing(ctx context.Context, round int, name, fresh string) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.calm(ctx, round, name, harness.Load{Address: b.server.Address, Key: b.server.Keys["production"].Secret})
	}()
	feed := new(harness.Latency)
	err := b.sightings(ctx, feed)
	<-done
	if err != nil {
		return err
	}
	b.add(harness.Measurement{Name: fresh, Kind: harness.KindService, Round: round, Extra: map[string]float64{
		"p50ms": millis(feed.Percentile(0.5)), "p95ms": millis(feed.Percentile(0.95)), "probes": float64(feed.Count()),
	}})
	return nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// sightings sends single events and waits for each in the feed, for as long as the load lasts.
func (b *bench) sightings(ctx context.Context, feed *harness.Latency) error {
	conn := harness.NewConn(b.server.Address, "/api/v1/events", b.server.Keys["staging"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	until := time.Now().Add(b.span())
	for n := 0; time.Now().Before(until); n++ {
		id := fmt.Sprint("probe-", time.Now().UnixNano())
		reply, err := conn.Post(harness.AppendEvent(nil, []byte(id), n, n, time.Now()))
		if err != nil || reply.Status != http.StatusAccepted {
			return fmt.Errorf("sending a probe: status %d, %w", reply.Status, err)
		}
		if err := b.awaitProbe(ctx, id, time.Now(), feed); err != nil {
			return err
		}
	}
	return nil
}

// secondKey creates another application and one of its keys.
func (b *bench) secondKey(ctx context.Context) (string, error) {
	if _, err := b.make(ctx, "/api/v1/orgs/acme/apps", map[string]any{"name": "Flood", "slug": "flood"}); err != nil {
		return "", err
	}
	made, err := b.make(ctx, "/api/v1/apps/acme/flood/keys", map[string]any{"kind": "secret", "environment": "production", "label": "flood"})
	key, _ := made["key"].(string)
	return key, err
}

// make creates an object over the API.
func (b *bench) make(ctx context.Context, path string, body any) (map[string]any, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.server.Address+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+b.server.Token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Timeout: probeTime}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", path, err)
	}
	defer answer.Body.Close()
	made := map[string]any{}
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || answer.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("making %s: status %d %v, %w", path, answer.StatusCode, made, err)
	}
	return made, nil
}

// shareRatios compares the calm load during the flood with the calm load alone, and both with the bare handler.
func shareRatios(result *harness.Result) []harness.Ratio {
	p95 := func(name string) float64 {
		return result.Median(name, func(m *harness.Measurement) float64 { return m.Extra["p95ms"] })
	}
	return []harness.Ratio{
		harness.AtMost("E8", "ingest p95 beside the flood / alone", p95(calmFlooded)/p95(calmAlone), 2),
		harness.AtMost("E8", "ingest p95 beside the flood / bare handler beside the flooded service", p95(calmFlooded)/p95(bareApart), 2),
		harness.AtMost("E8", "ingest p95 beside the flood / bare handler, flooded itself", p95(calmFlooded)/p95(bareFlooded), 2),
		harness.AtMost("E8", "freshness p95 beside the flood / alone", p95(freshFlooded)/p95(freshAlone), 2),
	}
}
