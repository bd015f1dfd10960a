package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"svc/actors/attempt"
	"svc/domain"
	"svc/domain/event"
	"svc/domain/ingest"
)

// BlockStore stores blocks of rows.
type BlockStore interface {
	NewBlock() Block
	// Insert stores a block so that queries see it. The same token never stores anything twice, and completes an
	// interrupted attempt. It fails with [ingest.ErrRefused] if the rows may be to blame.
	Insert(ctx context.Context, token string, id uint64, block Block) error
	// Sift returns the rows of a block that the store refuses, and stores nothing. It returns none if the store refuses
	// any rows at present.
	Sift(ctx context.Context, id uint64, block Block) ([]ingest.RefusedRow, error)
	// CountRows returns the number of stored rows of a block.
	CountRows(ctx context.Context, id uint64, block Block) (int, error)
	// Park stores dead letters; storing one again does not duplicate it.
	Park(ctx context.Context, letters []ingest.DeadLetter) error
}

// Block is a batch of rows in the format of the store. It does not copy the strings of a row.
type Block interface {
	Add(rows *ingest.Rows)
	// Rows returns the number of rows of all kinds except counts, and Counts the number of counts. Bytes estimates the
	// size of occurrences and points.
	Rows() int
	Counts() int
	Bytes() int
	// Without removes rows of a kind, by their indexes in that kind.
	Without(kind ingest.LetterKind, rows []int)
	Reset()
}

// Committer stores positions of the log; positions of an ended generation are refused.
type Committer interface {
	Commit(ctx context.Context, generation int32, positions []event.LogPosition) error
}

// RecordReader reads the log.
type RecordReader interface {
	// Read returns the records of a partition from the offset first through last. Any node may own the partition.
	Read(ctx context.Context, partition int, first, last int64) ([]event.LogRecord, error)
}

// Sink gathers the rows of this node's partitions of one shard into blocks and stores each block exactly once:
//
//  1. the block's boundaries (for each partition the first and last offset) are
//     written next to the committed offsets, in one durable request;
//  2. the block is inserted under a token made of its number, and the listeners make
//     their decisions;
//  3. the offsets after the block are committed, without boundaries.
//
// A crash between 1 and 3 leaves the boundaries. The next owner of the block's first partition makes the same block of
// the same records, inserts it under the same token, so that stored rows are not stored again, and runs the listeners
// again. A crash before 1 leaves nothing.
//
// One block is under way at a time. It begins once per interval, for any number of partitions, since a column store
// suffers most from many small parts. The interval is longer while there are no reads. A block begins earlier if
// streams wait for room, if a read begins, and if [Sinks.Hurry] is called, which alert rules do at most every 200 ms.
type Sink struct {
	config SinkConfig

	// flushing holds a token while a block is under way.
	flushing chan struct{}

	mu   sync.Mutex
	open *openBlock
	// storing is the block under way; failing says that the last attempt to store it failed.
	storing *openBlock
	failing bool
	// ended is the last generation that is known to be over.
	ended  int32
	spare  *openBlock
	filled chan struct{} // holds a token while the open block has records
	// hurried holds a token if the open block is to be stored before the end of the interval.
	hurried chan struct{}
	room    room
}

// SinkConfig holds the dependencies of a sink.
type SinkConfig struct {
	Store BlockStore
	Log   Committer
	// Records reads the records of rows that the store refuses.
	Records RecordReader
	// Interval is the least time between the beginnings of two blocks. Unread replaces it while there are no reads;
	// zero means Interval.
	Interval, Unread time.Duration
	// MaxRows is the number of rows in the open block from which the streams wait.
	MaxRows int
	Now     func() time.Time
	// MaxBytes is the same limit for the bytes of occurrences and points.
	MaxBytes int
	// MaxRecords bounds the bytes of the records in the open block together with the records that are being folded; 0
	// bounds only the latter. The block that is being stored may hold as many again.
	MaxRecords int
	// NewBlockID returns a unique block number, as NewBlockNumber does.
	NewBlockID func(now time.Time) uint64
	Metrics    *SinkMetrics
	Logger     *slog.Logger
	// Listeners are notified of every block, in this order.
	Listeners []Listener
	// Outbox stores the notes of listeners; it may be nil if no listener leaves any.
	Outbox *Outbox

	// readers is shared by the sinks of a node; a single sink has its own.
	readers *readers
}

