package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"svc"
	"svc/actors/attempt"
)

// BlockStore takes blocks of rows.
type BlockStore interface {
	NewBlock() Block
	// Insert stores a block so that queries see it. The same token never stores
	// anything twice, and completes what an interrupted attempt left undone.
	// It fails with [svc.ErrRefused] where the rows may be to blame.
	Insert(ctx context.Context, token string, id uint64, block Block) error
	// Sift returns the rows of a block that the store refuses, and stores nothing; none where it
	// refuses any.
	Sift(ctx context.Context, id uint64, block Block) ([]svc.RefusedRow, error)
	// Park stores dead letters; one that is stored again is the same.
	Park(ctx context.Context, letters []svc.DeadLetter) error
}

// Block is a batch of rows in the form in which the store takes them. It copies
// nothing that a row's strings point to.
type Block interface {
	Append(row *svc.EventRow)
	AppendOccurrence(row *svc.OccurrenceRow)
	AppendMetric(row *svc.MetricRow)
	// Rows counts the rows of all kinds, Bytes is about what occurrences and points
	// take.
	Rows() int
	Bytes() int
	// Without takes rows of a kind out, by their places among those.
	Without(kind svc.LetterKind, rows []int)
	Reset()
}

// Committer stores positions of the log; those of an ended generation are refused.
type Committer interface {
	Commit(ctx context.Context, generation int32, positions []svc.LogPosition) error
}

// RecordReader reads the log.
type RecordReader interface {
	// Read returns the records of a partition from the offset first through last,
	// whoever owns it.
	Read(ctx context.Context, partition int, first, last int64) ([]svc.LogRecord, error)
}

// Sink gathers the rows of all partitions of this node into blocks and stores
// each block exactly once:
//
//  1. the block's boundaries (for each partition the first and last offset) are
//     written beside the committed offsets, in one durable request;
//  2. the block is inserted under a token made of its number;
//     watched issues that occurred in the block are then told, and the alerts
//     that wait for new issues, and what they decide is durable, or what they are
//     to be told later where they do not answer in time; alerts that count
//     are told what the block brought;
//  3. the offsets behind the block are committed, without boundaries.
//
// A crash between 1 and 3 leaves the boundaries: the next owner of its first
// partition makes the same block of the same records, inserts it under the same
// token, so what was already stored is not stored again, and tells the issues
// again. A crash before 1 leaves nothing.
//
// One block is under way at a time, and at most one insert begins per interval,
// however many partitions there are: many small parts are what a column store
// suffers from most.
type Sink struct {
	config SinkConfig

	// flushing holds a token while a block is under way.
	flushing chan struct{}

	mu   sync.Mutex
	open *openBlock
	// ended is the last generation that was found to be over.
	ended  int32
	spare  *openBlock
	filled chan struct{} // holds a token while the open block has records
	room   room
}

// SinkConfig is what a sink needs.
type SinkConfig struct {
	Store BlockStore
	Log   Committer
	// Records reads what became of rows that the store refuses.
	Records  RecordReader
	Interval time.Duration
	// MaxRows is the size of the open block from which the streams wait.
	MaxRows int
	Now     func() time.Time
	// MaxBytes is the same for the bytes of occurrences.
	MaxBytes int
	// NewBlockID returns a number that no block has had, as NewBlockNumber makes them.
	NewBlockID func(now time.Time) uint64
	Metrics    *SinkMetrics
	Logger     *slog.Logger
	// Watchers says whose visits to gather; Digests takes them once a block is
	// stored.
	Watchers *Watchers
	Digests  digests
	// Watch says which issues to tell that they occurred; it may be nil.
	Watch  *Watch
	Issues issues
	// Rules says what alert rules want to know of the stream, Totals which issues are
	// new; Alarms are told of both. Rules may be nil.
	Rules  *Rulebook
	Totals IssueTotals
	Alarms alarms
	// Outbox tells later who did not answer in time; it may be nil where nobody is told.
	Outbox *Outbox
	// Continuation lets issues of the former grouping go on; it may be nil.
	Continuation *Continuation
}

// issues are told what occurred.
type issues interface {
	// occurred returns the issues that did not answer, and those that regressed and are to be told
	// of; what was decided is durable. It may be repeated.
	occurred(ctx context.Context, block uint64, issues []issueHits, tells func(environment uint64) bool) ([]issueKey, []untold)
	// noted tells issues that the alert rules know of their regression.
	noted(ctx context.Context, block uint64, issues []issueKey) error
}

// NewSink returns a sink with an empty block.
func NewSink(config SinkConfig) *Sink {
	s := &Sink{config: config, flushing: make(chan struct{}, 1), filled: make(chan struct{}, 1), room: newRoom()}
	s.open, s.spare = s.newBlock(), s.newBlock()
	if config.Outbox != nil {
		config.Outbox.sink = s
	}
	return s
}

// append adds the rows of one record to the open block. Rows of an ended
// generation are dropped: their records will be delivered again.
func (s *Sink) append(generation int32, record recordRange, made folded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation < s.open.generation || generation <= s.ended {
		return
	}
	if generation > s.open.generation {
		s.reset(s.open, generation)
	}
	s.open.add(record, made)
	span, begun := s.open.ranges[record.partition]
	if !begun {
		span = record
	}
	span.last = record.last
	s.open.ranges[record.partition] = span
	signal(s.filled)
}

// begin makes the open block one of a generation, dropping what an earlier one
// left in it.
func (s *Sink) begin(generation int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset(s.open, generation)
	s.grant()
}

// over says whether a block's generation has been followed by another or was
// found to have ended.
func (s *Sink) over(block *openBlock) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return block.generation < s.open.generation || block.generation <= s.ended
}

