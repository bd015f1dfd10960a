package clickhouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// PutSourceMaps keeps maps of an application under every key that they may be found by;
// they are found as soon as it returns nil. Maps without a key are left out.
func (db *DB) PutSourceMaps(ctx context.Context, app string, at time.Time, maps []svc.SourceMap) error {
	batch, err := db.batch(ctx, "sourceMaps.Append", sourceMapColumns())
	if err != nil {
		return writeError("storing source maps", err)
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	for i := range maps {
		for _, key := range maps[i].Keys() {
			if err := batch.Append(app, key, at.UnixMilli(), maps[i].Content, uint64(len(maps[i].Content))); err != nil {
				return writeError("storing source maps", err)
			}
		}
	}
	if batch.Rows() == 0 {
		return nil
	}
	return writeError("storing source maps", batch.Send())
}

// SourceMap returns the newest map of an application under the first of the keys that
// has one, nil where none has.
func (db *DB) SourceMap(ctx context.Context, app string, keys []string) ([]byte, error) {
	return db.content(ctx, "finding a source map", "sourceMaps.Find", arguments{"app": app, "keys": keys})
}

// content reads the one text of a query, nil where it finds none.
func (db *DB) content(ctx context.Context, doing, query string, args arguments) (content []byte, err error) {
	err = db.read(ctx, doing, db.queries[query], args, func(rows driver.Rows) (bool, error) {
		err := rows.Scan(&content)
		return true, err
	})
	return content, err
}

// PutChunk keeps a piece of an upload for a day.
func (db *DB) PutChunk(ctx context.Context, org, sha1 string, at time.Time, content []byte) error {
	return db.putChunks(ctx, org, []string{sha1}, at, content, false)
}

// ReleaseChunks gives up pieces that were put together.
func (db *DB) ReleaseChunks(ctx context.Context, org string, sums []string, at time.Time) error {
	return db.putChunks(ctx, org, sums, at, nil, true)
}

func (db *DB) putChunks(ctx context.Context, org string, sums []string, at time.Time, content []byte, released bool) error {
	batch, err := db.batch(ctx, "uploads.Append", chunkColumns())
	if err != nil {
		return writeError("storing a piece of an upload", err)
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	for _, sum := range sums {
		if err := batch.Append(org, sum, at, content, uint64(len(content)), released); err != nil {
			return writeError("storing a piece of an upload", err)
		}
	}
	return writeError("storing a piece of an upload", batch.Send())
}

// ChunkBytes returns how much an organization has uploaded that was not put together.
func (db *DB) ChunkBytes(ctx context.Context, org string) (int64, error) {
	return db.sumOf(ctx, "counting pieces of uploads", "uploads.Bytes", arguments{"org": org})
}

// SourceMapBytes returns how much the source maps of an application have.
func (db *DB) SourceMapBytes(ctx context.Context, app string) (int64, error) {
	return db.sumOf(ctx, "counting source maps", "sourceMaps.Bytes", arguments{"app": app})
}

// sumOf reads the one number of a query.
func (db *DB) sumOf(ctx context.Context, doing, query string, args arguments) (int64, error) {
	var sum uint64
	err := db.read(ctx, doing, db.queries[query], args, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&sum)
	})
	return int64(sum), err
}

// MissingChunks returns those pieces of an organization's upload that are not kept.
func (db *DB) MissingChunks(ctx context.Context, org string, sums []string) (missing []string, err error) {
	args := arguments{"org": org, "sums": sums}
	err = db.read(ctx, "looking for pieces of an upload", db.queries["uploads.Missing"], args, func(rows driver.Rows) (bool, error) {
		var sum string
		err := rows.Scan(&sum)
		missing = append(missing, sum)
		return true, err
	})
	return missing, err
}

// Chunk returns a piece of an organization's upload, nil where it is not kept.
func (db *DB) Chunk(ctx context.Context, org, sha1 string) ([]byte, error) {
	return db.content(ctx, "reading a piece of an upload", "uploads.Find", arguments{"org": org, "sha1": sha1})
}

func sourceMapColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{
		{Name: "app", Type: "String"},
		{Name: "key", Type: "String"},
		{Name: "at", Type: "DateTime64(3, 'UTC')"},
		{Name: "content", Type: "String"},
		{Name: "bytes", Type: "UInt64"},
	}
}

func chunkColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{
		{Name: "org", Type: "String"},
		{Name: "sha1", Type: "String"},
		{Name: "at", Type: "DateTime"},
		{Name: "content", Type: "String"},
		{Name: "bytes", Type: "UInt64"},
		{Name: "released", Type: "Bool"},
	}
}