// NewSink returns a sink with an empty block.
func NewSink(config SinkConfig) *Sink {
	if config.readers == nil {
		config.readers = &readers{now: config.Now}
	}
	s := &Sink{config: config, flushing: make(chan struct{}, 1), filled: make(chan struct{}, 1), hurried: make(chan struct{}, 1), room: newRoom()}
	s.open, s.spare = s.newBlock(0), s.newBlock(0)
	for _, listener := range config.Listeners {
		if deliveries := listener.Deliveries(); len(deliveries) > 0 {
			maps.Copy(config.Outbox.deliveries, deliveries)
		}
	}
	return s
}

// append adds the rows of one record to the open block. Rows of an ended
// generation are dropped: their records will be delivered again.
func (s *Sink) append(generation int32, record recordRange, made *folded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation < s.open.generation || generation <= s.ended {
		return
	}
	if generation > s.open.generation {
		s.renew(s.open, generation)
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

// begin moves the open block to a generation and drops the rows that an earlier generation left in it.
func (s *Sink) begin(generation int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renew(s.open, generation)
	s.grant()
}

// over reports whether a generation has been followed by another or was found to have ended.
func (s *Sink) over(generation int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return generation < s.open.generation || generation <= s.ended
}

// end drops everything of a generation from now on: its offsets can no longer
// be committed, so its records will be delivered again.
func (s *Sink) end(generation int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = max(s.ended, generation)
	s.grant()
}

// full reports whether the open block has no room; the caller holds the lock.
func (s *Sink) full() bool {
	rows := s.open.rows
	return rows.Rows() >= s.config.MaxRows || s.config.MaxBytes > 0 && rows.Bytes() >= s.config.MaxBytes || s.config.MaxRecords > 0 && s.open.bytes >= s.config.MaxRecords
}

// busy reports whether rows wait for the store.
func (s *Sink) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full()
}

// take returns the open block, if it holds any record, and opens another. The caller holds flushing and gives the block
// back.
func (s *Sink) take() *openBlock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open.ranges) == 0 || s.open.generation <= s.ended {
		return nil
	}
	taken := s.open
	taken.taken, taken.wasFull = s.config.Now(), s.full()
	s.open, s.spare, s.storing = s.spare, nil, taken
	s.renew(s.open, taken.generation)
	s.grant()
	return taken
}

// giveBack returns the memory of a stored block. The block is emptied, which takes time, once it is no longer
// reachable.
func (s *Sink) giveBack(block *openBlock) {
	s.mu.Lock()
	s.storing = nil
	block.conclude()
	s.mu.Unlock()

	block.clear()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = block
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
		read, unread := time.After(s.config.Interval), time.After(s.config.Unread)
		if err := s.flush(work); err != nil {
			s.config.Logger.Warn("block abandoned; its records will be read again", "error", err)
		}
		if s.elapses(ctx, read) && !s.config.readers.readFor(0) {
			s.elapses(ctx, unread)
		}
	}
}

// drainTime bounds the storing of the last blocks at a stop.
const drainTime = 15 * time.Second

// flush stores the open block. A block that cannot be stored ends its
// generation here: nothing after it may be committed.
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
	err := attempt.Contained(func() error { return s.store(ctx, block) })
	if err != nil {
		s.end(block.generation)
	}
	return err
}