// end drops everything of a generation from now on: its offsets can no longer
// be committed, so its records will be delivered again.
func (s *Sink) end(generation int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = max(s.ended, generation)
	s.grant()
}

// full says whether the open block has no room; the caller holds the lock.
func (s *Sink) full() bool {
	rows := s.open.rows
	return rows.Rows() >= s.config.MaxRows || s.config.MaxBytes > 0 && rows.Bytes() >= s.config.MaxBytes
}

// Busy says that what is to be stored waits for the store.
func (s *Sink) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full()
}

// take returns the open block, if it holds any record, and opens another. The
// caller holds flushing and gives the block back.
func (s *Sink) take() *openBlock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open.ranges) == 0 || s.open.generation <= s.ended {
		return nil
	}
	taken := s.open
	s.open, s.spare = s.spare, nil
	s.reset(s.open, taken.generation)
	s.grant()
	return taken
}

// giveBack returns a stored block's memory.
func (s *Sink) giveBack(block *openBlock) {
	s.reset(block, 0)
	s.mu.Lock()
	s.spare = block
	s.mu.Unlock()
}

// Run stores blocks until ctx ends, then stores the last one. The block under
// way and the last one have drainTime from then on.
func (s *Sink) Run(ctx context.Context) error {
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(drainTime, abandon) })()
	for {
		select {
		case <-ctx.Done():
			return s.flush(work)
		case <-s.filled:
		}
		pause := time.After(s.config.Interval)
		if err := s.flush(work); err != nil {
			s.config.Logger.Warn("block abandoned; its records will be read again", "error", err)
		}
		select {
		case <-pause:
		case <-s.room.wanted:
		case <-ctx.Done():
		}
	}
}

// drainTime bounds the storing of the last blocks at a stop.
const drainTime = 15 * time.Second

// flush stores the open block. A block that cannot be stored ends its
// generation here: nothing behind it may be committed.
func (s *Sink) flush(ctx context.Context) error {
	select {
	case s.flushing <- struct{}{}:
		defer func() { <-s.flushing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	block := s.take()
	if block == nil {
		return nil
	}
	defer s.giveBack(block)
	err := attempt.Contained(func() error { return s.store(ctx, block, s.config.NewBlockID(s.config.Now())) })
	if err != nil {
		s.end(block.generation)
	}
	return err
}

// drain stores everything that was folded in a generation. It fails where some of
// it was not, or could not be.
func (s *Sink) drain(ctx context.Context, generation int32) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation <= s.ended {
		return errOver
	}
	return nil
}

// store runs the three steps of a block.
func (s *Sink) store(ctx context.Context, block *openBlock, id uint64) error {
	if block.rows.Rows() == 0 && len(block.letters) == 0 {
		return s.commit(ctx, block.generation, block.behind())
	}
	boundaries := block.boundaries(id)
	if text := boundaries[0].Metadata; len(text) > maxPendingText {
		return fmt.Errorf("the boundaries of %d partitions take %d bytes, more than %d", len(boundaries), len(text), maxPendingText)
	}
	if err := s.commit(ctx, block.generation, boundaries); err != nil {
		return fmt.Errorf("fixing the boundaries: %w", err)
	}
	return s.insertAndCommit(ctx, block, id)
}

func (s *Sink) insertAndCommit(ctx context.Context, block *openBlock, id uint64) error {
	began := s.config.Now()
	if err := s.insert(ctx, block, id); err != nil {
		return err
	}
	if err := s.settle(ctx, block, id, s.config.Watch); err != nil {
		return err
	}
	if err := s.tellNews(ctx, block, id); err != nil {
		return err
	}
	s.tellCounts(ctx, block, id)
	if err := s.commit(ctx, block.generation, block.behind()); err != nil {
		return fmt.Errorf("committing behind a block: %w", err)
	}
	s.config.Metrics.Seconds.Observe(s.config.Now().Sub(began).Seconds())
	s.digest(block, id)
	return nil
}

// errOver ends the work on a block whose generation has ended.
var errOver = errors.New("the generation has ended")

// insert repeats the insert until it succeeds or the generation or ctx ends: nothing that was
// accepted is given up because the store is away. What could not be folded, and rows that the store
// refuses for good, become dead letters first.
func (s *Sink) insert(ctx context.Context, block *openBlock, id uint64) error {
	token := "block-" + strconv.FormatUint(id, 36)
	return s.insist(ctx, block, "storing a block", func() error {
		if len(block.letters) > 0 {
			if err := s.park(ctx, id, block.letters); err != nil {
				return err
			}
			block.letters = nil
		}
		err := s.config.Store.Insert(ctx, token, id, block.rows)
		for errors.Is(err, svc.ErrRefused) {
			s.config.Metrics.Failures.Inc()
			s.config.Logger.Warn("the store refused a block", "rows", block.rows.Rows(), "error", err)
			parked, broken := s.sift(ctx, block, id)
			if broken != nil || !parked {
				err = errors.Join(err, broken)
				break
			}
			err = s.config.Store.Insert(ctx, token, id, block.rows)
		}
		if err != nil {
			s.config.Metrics.Failures.Inc()
			return err
		}
		s.config.Metrics.Blocks.Inc()
		s.config.Metrics.Rows.Add(float64(block.rows.Rows()))
		return nil
	})
}

// commit repeats the commit until it succeeds, is refused, or ctx ends.
func (s *Sink) commit(ctx context.Context, generation int32, positions []svc.LogPosition) error {
	return attempt.Until(ctx, s.config.Logger, "committing offsets", func() error {
		err := s.config.Log.Commit(ctx, generation, positions)
		if errors.Is(err, svc.ErrFenced) {
			return attempt.Final(err)
		}
		return err
	})
}
