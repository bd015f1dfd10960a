package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	readstore "svc/storage/clickhouse/reads"
)

// keptFile holds, in the data directory, what the store has counted of past days.
const keptFile = "kept-days"

// keepEvery is how often it is written. What is kept of days that are over changes about
// once a day, so a killed process loses little.
const keepEvery = 15 * time.Minute

// loadKept takes in what the process before this one had counted. It is never needed, so
// that a file that cannot be used is only noted.
func (n *node) loadKept(ctx context.Context) error {
	file, err := os.Open(n.dir.Join(keptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(n.db.LoadMemory(ctx, file), file.Close())
	}
	if err != nil {
		n.logger.Info("past days are counted anew", "error", err)
	}
	return nil
}

// keepKept writes the file now and then, and once more at the end.
func (n *node) keepKept(ctx context.Context) error {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return n.saveKept(context.WithoutCancel(ctx))
		}
		if err := n.saveKept(ctx); err != nil {
			n.logger.Warn("what was counted of past days could not be written", "error", err)
		}
	}
}

// saveKept replaces the file as a whole.
func (n *node) saveKept(ctx context.Context) (err error) {
	path := n.dir.Join(keptFile)
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing past days: %w", err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(n.db.SaveMemory(ctx, out), out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("writing past days: %w", err)
	}
	return os.Rename(path+".new", path)
}

// countDays counts the days that are over before anybody asks for them.
func (n *node) countDays(ctx context.Context) error {
	rounds := prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_past_days_rounds_total", Help: "Rounds in which the days that are over were counted for every dimension."})
	n.registry.MustRegister(rounds)
	keeper := &readstore.Keeper{DB: n.db.ReadStore, Sites: n.sites, Busy: n.sink.Busy, Counted: rounds.Inc, Now: n.now, Logger: n.logger}
	return keeper.Run(ctx)
}

// sites returns the environments of all applications.
func (n *node) sites() (sites []readstore.Site) {
	for _, app := range n.collectors.Applications() {
		for _, environment := range app.Environments {
			sites = append(sites, readstore.Site{Environment: environment, Location: app.Location()})
		}
	}
	return sites
}
