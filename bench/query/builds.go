package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

const (
	// maxOfBefore limits a figure, as a multiple of the previous build's: smaller differences are noise of the machine.
	maxOfBefore = 1.05
	// loadRounds alternate the builds and the bare handler for each kind of load.
	loadRounds = 15
	// singleEvents and batchEvents are the events of one round.
	singleEvents, batchEvents = 50_000, 200_000
	// singleConnections send single events at the same time.
	singleConnections = 64
)

// builds compares two builds of the server on the same processor: both run, and both hold the same events. Each load
// and each read alternates between them, so that a slow minute of the machine affects both. They run with default
// settings: accepted events are synced to disk.
func (b *bench) builds(ctx context.Context, dir string) error {
	var servers [2]*harness.Server
	for n, binary := range []string{b.before, b.Binary} {
		server, err := harness.NewServer(ctx, harness.Settings{Binary: binary, Dir: filepath.Join(dir, side(n)), Sync: "always", CPU: b.CPU()})
		if err != nil {
			return err
		}
		servers[n] = server
		if _, err := server.Open(ctx); err != nil {
			return err
		}
		defer server.Kill()
		if _, _, err := server.Past(ctx, b.events, b.days, loadTime); err != nil {
			return err
		}
	}
	if err := b.loadsInTurns(ctx, dir, servers); err != nil {
		return err
	}
	if err := b.readsInTurns(ctx, servers); err != nil {
		return err
	}
	for _, server := range servers {
		if err := server.Stop(); err != nil {
			return err
		}
	}
	return nil
}

// side names one of the two builds in rows and folders.
func side(n int) string { return [2]string{"before", "after"}[n] }

// turn returns the order of the servers in a round: each is first every other time.
func turn(round int) [2]int { return [2]int{round % 2, 1 - round%2} }

// loadsInTurns compares the processor time of an event until it is stored with that of the other build and of a bare
// handler.
func (b *bench) loadsInTurns(ctx context.Context, dir string, servers [2]*harness.Server) error {
	for _, kind := range []struct {
		role string
		load harness.Load
	}{
		{bare.Single, harness.Load{Path: "/api/v1/events", Connections: singleConnections, Batch: 1, Events: singleEvents}},
		{bare.Batch, harness.Load{Path: "/api/v1/batch", Connections: connections, Batch: ingestBatch, Events: batchEvents}},
	} {
		var cost [2][]float64
		var floor []float64
		for round := range loadRounds {
			kind.load.Seed, kind.load.Duration = uint64(time.Now().UnixNano()), loadTime // identifiers differ from round to round
			row, err := bare.HTTP(ctx, kind.role, b.CPU(), dir, kind.load)
			if err != nil {
				return err
			}
			row.Round = round + 1
			b.add(row)
			floor = append(floor, row.CPUPerEvent)
			for _, n := range turn(round) {
				outcome, usage, err := servers[n].Store(ctx, kind.load, loadTime)
				if err != nil {
					return fmt.Errorf("%s: %w", kind.role, err)
				}
				row := outcome.Fill(kind.role+", "+side(n), harness.KindService, usage)
				row.Round = round + 1
				b.add(row)
				cost[n] = append(cost[n], row.CPUPerEvent)
			}
		}
		name := kind.role + ", processor time until stored"
		b.hold(name, cost)
		for n := range servers {
			b.compare(name+", "+side(n), "of the bare handler", cost[n], floor)
		}
	}
	return nil
}

// readsInTurns compares the latency of the dashboards' reads.
func (b *bench) readsInTurns(ctx context.Context, servers [2]*harness.Server) error {
	reads := readsOf()
	took := make([][2][]float64, len(reads))
	spreads := make([][2]harness.Latency, len(reads))
	for round := range b.warm + 1 {
		for i := range reads {
			for _, n := range turn(round) {
				began := time.Now()
				if err := servers[n].Read(ctx, reads[i].path, reads[i].query, nil); err != nil {
					return fmt.Errorf("%s, %s: %w", reads[i].name, side(n), err)
				}
				if round == 0 { // The first round warms both.
					continue
				}
				elapsed := time.Since(began)
				spreads[i][n].Record(elapsed)
				took[i][n] = append(took[i][n], elapsed.Seconds())
			}
		}
	}
	for i := range reads {
		for n := range servers {
			spread := spreads[i][n].Spread()
			b.add(harness.Measurement{Name: reads[i].name + ", " + side(n), Kind: harness.KindService, Latency: &spread})
		}
		b.hold(reads[i].name, took[i])
	}
	return nil
}

// hold compares the figures of the two builds, and compares the median of their ratios with its bound.
func (b *bench) hold(name string, figures [2][]float64) {
	median := b.compare(name, "of the build before", figures[1], figures[0])
	b.result.Ratios = append(b.result.Ratios, harness.AtMost("builds", name+", of the build before", median, maxOfBefore))
}

// compare returns the median of the ratios of pairs, and records the interval of the true median.
func (b *bench) compare(name, of string, figures, floor []float64) (median float64) {
	pairs := harness.Compare(figures, floor)
	note := pairs.Line(name, of)
	b.result.Notes = append(b.result.Notes, note)
	fmt.Println(note)
	return pairs.Median
}
