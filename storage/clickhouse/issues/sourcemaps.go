package issues

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/issue"
	"svc/storage/clickhouse"
)

// PutSourceMaps stores maps of an application under all of their keys. They can be found as soon as it returns nil.
// Maps without a key are skipped.
func (db *Store) PutSourceMaps(ctx context.Context, app string, at time.Time, maps []issue.SourceMap) error {
	var rows clickhouse.Rows
	for i := range maps {
		for _, key := range maps[i].Keys() {
			if err := rows.Append(ctx, db.conn, db.queries["sourceMaps.Append"], sourceMapColumns(), app, key, at.UnixMilli(), maps[i].Content, uint64(len(maps[i].Content))); err != nil {
				return clickhouse.WriteError("storing source maps", err)
			}
		}
	}
	return clickhouse.WriteError("storing source maps", rows.Send())
}

// SourceMap returns the newest map of an application under the first of the keys that has a map, or nil.
func (db *Store) SourceMap(ctx context.Context, app string, keys []string) ([]byte, error) {
	return db.content(ctx, "finding a source map", "sourceMaps.Find", clickhouse.Args{"app": app, "keys": keys})
}

// content returns the one text of a query, or nil without one.
func (db *Store) content(ctx context.Context, doing, query string, args clickhouse.Args) (content []byte, err error) {
	err = db.conn.Read(ctx, doing, db.queries[query], args, func(rows driver.Rows) (bool, error) {
		err := rows.Scan(&content)
		return true, err
	})
	return content, err
}

// PutChunk stores a piece of an upload for a day.
func (db *Store) PutChunk(ctx context.Context, org, sha1 string, at time.Time, content []byte) error {
	return db.putChunks(ctx, org, []string{sha1}, at, content, false)
}

// ReleaseChunks releases pieces that were assembled.
func (db *Store) ReleaseChunks(ctx context.Context, org string, sums []string, at time.Time) error {
	return db.putChunks(ctx, org, sums, at, nil, true)
}

func (db *Store) putChunks(ctx context.Context, org string, sums []string, at time.Time, content []byte, released bool) error {
	var rows clickhouse.Rows
	for _, sum := range sums {
		if err := rows.Append(ctx, db.conn, db.queries["uploads.Append"], chunkColumns(), org, sum, at, content, uint64(len(content)), released); err != nil {
			return clickhouse.WriteError("storing a piece of an upload", err)
		}
	}
	return clickhouse.WriteError("storing a piece of an upload", rows.Send())
}

// ChunkBytes returns the size of an organization's uploaded pieces that were not assembled.
func (db *Store) ChunkBytes(ctx context.Context, org string) (int64, error) {
	return db.sumOf(ctx, "counting pieces of uploads", "uploads.Bytes", clickhouse.Args{"org": org})
}

// SourceMapBytes returns the size of an application's source maps.
func (db *Store) SourceMapBytes(ctx context.Context, app string) (int64, error) {
	return db.sumOf(ctx, "counting source maps", "sourceMaps.Bytes", clickhouse.Args{"app": app})
}

// sumOf returns the one number of a query.
func (db *Store) sumOf(ctx context.Context, doing, query string, args clickhouse.Args) (int64, error) {
	var sum uint64
	err := db.conn.Read(ctx, doing, db.queries[query], args, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&sum)
	})
	return int64(sum), err
}

// MissingChunks returns the given pieces of an organization's upload that are not stored.
func (db *Store) MissingChunks(ctx context.Context, org string, sums []string) (missing []string, err error) {
	args := clickhouse.Args{"org": org, "sums": sums}
	err = db.conn.Read(ctx, "looking for pieces of an upload", db.queries["uploads.Missing"], args, func(rows driver.Rows) (bool, error) {
		var sum string
		err := rows.Scan(&sum)
		missing = append(missing, sum)
		return true, err
	})
	return missing, err
}

// Chunk returns a piece of an organization's upload, or nil if it is not stored.
func (db *Store) Chunk(ctx context.Context, org, sha1 string) ([]byte, error) {
	return db.content(ctx, "reading a piece of an upload", "uploads.Find", clickhouse.Args{"org": org, "sha1": sha1})
}

func sourceMapColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "app", Type: "String"},
		{Name: "key", Type: "String"},
		{Name: "at", Type: "DateTime64(3, 'UTC')"},
		{Name: "content", Type: "String"},
		{Name: "bytes", Type: "UInt64"},
	}
}

func chunkColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "org", Type: "String"},
		{Name: "sha1", Type: "String"},
		{Name: "at", Type: "DateTime"},
		{Name: "content", Type: "String"},
		{Name: "bytes", Type: "UInt64"},
		{Name: "released", Type: "Bool"},
	}
}
