package clickhouse

import (
	"bytes"
	"context"
	"fmt"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Insert stores the rows of b as the block of that number: the events, then the
// occurrences, then the metric points and what the catalogue must know of their series. The token identifies the insert: a repetition with the same token and the same rows changes nothing where the
// first attempt arrived, and completes the aggregates where it did not. That holds as
// long as the token is among the last ten thousand of the table.
//
// Rows of any number of months go together: the sink bounds them, and a store that refused them
// would refuse them for ever.
//
// A refusal that the rows may be to blame for is [svc.ErrRefused]; [DB.Sift] finds them. Whatever was
// stored before it, the rest goes under the same token and completes it.
//
// b is not changed and stays with the caller. A block must stay below a million rows,
// above which the engine would cut it into several.
func (db *DB) Insert(ctx context.Context, token string, block uint64, b *Block) error {
	if b.Rows() == 0 {
		return nil
	}
	db.writes.RLock()
	defer db.writes.RUnlock()
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"async_insert":               0,
		"insert_deduplicate":         1,
		"insert_deduplication_token": token,
		"deduplicate_blocks_in_dependent_materialized_views": 1,
		"materialized_views_ignore_errors":                   0,
		"max_partitions_per_insert_block":                    0,
	}))
	return db.inserts.insert(block, func() error { return db.insertKinds(ctx, block, b) })
}

// insertKinds sends the rows of a block, one kind after the other.
func (db *DB) insertKinds(ctx context.Context, block uint64, b *Block) error {
	for _, kind := range rowKinds() {
		if kind.size(b) == 0 {
			continue
		}
		if err := db.insertEncoded(ctx, kind.query, kind.encode(b, block)); err != nil {
			return insertError("inserting rows of the kind "+string(kind.kind), err)
		}
	}
	if b.metrics.rows() == 0 {
		return nil
	}
	if err := db.insertEncoded(ctx, "metrics.AppendSeries", b.metrics.seen.encode()); err != nil {
		return writeError("inserting series", err)
	}
	b.metrics.seen.wasStored()
	return nil
}

// insertEncoded sends an encoded block with the named query.
func (db *DB) insertEncoded(ctx context.Context, query string, encoded []byte) error {
	if db.native {
		return db.insertBatch(ctx, query, encoded)
	}
	return db.conn.InsertFormat(ctx, "Native", db.queries[query], bytes.NewReader(encoded))
}

// insertBatch sends an encoded block over ClickHouse's TCP protocol, which knows no
// other way in than a batch of the client: its columns are filled by decoding.
func (db *DB) insertBatch(ctx context.Context, query string, encoded []byte) error {
	batch, err := db.conn.PrepareBatch(ctx, db.queries[query])
	if err != nil {
		return err
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	if err := fill(batch, encoded); err != nil {
		return err
	}
	return batch.Send()
}

// fill decodes a block into a batch of the same columns.
func fill(batch driver.Batch, encoded []byte) error {
	reader := proto.NewReader(bytes.NewReader(encoded))
	count, err := reader.UVarInt()
	if err != nil {
		return fmt.Errorf("reading the number of columns: %w", err)
	}
	rows, err := reader.UVarInt()
	if err != nil {
		return fmt.Errorf("reading the number of rows: %w", err)
	}
	columns := batch.Columns()
	if uint64(len(columns)) != count {
		return fmt.Errorf("the table takes %d columns, the block has %d", len(columns), count)
	}
	for _, c := range columns {
		if err := fillColumn(c, reader, int(rows)); err != nil {
			return fmt.Errorf("reading the column %s: %w", c.Name(), err)
		}
	}
	return nil
}

// fillColumn decodes the next column of a block.
func fillColumn(c column.Interface, reader *proto.Reader, rows int) error {
	for range 2 { // the column's name and type
		if _, err := reader.Str(); err != nil {
			return err
		}
	}
	if prefixed, ok := c.(column.CustomSerialization); ok {
		if err := prefixed.ReadStatePrefix(reader); err != nil {
			return err
		}
	}
	return c.Decode(reader, rows)
}
