package block

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/domain/ingest"
)

// restBlock holds the rows of a block outside shard 0. Its methods may be called on nil, which is a block without
// shards.
type restBlock struct {
	// home is the shard of the partitions that the rows come from.
	home    int
	shardOf func(environment uint64) int
	// blocks are the blocks of the shards after the first.
	blocks []*Block
	// places are the shards of the rows of each kind, in the order in which the rows were added.
	places map[ingest.LetterKind][]uint8
}

func newRestBlock(db *Store, home int) *restBlock {
	r := &restBlock{home: home, shardOf: db.shardOf, places: map[ingest.LetterKind][]uint8{}}
	for _, shard := range db.shards[1:] {
		r.blocks = append(r.blocks, newBlock(&shard.catalogue))
	}
	return r
}

// sum adds up a number over the blocks.
func (r *restBlock) sum(of func(*Block) int) (sum int) {
	if r == nil {
		return 0
	}
	for _, b := range r.blocks {
		sum += of(b)
	}
	return sum
}

func (r *restBlock) reset() {
	if r == nil {
		return
	}
	for _, b := range r.blocks {
		b.Reset()
	}
	for kind := range r.places {
		r.places[kind] = r.places[kind][:0]
	}
}

// parts returns the blocks of the shards by shard number. b itself is the first.
func (b *Block) parts() []*Block {
	if b.rest == nil {
		return []*Block{b}
	}
	return append([]*Block{b}, b.rest.blocks...)
}

// of returns the block of a shard. first is the block of shard 0.
func (r *restBlock) of(first *Block, shard int) *Block {
	if shard == 0 {
		return first
	}
	return r.blocks[shard-1]
}

// divide adds rows to the blocks of their shards. Tallies belong to no environment: they go to the home shard, from
// which intakes read them.
func (r *restBlock) divide(first *Block, rows *ingest.Rows) {
	place := func(kind ingest.LetterKind, environment uint64) *Block {
		shard := r.shardOf(environment)
		r.places[kind] = append(r.places[kind], uint8(shard))
		return r.of(first, shard)
	}
	for i := range rows.Events {
		place(ingest.LetterEvent, rows.Events[i].EnvironmentNumber).Append(&rows.Events[i])
	}
	for i := range rows.Occurrences {
		place(ingest.LetterError, rows.Occurrences[i].EnvironmentNumber).AppendOccurrence(&rows.Occurrences[i])
	}
	for i := range rows.Points {
		place(ingest.LetterPoint, rows.Points[i].Environment).AppendMetric(&rows.Points[i])
	}
	for i := range rows.Billings {
		place(ingest.LetterBilling, rows.Billings[i].Environment).AppendBilling(&rows.Billings[i])
	}
	for _, count := range rows.Counts {
		r.of(first, r.shardOf(count.Environment)).usage.count(count)
	}
	home := r.of(first, r.home)
	home.usage.tallies = append(home.usage.tallies, rows.Tallies...)
}

// without removes rows by their indexes among all rows of a kind.
func (r *restBlock) without(first *Block, kind ingest.LetterKind, rows []int) {
	places, at := r.places[kind], make([]int, len(r.blocks)+1)
	removed := make([][]int, len(at))
	kept := places[:0:0]
	for row, shard := range places {
		if slices.Contains(rows, row) {
			removed[shard] = append(removed[shard], at[shard])
		} else {
			kept = append(kept, shard)
		}
		at[shard]++
	}
	r.places[kind] = kept
	for shard, some := range removed {
		if len(some) > 0 {
			r.of(first, shard).remove(kind, some)
		}
	}
}

// placed converts the indexes of refused rows within a shard to indexes within all shards.
func (b *Block) placed(shard int, rows []ingest.RefusedRow) []ingest.RefusedRow {
	if b.rest == nil {
		return rows
	}
	all := map[ingest.LetterKind][]int{}
	for kind, places := range b.rest.places {
		for row, of := range places {
			if int(of) == shard {
				all[kind] = append(all[kind], row)
			}
		}
	}
	for i := range rows {
		rows[i].Row = all[rows[i].Kind][rows[i].Row]
	}
	return rows
}

// insertShards stores the rows of all shards at the same time. Each shard knows the token, so a repetition stores only
// the missing rows.
func (db *Store) insertShards(ctx context.Context, token string, block uint64, b *Block) error {
	var inserts errgroup.Group
	for n, part := range b.parts() {
		if part.ownRows() == 0 && part.ownCounts() == 0 {
			continue // a shard without rows may be unavailable
		}
		shard := db.shards[n]
		shard.waiting.CompareAndSwap(0, time.Now().UnixMilli())
		inserts.Go(func() error {
			err := shard.insertOne(ctx, token, block, part)
			if err == nil {
				shard.waiting.Store(0)
			}
			return err
		})
	}
	return inserts.Wait()
}

// runAll runs inserts into different tables. With several shards it runs them at the same time, since a block is stored
// only when the slowest shard has all of its rows.
func (db *Store) runAll(inserts []func() error) error {
	if len(db.shards) == 1 {
		for _, insert := range inserts {
			if err := insert(); err != nil {
				return err
			}
		}
		return nil
	}
	var running errgroup.Group
	for _, insert := range inserts {
		running.Go(insert)
	}
	return running.Wait()
}
