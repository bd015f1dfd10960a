package block

import (
	"context"
	"math"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// Insert stores the rows of b as a block with a number. It stores the rows of all shards at the same time. On each
// shard it stores the events, then the occurrences, the metric points and the catalogue rows of their series, the
// billing items, and the counts of all items. The token identifies the insert. A repetition with the same token and the
// same rows changes nothing that the first attempt stored, and completes the aggregates that it did not. That holds as
// long as the token is among the last ten thousand of the table.
//
// A block may contain rows of any number of months. The sink bounds them, and a store that refused them would refuse
// them forever.
//
// A refusal that the rows may have caused is [ingest.ErrRefused]; [Store.Sift] finds those rows. The other rows are then
// inserted with the same token, which completes the first insert.
//
// Insert does not change b, and the caller owns it. A block must have less than a million rows; the engine would split
// a larger one.
func (db *Store) Insert(ctx context.Context, token string, block uint64, b *Block) error {
	if b.rest != nil {
		return db.insertShards(ctx, token, block, b)
	}
	return db.insertOne(ctx, token, block, b)
}

// insertOne stores the rows of one shard.
func (db *Store) insertOne(ctx context.Context, token string, block uint64, b *Block) error {
	if b.ownRows() == 0 && b.ownCounts() == 0 {
		return nil
	}
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{
		"async_insert":       0,
		"insert_deduplicate": 1,
		// Only the memory limit of the server applies: a block above the limit of a statement could never be stored.
		"max_memory_usage":                                   0,
		"insert_deduplication_token":                         token,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		"materialized_views_ignore_errors":                   0,
		"max_partitions_per_insert_block":                    0,
	})
	return db.conn.InsertBlock(block, func() error { return db.insertKinds(ctx, block, b) })
}

// insertKinds sends the rows of a block, one kind after the other. With several shards it sends all kinds at the same
// time.
func (db *Store) insertKinds(ctx context.Context, block uint64, b *Block) error {
	var inserts []func() error
	for _, kind := range rowKinds() {
		if kind.size(b) > 0 {
			inserts = append(inserts, func() error {
				err := db.conn.InsertEncoded(ctx, db.queries[kind.query], kind.encode(b, block))
				return clickhouse.InsertError("inserting rows of the kind "+string(kind.kind), err)
			})
		}
	}
	return db.runAll(append(inserts,
		func() error { return db.insertSeries(ctx, b) },
		func() error { return db.insertUsage(ctx, block, b) },
	))
}

// insertSeries sends the series that the catalogue does not have.
func (db *Store) insertSeries(ctx context.Context, b *Block) error {
	if b.metrics.rows() == 0 {
		return nil
	}
	if err := db.conn.InsertEncoded(ctx, db.queries["metrics.AppendSeries"], b.metrics.seen.encode()); err != nil {
		return clickhouse.WriteError("inserting series", err)
	}
	b.metrics.seen.wasStored()
	return nil
}

// insertUsage sends the counts of a block and its tallies.
func (db *Store) insertUsage(ctx context.Context, block uint64, b *Block) error {
	if len(b.usage.counts) > 0 {
		if err := db.conn.InsertEncoded(ctx, db.queries["usage.Append"], b.usage.encodeCounts()); err != nil {
			return clickhouse.WriteError("inserting counts", err)
		}
	}
	if len(b.usage.tallies) > 0 {
		if err := db.conn.InsertEncoded(ctx, db.queries["usage.AppendTallies"], b.usage.encodeTallies(block)); err != nil {
			return clickhouse.WriteError("inserting tallies", err)
		}
	}
	return nil
}

// CountRows returns how many rows of a block are stored. If the block was inserted once, this equals the rows of b. It
// counts all billing items as stored, since items of the same name become one row.
func (db *Store) CountRows(ctx context.Context, block uint64, b *Block) (stored int, err error) {
	for shard, part := range b.parts() {
		count, err := db.shards[shard].countOne(ctx, block, part)
		if err != nil {
			return 0, err
		}
		stored += count
	}
	return stored, nil
}

// countOne counts the rows of a block on one shard.
func (db *Store) countOne(ctx context.Context, block uint64, b *Block) (stored int, err error) {
	since := int64(math.MaxInt64)
	for _, received := range []proto.ColInt64{b.receivedAt, b.errors.receivedAt, b.metrics.receivedAt} {
		for _, at := range received {
			since = min(since, at)
		}
	}
	if since == math.MaxInt64 {
		return b.billing.rows(), nil
	}
	args := clickhouse.Args{"block": block, "since": time.UnixMilli(since).UTC()}
	err = db.conn.ReadFirst(ctx, "counting the rows of a block", db.queries["state.BlockRows"], args, func(row driver.Rows) (bool, error) {
		var count uint64
		err := row.Scan(&count)
		stored = int(count) + b.billing.rows()
		return false, err
	})
	return stored, err
}
