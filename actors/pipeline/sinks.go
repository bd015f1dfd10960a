package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"svc"
)

// Sinks are the sinks of a node, one for each shard of the store. Each stores and commits blocks of the
// partitions of its shard, at its own pace: one whose shard is away holds up no other.
type Sinks struct {
	shape svc.LogShape
	all   []*Sink
}

// NewSinks returns the sinks of a log of a shape. They share a configuration, but for the store of their
// shard.
func NewSinks(config SinkConfig, shape svc.LogShape, store func(shard int) BlockStore) *Sinks {
	s := &Sinks{shape: shape}
	config.readers = &readers{now: config.Now}
	for shard := range max(1, shape.Shards) {
		config.Store = store(shard)
		s.all = append(s.all, NewSink(config))
	}
	return s
}

// of returns the sink that stores what is folded of a partition.
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

// Busy says that what is to be stored waits for the store.
func (s *Sinks) Busy() bool {
	for _, sink := range s.all {
		if sink.busy() {
			return true
		}
	}
	return false
}

// Pause returns once no block is under way, and has none begin before resume is called: what was
// stored is committed. What comes in meanwhile is folded into the open blocks.
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

// Peek shows what listens to the open blocks. Nothing of it may be kept.
func (s *Sinks) Peek(show func(listener BlockListener)) {
	for _, sink := range s.all {
		sink.peek(show)
	}
}

// Hurry has what was folded so far stored without waiting for the end of the interval. It does not wait
// for that.
func (s *Sinks) Hurry() {
	for _, sink := range s.all {
		signal(sink.hurried)
	}
}

// Interval is the time between the beginnings of the latest two blocks, at most.
func (s *Sinks) Interval() time.Duration { return s.all[0].interval() }

// Read says that somebody reads what is stored, and how long at least. Who is the first for a while, and who comes meanwhile,
// waits until what was folded until then is stored, for a second at most; for nothing where blocks are as frequent while nobody
// reads.
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