// drain stores everything that was folded in a generation. It fails if any of it was not or could not be stored.
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
func (s *Sink) store(ctx context.Context, block *openBlock) error {
	commit := func() error { return s.commit(ctx, block.generation, block.after()) }
	if block.rows.Rows() == 0 && block.rows.Counts() == 0 && len(block.letters) == 0 {
		return commit()
	}
	block.id = s.config.NewBlockID(s.config.Now())
	boundaries := block.boundaries(block.id)
	if text := boundaries[0].Metadata; len(text) > maxPendingText {
		return fmt.Errorf("the boundaries of %d partitions take %d bytes, more than %d", len(boundaries), len(text), maxPendingText)
	}
	if err := s.commit(ctx, block.generation, boundaries); err != nil {
		return fmt.Errorf("fixing the boundaries: %w", err)
	}
	return s.finish(ctx, block, commit)
}

// errOver ends the work on a block after its generation has ended.
var errOver = errors.New("the generation has ended")

// insert repeats the insert until it succeeds or the generation or ctx ends: accepted rows are not given up because the
// store is away. Items that could not be folded, and rows that the store refuses for good, become dead letters first.
func (s *Sink) insert(ctx context.Context, block *openBlock) error {
	token := "block-" + strconv.FormatUint(block.id, 36)
	return s.retry(ctx, block.generation, "storing a block", func() (err error) {
		defer func() { s.note(err) }()
		if len(block.letters) > 0 {
			if err := s.park(ctx, block.id, block.letters); err != nil {
				return err
			}
			block.letters = nil
		}
		err = s.config.Store.Insert(ctx, token, block.id, block.rows)
		for errors.Is(err, ingest.ErrRefused) {
			s.config.Metrics.Failures.Inc()
			s.config.Logger.Warn("the store refused a block", "rows", block.rows.Rows(), "error", err)
			parked, broken := s.sift(ctx, block)
			if broken != nil || !parked {
				err = errors.Join(err, broken)
				break
			}
			err = s.config.Store.Insert(ctx, token, block.id, block.rows)
		}
		if err != nil {
			s.config.Metrics.Failures.Inc()
			return err
		}
		s.config.Metrics.Blocks.Inc()
		s.config.Metrics.Rows.Add(float64(block.rows.Rows()))
		if block.recovered != nil {
			s.recount(ctx, block)
		}
		return nil
	})
}

// note stores whether the last attempt to store a block failed.
func (s *Sink) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err != nil
}

// recount compares the stored rows of a completed block with the rows that it was made of. The store recognizes a block
// by its token. If it lost the tokens, for example by a loss of power, the rows are stored twice. Only this check would
// notice.
func (s *Sink) recount(ctx context.Context, block *openBlock) {
	stored, err := s.config.Store.CountRows(ctx, block.id, block.rows)
	switch {
	case err != nil:
		s.config.Logger.Warn("the rows of a completed block could not be counted", "block", block.id, "error", err)
	case stored != block.rows.Rows():
		s.config.Metrics.Uneven.Inc()
		s.config.Logger.Error("a completed block has another number of rows than it was made of; counts of its events, errors and metrics are wrong",
			"block", block.id, "stored", stored, "rows", block.rows.Rows())
	}
}

// commit repeats the commit until it succeeds, is refused, or ctx ends.
func (s *Sink) commit(ctx context.Context, generation int32, positions []event.LogPosition) error {
	return attempt.Until(ctx, s.config.Logger, "committing offsets", func() error {
		err := s.config.Log.Commit(ctx, generation, positions)
		if errors.Is(err, domain.ErrFenced) {
			return attempt.Final(err)
		}
		return err
	})
}

// retry repeats a step of a block until it succeeds, or the generation or ctx ends.
func (s *Sink) retry(ctx context.Context, generation int32, doing string, work func() error) error {
	return attempt.Until(ctx, s.config.Logger, doing, func() error {
		err := work()
		if err != nil && s.over(generation) {
			return attempt.Final(errOver)
		}
		return err
	})
}

// blockRandomBits is the number of random bits in a block's number.
const blockRandomBits = 22

// NewBlockNumber returns the number of a block that is stored at an instant: the instant in
// milliseconds, then 22 random bits, so that numbers of any two runs and nodes differ.
func NewBlockNumber(now time.Time, random uint32) uint64 {
	return uint64(now.UnixMilli())<<blockRandomBits | uint64(random)>>(32-blockRandomBits)
}
