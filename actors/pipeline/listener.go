package pipeline

import (
	"context"
	"errors"
	"fmt"

	"svc/actors/attempt"
	"svc/domain/ingest"
)

// Listener lets a module follow the stored blocks. The sink runs its list of listeners in order for every block: blocks
// that this node gathered, and blocks that an earlier generation left and this node completes.
type Listener interface {
	// Assigned prepares for a generation in which this node owns some partitions, once for each shard of the store. It
	// returns before the first record of a shard's partitions is folded, and is repeated if it fails. It asks no store
	// but the one of the shard and the one of shard 0.
	Assigned(ctx context.Context, shard int, partitions []int) error
	// Open begins to listen to one block. Several may be open at a time.
	Open() BlockListener
	// Deliveries returns the deliveries of the notes that the listener leaves in the outbox, by the kind of the
	// receiving actors. A delivery may be repeated.
	Deliveries() map[string]Delivery
}

// Delivery passes the content of a note to its actor. It fails with [ErrUnreadable] if a retry cannot help.
type Delivery func(ctx context.Context, note Note) error

// BlockListener listens to one block. Its methods are called in the order of their declaration, and not concurrently. A
// block may be dropped after any of them: its records are then read again, in another block.
type BlockListener interface {
	// Saw receives the rows of one record that enter the block, and the record's offset. The whole node waits for it,
	// so it does no I/O. The rows are valid until it returns. Their texts belong to the record, so a text that is
	// retained must be cloned.
	Saw(offset int64, rows *ingest.Rows)
	// Refused names rows that the store refused and that no longer belong to the block. rows are their indexes, in
	// ascending order, among the rows of their kind in the block.
	Refused(kind ingest.LetterKind, rows []int)
	// Stored is called between the insert of the block and the commit of the offsets after it. Its decisions are
	// durable when it returns nil, so that no crash loses them. It is repeated until it returns nil, and called again
	// for the same block after a crash: a second call must change nothing. The block waits for it. So it bounds its
	// wait for one actor or one look-up, and leaves the rest to the outbox ([StoredBlock.Later]).
	Stored(ctx context.Context, block *StoredBlock) error
	// Committed is called after the commit. A crash may skip it.
	Committed(block uint64)
}

// NopListener ignores everything. Listeners embed it and implement the methods they need.
type NopListener struct{}

// Assigned does nothing.
func (NopListener) Assigned(context.Context, int, []int) error { return nil }

// Deliveries returns none.
func (NopListener) Deliveries() map[string]Delivery { return nil }

// NopBlockListener ignores everything. Block listeners embed it and implement the methods they need.
type NopBlockListener struct{}

// Saw ignores rows.
func (NopBlockListener) Saw(int64, *ingest.Rows) {}

// Refused ignores refused rows.
func (NopBlockListener) Refused(ingest.LetterKind, []int) {}

// Stored decides nothing.
func (NopBlockListener) Stored(context.Context, *StoredBlock) error { return nil }

// Committed does nothing.
func (NopBlockListener) Committed(uint64) {}

// NewStoredBlock returns a block of a sink that is between its insert and its commit.
func NewStoredBlock(sink *Sink, generation int32, id uint64, recovered []int) *StoredBlock {
	return &StoredBlock{ID: id, Recovered: recovered, generation: generation, sink: sink}
}

// StoredBlock is a block between its insert and its commit.
type StoredBlock struct {
	// ID is the number of the block.
	ID uint64
	// Recovered holds the partitions, as places in their shard, of a block that an earlier generation left and that
	// this node completes. This node may not own all of them. It is nil for a block that this node gathered.
	Recovered []int

	generation int32
	sink       *Sink
}

// Over reports whether the generation that stores the block has ended. Another one will
// complete the block.
func (b *StoredBlock) Over() bool { return b.sink.over(b.generation) }

// Retry repeats work until it succeeds, or the generation or ctx ends.
func (b *StoredBlock) Retry(ctx context.Context, doing string, work func() error) error {
	return b.sink.retry(ctx, b.generation, doing, work)
}

// Later stores notes for actors that did not answer; the outbox delivers them. They are durable when it returns nil.
func (b *StoredBlock) Later(ctx context.Context, notes []Note) error {
	if len(notes) == 0 {
		return nil
	}
	if b.Over() {
		return errOver
	}
	return b.Retry(ctx, "keeping notes for actors", func() error {
		return b.sink.config.Outbox.put(ctx, b.generation, notes)
	})
}

// assigned lets the listeners prepare for a generation, and takes over notes that other nodes left.
func (s *Sink) assigned(ctx context.Context, shard int, partitions []int) error {
	for _, listener := range s.config.Listeners {
		if err := listener.Assigned(ctx, shard, partitions); err != nil {
			return err
		}
	}
	return s.config.Outbox.load(ctx)
}

// openListeners opens a block with every listener.
func (s *Sink) openListeners() []BlockListener {
	open := make([]BlockListener, len(s.config.Listeners))
	for i, listener := range s.config.Listeners {
		open[i] = listener.Open()
	}
	return open
}

// each calls tell for every listener. A listener that panics misses that call; the others do not.
func (b *openBlock) each(when string, tell func(listener BlockListener)) {
	for _, listener := range b.listeners {
		if err := attempt.Contained(func() error { tell(listener); return nil }); err != nil {
			b.logger.Error("a listener panicked", "when", when, "error", err)
		}
	}
}

// peek is [Sinks.Peek] of one sink.
func (s *Sink) peek(show func(listener BlockListener)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, listener := range s.open.listeners {
		show(listener)
	}
}

// finish inserts a block, runs its listeners in order, commits the offsets after the block and notifies the listeners.
// After an error it may be called again: it continues with the step that failed. Both the sink and the recovery after a
// crash store blocks with it.
func (s *Sink) finish(ctx context.Context, block *openBlock, commit func() error) error {
	began := s.config.Now()
	if !block.inserted {
		if err := s.insert(ctx, block); err != nil {
			return err
		}
		block.inserted = true
	}
	stored := NewStoredBlock(s, block.generation, block.id, block.recovered)
	for ; block.heard < len(block.listeners); block.heard++ {
		if err := s.runListener(ctx, block.listeners[block.heard], stored); err != nil {
			return err
		}
	}
	if err := commit(); err != nil {
		return fmt.Errorf("committing the offsets after a block: %w", err)
	}
	s.config.Metrics.Seconds.Observe(s.config.Now().Sub(began).Seconds())
	block.each("after a commit", func(listener BlockListener) { listener.Committed(block.id) })
	return nil
}

// runListener runs one listener of an inserted block until it succeeds. A listener that panics would panic at every
// retry, so it is skipped and does not stop the others.
func (s *Sink) runListener(ctx context.Context, listener BlockListener, stored *StoredBlock) error {
	return stored.Retry(ctx, "running a listener of a block", func() error {
		err := attempt.Contained(func() error { return listener.Stored(ctx, stored) })
		if errors.Is(err, attempt.ErrPanicked) {
			s.config.Logger.Error("a listener of a block panicked", "block", stored.ID, "error", err)
			return nil
		}
		return err
	})
}
