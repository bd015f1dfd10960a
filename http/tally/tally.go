// Package tally counts items that do not enter the log: items that are refused, sampled away, or reported as not sent.
// The counts of a node go through the log in groups, so that they are stored exactly once.
package tally

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/protos"
)

// Log accepts groups of counts.
type Log interface {
	// Produce returns nil after the log has acknowledged every part. It bounds the wait itself.
	Produce(ctx context.Context, parts []event.Part) error
}

// Config holds the dependencies of the tallies of a node.
type Config struct {
	// Source names this run of the node; no other run has the same name.
	Source string
	Log    Log
	// Shape describes the partitioning of the log.
	Shape  domain.LogShape
	Now    func() time.Time
	Logger *slog.Logger
}

const (
	// gather is the minimum time between the beginnings of two groups, which bounds their number. It is also the
	// maximum wait of a request.
	gather = 20 * time.Millisecond
	// again is the pause after a group that the log did not accept.
	again = 500 * time.Millisecond
	// drain bounds the last group at a stop.
	drain = 5 * time.Second
)

// Tallies collects counts and appends them to the log, one group at a time. A group is repeated with its number until
// the log has acknowledged it, so a repetition is detected.
type Tallies struct {
	config Config
	wake   chan struct{}

	mu   sync.Mutex
	open *group
	seq  uint64
}

// group contains counts that are appended together.
type group struct {
	seq    uint64
	counts map[ingest.UsageKey]ingest.UsageCount
	// durable is closed after the log has stored the counts.
	durable chan struct{}
}

// New returns tallies without counts.
func New(config Config) *Tallies {
	return &Tallies{config: config, wake: make(chan struct{}, 1), open: newGroup()}
}

func newGroup() *group {
	return &group{counts: map[ingest.UsageKey]ingest.UsageCount{}, durable: make(chan struct{})}
}

// Add adds counts, and returns a channel that is closed after the log has stored them.
func (t *Tallies) Add(counts ingest.UsageCounts) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range counts {
		known := t.open.counts[one.UsageKey]
		one.Items += known.Items
		one.Bytes += known.Bytes
		one.Last = max(one.Last, known.Last)
		t.open.counts[one.UsageKey] = one
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
	return t.open.durable
}

// Run appends groups to the log until ctx ends, and then the last one.
func (t *Tallies) Run(ctx context.Context) error {
	for {
		select {
		case <-t.wake:
		case <-ctx.Done():
			return t.finish(ctx, t.take())
		}
		pause := time.After(gather)
		if taken := t.take(); !t.send(ctx, taken) {
			return t.finish(ctx, taken)
		}
		select {
		case <-pause:
		case <-ctx.Done():
		}
	}
}

// finish appends a group and the counts that came after it, when the node stops.
func (t *Tallies) finish(ctx context.Context, last *group) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if !t.send(ctx, last) || !t.send(ctx, t.take()) {
		t.config.Logger.Warn("the node stops before the log took the last counts of refused items")
	}
	return nil
}

// take returns the open group with its number, and opens another.
func (t *Tallies) take() *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.open
	if len(taken.counts) > 0 {
		t.open = newGroup()
		t.seq++
		taken.seq = t.seq
	}
	return taken
}

// send repeats a group until the log has acknowledged it. It returns false if ctx ends before.
func (t *Tallies) send(ctx context.Context, g *group) bool {
	if len(g.counts) == 0 {
		return true
	}
	parts, err := t.encode(g)
	if err != nil {
		t.config.Logger.Error("counts of refused items cannot be encoded", "error", err)
		return true
	}
	for failed := 0; ; failed++ {
		if err = t.config.Log.Produce(ctx, parts); err == nil {
			close(g.durable)
			return true
		}
		if failed == 0 {
			t.config.Logger.Warn("counts of refused items wait for the log", "error", err)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return false
		}
	}
}

// encode returns the records of a group, one for each shard, because each shard detects repetitions by itself.
func (t *Tallies) encode(g *group) (parts []event.Part, err error) {
	tallies, atMs := make([]*protos.Tally, max(1, t.config.Shape.Shards)), t.config.Now().UnixMilli()
	for key, count := range g.counts {
		shard := t.config.Shape.Of(key.Environment, 0) / t.config.Shape.Partitions
		if tallies[shard] == nil {
			tallies[shard] = &protos.Tally{Source: t.config.Source, Seq: g.seq, AtMs: atMs}
		}
		tallies[shard].Counts = append(tallies[shard].Counts, &protos.TallyCount{
			Environment: key.Environment, Day: key.Day, Signal: string(key.Signal), Fate: string(key.Fate), Code: key.Code,
			Items: count.Items, Bytes: count.Bytes, LastMs: count.Last,
		})
	}
	place := protos.PartitionOfTally(t.config.Source, t.config.Shape.Partitions)
	for shard, tally := range tallies {
		if tally == nil {
			continue
		}
		payload, err := (&protos.Record{Tallies: []*protos.Tally{tally}}).MarshalVT()
		if err != nil {
			return nil, fmt.Errorf("encoding counts: %w", err)
		}
		parts = append(parts, event.Part{Partition: shard*t.config.Shape.Partitions + place, Payload: payload})
	}
	return parts, nil
}
