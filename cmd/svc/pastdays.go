package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"svc/storage/clickhouse/block"
	readstore "svc/storage/clickhouse/reads"
)

// pastDays is the file, in the data directory, with what the store has counted of past days.
func (n *node) pastDays() *readstore.File {
	return &readstore.File{Store: n.db.ReadStore, Path: n.dir.Join("kept-days"), Logger: n.logger}
}

// loadPastDays takes in what the process before this one had counted.
func (n *node) loadPastDays(ctx context.Context) error {
	n.pastDays().Load(ctx)
	return nil
}

// savePastDays writes the file until ctx ends.
func (n *node) savePastDays(ctx context.Context) error { return n.pastDays().Run(ctx) }

// countPastDays counts past days before anybody asks for them.
func (n *node) countPastDays(ctx context.Context) error {
	rounds := prometheus.NewCounter(prometheus.CounterOpts{Name: "svc_past_days_rounds_total", Help: "Rounds in which the days that are over were counted for every dimension."})
	n.registry.MustRegister(rounds)
	warmer := &readstore.Warmer{Store: n.db.ReadStore, Targets: n.countedTargets, Busy: n.sink.Busy, Counted: rounds.Inc, Now: n.now, Logger: n.logger}
	return warmer.Run(ctx)
}

// countedTargets returns the environments of all applications.
func (n *node) countedTargets() (targets []readstore.Target) {
	for _, app := range n.collectors.Applications() {
		for _, environment := range app.Environments {
			targets = append(targets, readstore.Target{Environment: environment, Location: app.Location()})
		}
	}
	return targets
}

// applyRetentions has stored rows follow the retention of their application. One node does it, the
// owner of partition 0.
func (n *node) applyRetentions(ctx context.Context) error {
	changes := &block.RetentionChanges{
		Store: n.db, Owns: func() bool { _, owned := n.ownership.Owned(0); return owned }, Apps: n.collectors.Applications, Now: n.now, Logger: n.logger,
	}
	return changes.Run(ctx)
}
