package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

const (
	// readersGone is longer than a server assumes a reader after a read or a stream.
	readersGone = 16 * time.Second
	// readEvery is the pause between two reads of a viewer of a page.
	readEvery = 5 * time.Second
)

// measureForced measures the cost of one event until it is stored, on a server with default settings, on which every
// answer waits for the disk. It measures without readers, and then with a viewer of a page. Each load is compared with
// one on the bare handler before it.
func measureForced(ctx context.Context, o *options, dir string, result *harness.Result) error {
	b := &bench{options: o, result: result, sync: "always", dir: dir}
	var err error
	b.server, err = harness.NewServer(ctx, harness.Settings{Binary: o.Binary, Dir: filepath.Join(dir, "server"), Sync: b.sync, CPU: o.CPU()})
	if err != nil {
		return err
	}
	defer b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return err
	}
	for _, scene := range []struct {
		name  string
		reads bool
	}{{"nobody reads", false}, {"somebody reads", true}} {
		pairs, err := b.forced(ctx, scene.name, scene.reads)
		if err != nil {
			return fmt.Errorf("while %s: %w", scene.name, err)
		}
		name := "one forced event, all stages, while " + scene.name
		note := pairs.Line(name, "of the bare handler")
		result.Notes = append(result.Notes, note)
		fmt.Println(note)
		result.Ratios = append(result.Ratios, harness.AtMost("G2", name+", µs / bare µs", pairs.Median, maxAllStages))
	}
	return errors.Join(b.counts(ctx), b.server.Stop())
}

// forced compares single events with the bare handler in turns.
func (b *bench) forced(ctx context.Context, scene string, reads bool) (pairs harness.Pairs, err error) {
	if reads {
		reading, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- b.look(reading) }()
		defer func() {
			stop()
			err = errors.Join(err, <-ended)
		}()
	} else if err := harness.Pause(ctx, readersGone); err != nil {
		return pairs, err
	}
	var cost, floor []float64
	for round := range b.rounds {
		load := b.single()
		load.Seed = uint64(time.Now().UnixNano()) // identifiers differ from run to run
		row, err := bare.HTTP(ctx, bare.Single, b.CPU(), b.dir, load)
		if err != nil {
			return pairs, err
		}
		row.Round = round + 1
		b.add(row)
		floor = append(floor, row.CPUPerEvent)
		if row, err = b.drive(ctx, "single, while "+scene, load); err != nil {
			return pairs, err
		}
		row.Round = round + 1
		b.add(row)
		cost = append(cost, row.Extra["storedCPUMicrosPerEvent"])
	}
	return harness.Compare(cost, floor), nil
}

// look reads the event feed repeatedly, until ctx ends.
func (b *bench) look(ctx context.Context) error {
	ticker := time.NewTicker(readEvery)
	defer ticker.Stop()
	for {
		if err := b.server.Read(ctx, "/events", nil, nil); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
