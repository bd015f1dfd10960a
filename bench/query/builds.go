package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

const (
	// maxOfBefore is how much more than the build before a figure may be: what lies below it
	// is noise of the machine.
	maxOfBefore = 1.05
	// maxOfBare is how many times the processor time of a bare handler a single event, forced to disk,
	// may take until it is stored.
	maxOfBare = 4
	// loadRounds alternate the builds and the bare handler for each kind of load.
	loadRounds = 15
	// singleEvents and batchEvents are the events of one round.
	singleEvents, batchEvents = 25_000, 200_000
	// singleConnections send single events at the same time.
	singleConnections = 64
)

// builds compares two builds of the server on the same processor: both run, both hold the
// same events, and each load and each read meets first the one and then the other, so that a
// slow minute of the machine meets both. They run as they are shipped: what is accepted was forced to disk.
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

// turn returns the order of the servers in a round: each begins every other time.
func turn(round int) [2]int { return [2]int{round % 2, 1 - round%2} }

// loadsInTurns compares the processor time of an event until it is stored, with that of the other build
// and of a bare handler.
func (b *bench) loadsInTurns(ctx context.Context, dir string, servers [2]*harness.Server) error {
	for _, kind := range []struct {
		role string
		load harness.Load
	}{
		{bare.Single, harness.Load{Path: "/api/v1/events", Connections: singleConnections, Batch: 1, Events: singleEvents}},
		{bare.Batch, harness.Load{Path: "/api/v1/batch", Connections: connections, Batch: ingestBatch, Events: batchEvents}},
	} {
		var before, after, floor []float64
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
				row, err := drive(ctx, servers[n], kind.load)
				if err != nil {
					return fmt.Errorf("%s: %w", kind.role, err)
				}
				row.Name, row.Round = kind.role+", "+side(n), round+1
				b.add(row)
				if n == 0 {
					before = append(before, row.CPUPerEvent)
				} else {
					after = append(after, row.CPUPerEvent)
				}
			}
		}
		name := kind.role + ", processor time until stored"
		b.compare(name, ofBefore, after, before, maxOfBefore)
		b.compare(name, "of the bare handler, before", before, floor, math.Inf(1))
		bound := math.Inf(1)
		if kind.role == bare.Single {
			bound = maxOfBare
		}
		b.compare(name, "of the bare handler", after, floor, bound)
	}
	return nil
}

// drive sends a load and waits until all of it is stored; the row's processor time is that of both.
func drive(ctx context.Context, server *harness.Server, load harness.Load) (harness.Measurement, error) {
	load.Address, load.Key = server.Address, server.Keys["production"].Secret
	meter, err := harness.StartMeter(server.PID())
	if err != nil {
		return harness.Measurement{}, err
	}
	outcome := load.Run(ctx)
	if outcome.Failures > 0 {
		return harness.Measurement{}, fmt.Errorf("%d requests failed, the first: %s", outcome.Failures, outcome.FirstFailure)
	}
	if err := server.AwaitDrained(ctx, loadTime); err != nil {
		return harness.Measurement{}, err
	}
	usage, err := meter.Read()
	return outcome.Fill("", harness.KindService, usage), err
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
		b.compare(reads[i].name, ofBefore, took[i][1], took[i][0], maxOfBefore)
	}
	return nil
}

// ofBefore says what the figures of a build are compared with.
const ofBefore = "of the build before"

// compare holds the median of the ratios of pairs to a bound, where there is one, and notes within which values
// the true median lies with a probability of 95 %.
func (b *bench) compare(name, of string, figures, floor []float64, bound float64) {
	ratios := make([]float64, len(figures))
	for n := range ratios {
		ratios[n] = figures[n] / floor[n]
	}
	low, median, high := medianWithin(ratios)
	if !math.IsInf(bound, 1) {
		b.result.Ratios = append(b.result.Ratios, harness.AtMost("builds", name+", "+of, median, bound))
	}
	note := fmt.Sprintf("%s: %.3f %s, 95 %% between %.3f and %.3f, %d pairs.", name, median, of, low, high, len(ratios))
	b.result.Notes = append(b.result.Notes, note)
	fmt.Println(note)
}

// medianWithin returns the median of values, which it sorts, and the order statistics that
// enclose the true one with a probability of 95 %, by the normal approximation of the sign test
// (Conover, Practical Nonparametric Statistics, section 3.2).
func medianWithin(values []float64) (low, median, high float64) {
	slices.Sort(values)
	n := len(values)
	reach := int(math.Ceil(0.98 * math.Sqrt(float64(n)))) // 1.96·√n/2
	return values[max(0, n/2-reach)], (values[(n-1)/2] + values[n/2]) / 2, values[min(n-1, (n-1)/2+reach)]
}
