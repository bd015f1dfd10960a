package pipeline

import (
	"log/slog"
	"time"

	"svc/domain/ingest"
)

// openBlock collects rows until it is stored, with the listeners of the block.
type openBlock struct {
	generation int32
	// id is the number of the block, 0 until it is stored. recovered holds the partitions, as places in the shard, of a
	// block that an earlier generation left.
	id        uint64
	recovered []int
	rows      Block
	bytes     int // of the records that the rows were made of
	ranges    map[int]recordRange
	listeners []BlockListener
	// origins are the items that the rows were made of; letters are the items that could not be folded.
	origins origins
	letters []ingest.DeadLetter
	// inserted says that the rows are in the store; heard is the number of listeners that are done.
	inserted bool
	heard    int
	logger   *slog.Logger
	// taken is when storing the block began; wasFull says that the streams waited for room then.
	taken   time.Time
	wasFull bool
	// concluded is closed once the block is stored or given up.
	concluded chan struct{}
}

// newBlock returns an empty block of a generation.
func (s *Sink) newBlock(generation int32) *openBlock {
	return &openBlock{
		generation: generation, rows: s.config.Store.NewBlock(), ranges: map[int]recordRange{}, listeners: s.openListeners(), logger: s.config.Logger,
		concluded: make(chan struct{}),
	}
}

// add adds the result of folding a record.
func (b *openBlock) add(record recordRange, made *folded) {
	b.rows.Add(&made.Rows)
	b.bytes += made.bytes
	b.origins.add(record, &made.Rows)
	b.letters = append(b.letters, made.letters...)
	b.each("at rows", func(listener BlockListener) { listener.Saw(record.first, &made.Rows) })
}

// clear empties a block and reuses its memory.
func (b *openBlock) clear() {
	b.rows.Reset()
	clear(b.ranges)
	b.origins.reset()
	b.listeners, b.letters = nil, nil
	b.id, b.recovered, b.bytes, b.inserted, b.heard, b.wasFull = 0, nil, 0, false, 0, false
}

// conclude releases the readers that wait for the block; the caller holds the lock of its sink.
func (b *openBlock) conclude() {
	close(b.concluded)
	b.concluded = make(chan struct{})
}

// renew begins an empty block in the memory of another; the caller holds the lock.
func (s *Sink) renew(b *openBlock, generation int32) {
	b.clear()
	b.conclude()
	b.generation, b.listeners = generation, s.openListeners()
}
