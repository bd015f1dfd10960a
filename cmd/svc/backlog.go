package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// backlogEvery is the pause between two looks at what waits in the log.
	backlogEvery = time.Second
	// backlogBound is the age of the oldest record that is not stored from which the node is not
	// ready. Events are promised to be visible within five seconds; a block that is made again after
	// a crash and a store that restarts take some times that.
	backlogBound = 30 * time.Second
	// backlogGrace is how long that age may be unknown.
	backlogGrace = 30 * time.Second
	// backlogMarks bounds what is remembered of one partition.
	backlogMarks = 128
)

// backlog measures the age of the oldest record of this node's partitions that is not stored: the time
// since an end of the log was first seen that lies past what was stored.
type backlog struct {
	mu sync.Mutex
	// known is when the log was last looked at.
	known   time.Time
	records int64
	// marks are the ends of each partition that were seen and are not stored, the oldest first.
	marks map[int][]backlogMark
}

type backlogMark struct {
	end int64
	at  time.Time
}

// note takes, for each partition, the offset that is stored next and the end of the log.
func (b *backlog) note(now time.Time, positions map[int][2]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	marks, records := map[int][]backlogMark{}, int64(0)
	for partition, position := range positions {
		next, end := position[0], position[1]
		seen := slices.DeleteFunc(b.marks[partition], func(m backlogMark) bool { return m.end <= next || m.end > end })
		if end > next && (len(seen) == 0 || seen[len(seen)-1].end < end) {
			seen = append(seen, backlogMark{end, now})
		}
		if len(seen) > backlogMarks {
			seen = slices.Delete(seen, len(seen)/2, len(seen)/2+1)
		}
		if len(seen) > 0 {
			marks[partition] = seen
		}
		records += max(0, end-next)
	}
	b.marks, b.records, b.known = marks, records, now
}

// begin starts the grace in which the age may be unknown.
func (b *backlog) begin(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known = now
}

// age returns how long the oldest record has waited until now, not until the last look.
func (b *backlog) age(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest := now
	for _, seen := range b.marks {
		if seen[0].at.Before(oldest) {
			oldest = seen[0].at
		}
	}
	return now.Sub(oldest)
}

// ready fails where a record has waited longer than the bound, or the log has not answered for longer
// than the grace.
func (b *backlog) ready(now time.Time) error {
	age := b.age(now)
	b.mu.Lock()
	defer b.mu.Unlock()
	if unknown := now.Sub(b.known); unknown > backlogGrace {
		return fmt.Errorf("it is not known for %s what waits in the log: it does not answer", unknown.Round(time.Second))
	}
	if age > backlogBound {
		return fmt.Errorf("the oldest record that is not stored has waited for %s (bound %s), %d records wait", age.Round(time.Second), backlogBound, b.records)
	}
	return nil
}

// watchBacklog looks until ctx ends.
func (n *node) watchBacklog(ctx context.Context) error {
	n.backlog.begin(n.now())
	ticker := time.NewTicker(backlogEvery)
	defer ticker.Stop()
	for {
		look, cancel := context.WithTimeout(ctx, lagTime)
		positions, err := n.consumer.Unstored(look)
		cancel()
		if err == nil {
			n.backlog.note(n.now(), positions)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// measureBacklog registers metrics of the records that wait.
func (n *node) measureBacklog() {
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_ingest_lag_records", Help: "Records of the log that are not stored yet.",
	}, func() float64 { return float64(n.lag(context.Background())) }))
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_ingest_lag_seconds", Help: "For how long the oldest record of this node's partitions that is not stored has waited.",
	}, func() float64 { return n.backlog.age(n.now()).Seconds() }))
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_snapshot_lag_seconds", Help: "For how long this node has not known for certain that its snapshots of keys, settings and rules have every change.",
	}, func() float64 { return n.owned.Lag().Seconds() }))
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_state_tail_bytes", Help: "What was saved and may not be in the store's tables yet.",
	}, func() float64 { return float64(n.owned.Waits()) }))
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_sink_told_later", Help: "Actors that are to be told of a stored block once they answer.",
	}, func() float64 { return float64(n.outbox.Len()) }))
}

// lettersTime bounds the look at the dead letters, for which readiness does not wait long.
const lettersTime = time.Second

// lettersWaiting fails while dead letters wait, with their number. It is a warning: nothing that was
// accepted after them waits for them.
func (n *node) lettersWaiting(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lettersTime)
	defer cancel()
	counts, err := n.db.CountLetters(ctx)
	if err != nil {
		return fmt.Errorf("it is not known how many items could not be stored: %w", err)
	}
	var letters uint64
	environments := map[uint64]bool{}
	for _, count := range counts {
		letters += count.Letters
		environments[count.Environment] = true
	}
	if letters == 0 {
		return nil
	}
	return fmt.Errorf("%d items of %d environments could not be stored; see svc admin deadletters list", letters, len(environments))
}

// placeOf returns the application and the environment of an environment's number.
func (n *node) placeOf(number uint64) (app, env string) {
	for _, application := range n.collectors.Applications() {
		for _, environment := range application.Environments {
			if environment.Number == number {
				return application.Ref().String(), environment.Slug
			}
		}
	}
	return "", ""
}

// positionsLong is how long a cluster should keep the positions of a service that is off.
const positionsLong = 30 * 24 * time.Hour

// positionsKeeper is the log as far as its memory of positions is concerned.
type positionsKeeper interface {
	PositionsKept(ctx context.Context) (time.Duration, error)
}

// warnOfForgottenPositions says where the log forgets how far it was stored while the service is off: it is read
// again from its beginning then, and what is older than the time for which ids are known is stored twice.
func warnOfForgottenPositions(ctx context.Context, log positionsKeeper, logger *slog.Logger) {
	kept, err := log.PositionsKept(ctx)
	switch {
	case err != nil:
		logger.Info("the log does not say how long it keeps positions; see offsets.retention.minutes in the README", "error", err)
	case kept < positionsLong:
		logger.Warn("the log forgets positions soon: a service that is off for longer stores again what the log still keeps; raise offsets.retention.minutes of its brokers",
			"kept", kept, "advised", positionsLong)
	}
}
