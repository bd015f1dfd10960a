package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"svc/domain"
)

// Sinks are the sinks of a node, one for each shard of the store. Each stores and commits blocks of the partitions of
// its shard at its own pace: a shard that is away delays no other.
type Sinks struct {
	shape domain.LogShape
	all   []*Sink
}

// NewSinks returns the sinks of a log of a shape. They share a configuration, except for the store of their shard.
func NewSinks(config SinkConfig, shape domain.LogShape, store func(shard int) BlockStore) *Sinks {
	s := &Sinks{shape: shape}
	config.readers = &readers{now: config.Now}
	for shard := range max(1, shape.Shards) {
		config.Store = store(shard)
		s.all = append(s.all, NewSink(config))
	}
	return s
}

// of returns the sink of a partition.
func (s *Sinks) of(partition int) *Sink { return s.all[partition/s.shape.Partitions] }

// Run runs the sinks until ctx ends; see [Sink.Run].
func (s *Sinks) Run(ctx context.Context) error {
	failed := make([]error, len(s.all))
	var running sync.WaitGroup
	for shard, sink := range s.all {
		running.Go(func() { failed[shard] = sink.Run(ctx) })
	}
	running.Wait()
	return errors.Join(failed...)
}

// Busy reports whether rows wait for the store.
func (s *Sinks) Busy() bool {
	for _, sink := range s.all {
		if sink.busy() {
			return true
		}
	}
	return false
}

// Pause returns once no block is under way and everything stored is committed. No block begins before resume is called.
// Records that arrive meanwhile are folded into the open blocks.
func (s *Sinks) Pause(ctx context.Context) (resume func(), err error) {
	var paused []func()
	resume = func() {
		for _, one := range paused {
			one()
		}
	}
	for _, sink := range s.all {
		one, err := sink.pause(ctx)
		if err != nil {
			resume()
			return nil, err
		}
		paused = append(paused, one)
	}
	return resume, nil
}

// Peek calls show with the listeners of the open blocks. show must retain nothing of them.
func (s *Sinks) Peek(show func(listener BlockListener)) {
	for _, sink := range s.all {
		sink.peek(show)
	}
}

// Hurry stores the folded records before the end of the interval. It does not wait for that.
func (s *Sinks) Hurry() {
	for _, sink := range s.all {
		signal(sink.hurried)
	}
}

// Interval returns the longest time between the beginnings of the latest two blocks.
func (s *Sinks) Interval() time.Duration { return s.all[0].interval() }

// Read notes a read of stored rows that lasts at least for a time. The first read after a pause waits until the records
// folded by then are stored, for a second at most. So do reads that begin while it waits. Read does not wait if blocks
// are as frequent without reads.
func (s *Sinks) Read(ctx context.Context, lasting time.Duration) {
	config := &s.all[0].config
	if config.Unread <= config.Interval {
		return
	}
	config.readers.wait(ctx, lasting, func() (unstored []<-chan struct{}) {
		s.Hurry()
		for _, sink := range s.all {
			unstored = append(unstored, sink.unstored()...)
		}
		return unstored
	})
}
