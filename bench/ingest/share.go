package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"svc/bench/harness"
)

const (
	// calmConnections and calmRate are the load of the application that is measured.
	calmConnections = 8
	calmRate        = 50
	// floodConnections send as fast as they can for another application.
	floodConnections = 200
	floodBatch       = 200
	// shareRounds alternate the calm load alone and beside the flood.
	shareRounds = 2
)

// Names of the rows.
const (
	calmAlone    = "one application alone"
	calmFlooded  = "beside the flood of another"
	freshAlone   = "visible in the feed, alone"
	freshFlooded = "visible in the feed, beside the flood"
)

// measureShare measures what the flood of one application does to another: how long its
// requests take, and how soon its events are seen.
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
	for range shareRounds {
		if err := b.calm(ctx, calmAlone, freshAlone); err != nil {
			return err
		}
		if err := b.flooded(ctx, key); err != nil {
			return err
		}
	}
	result.Ratios = shareRatios(result)
	return b.server.Stop()
}

// flooded measures the calm load beside the flood.
func (b *bench) flooded(ctx context.Context, key string) error {
	load := harness.Load{
		Address: b.server.Address, Path: "/api/v1/batch", Key: key, Connections: floodConnections, Batch: floodBatch,
		Duration: 10 * time.Minute, Seed: uint64(time.Now().UnixNano()), // ended with the calm load
	}
	flooding, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan harness.Outcome, 1)
	go func() { done <- load.Run(flooding) }()
	err := b.calm(ctx, calmFlooded, freshFlooded)
	stop()
	flood := <-done
	b.add(harness.Measurement{
		Name: "the flood", Kind: harness.KindService, Events: flood.Events, Seconds: flood.Elapsed.Seconds(), EventsPerSecond: flood.EventsPerSecond(),
		Extra: map[string]float64{"refused": float64(flood.Failures), "p95ms": float64(flood.Latency.Percentile(0.95).Milliseconds())},
	})
	if err != nil {
		return err
	}
	return b.server.AwaitDrained(ctx, drainTime)
}

// calm measures the calm load, and how soon events are seen meanwhile.
func (b *bench) calm(ctx context.Context, name, fresh string) error {
	load := harness.Load{
		Address: b.server.Address, Path: "/api/v1/events", Key: b.server.Keys["production"].Secret, Connections: calmConnections, Batch: 1, Rate: calmRate,
		Duration: b.span(), Seed: uint64(time.Now().UnixNano()),
	}
	done := make(chan harness.Outcome, 1)
	go func() { done <- load.Run(ctx) }()
	feed := new(harness.Latency)
	err := b.sightings(ctx, feed)
	outcome := <-done
	if err != nil {
		return err
	}
	row := outcome.Fill(name, harness.KindService, harness.Usage{})
	row.Extra = map[string]float64{"p95ms": millis(outcome.Latency.Percentile(0.95))}
	b.add(row)
	b.add(harness.Measurement{Name: fresh, Kind: harness.KindService, Extra: map[string]float64{
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

// secondKey makes another application and a key of it.
func (b *bench) secondKey(ctx context.Context) (string, error) {
	if _, err := b.make(ctx, "/api/v1/orgs/acme/apps", map[string]any{"name": "Flood", "slug": "flood"}); err != nil {
		return "", err
	}
	made, err := b.make(ctx, "/api/v1/apps/acme/flood/keys", map[string]any{"kind": "secret", "environment": "production", "label": "flood"})
	key, _ := made["key"].(string)
	return key, err
}

// make creates something over the API.
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

// shareRatios holds the calm load beside the flood to itself alone.
func shareRatios(result *harness.Result) []harness.Ratio {
	p95 := func(name string) float64 {
		return result.Median(name, func(m *harness.Measurement) float64 { return m.Extra["p95ms"] })
	}
	return []harness.Ratio{
		harness.AtMost("E8", "ingest p95 beside the flood / alone", p95(calmFlooded)/p95(calmAlone), 2),
		harness.AtMost("E8", "freshness p95 beside the flood / alone", p95(freshFlooded)/p95(freshAlone), 2),
	}
}
