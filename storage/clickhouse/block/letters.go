package block

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/ingest"
	"svc/storage/clickhouse"
)

// Versions of a dead letter: it waits, and later it has ended.
const (
	letterWaits = 0
	letterEnded = 1
)

// Park stores dead letters. They are durable when it returns nil. Storing a letter again changes nothing, even after it
// has ended.
func (db *Store) Park(ctx context.Context, letters []ingest.DeadLetter) error {
	return db.putLetters(ctx, letters, "", letterWaits)
}

// EndLetters records the end of dead letters.
func (db *Store) EndLetters(ctx context.Context, letters []ingest.DeadLetter, ids []string, end ingest.LetterEnd) error {
	var rows clickhouse.Rows
	for i := range letters {
		l := &letters[i]
		if err := rows.Append(ctx, db.conn, db.queries["letters.Append"], letterColumns(), ids[i], l.Environment, string(l.Kind), uint32(l.Partition), l.At, l.Reason, "", string(end), uint64(letterEnded)); err != nil {
			return clickhouse.WriteError("ending dead letters", err)
		}
	}
	return clickhouse.WriteError("ending dead letters", rows.Send())
}

func (db *Store) putLetters(ctx context.Context, letters []ingest.DeadLetter, ended string, version uint64) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	var rows clickhouse.Rows
	for i := range letters {
		l := &letters[i]
		if err := rows.Append(ctx, db.conn, db.queries["letters.Append"], letterColumns(), l.ID(), l.Environment, string(l.Kind), uint32(l.Partition), l.At, l.Reason, string(l.Payload), ended, version); err != nil {
			return clickhouse.WriteError("storing dead letters", err)
		}
	}
	return clickhouse.WriteError("storing dead letters", rows.Send())
}

func letterColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "id", Type: "String"},
		{Name: "environment", Type: "UInt64"},
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "partition", Type: "UInt32"},
		{Name: "at", Type: "DateTime64(3, 'UTC')"},
		{Name: "reason", Type: "String"},
		{Name: "payload", Type: "String"},
		{Name: "ended", Type: "LowCardinality(String)"},
		{Name: "version", Type: "UInt64"},
	}
}

// CountLetters returns the number of waiting dead letters by environment and kind, in descending order.
func (db *Store) CountLetters(ctx context.Context) ([]ingest.LetterCount, error) {
	var out []ingest.LetterCount
	err := db.conn.ReadFirst(ctx, "counting dead letters", db.queries["letters.Count"], nil, func(rows driver.Rows) (bool, error) {
		var c ingest.LetterCount
		var kind string
		err := rows.Scan(&c.Environment, &kind, &c.Letters, &c.Oldest, &c.Newest)
		c.Kind = ingest.LetterKind(kind)
		out = append(out, c)
		return true, err
	})
	return out, err
}

// ListLetters returns waiting dead letters, newest first, of one environment, or of all if environment is 0.
func (db *Store) ListLetters(ctx context.Context, environment uint64, limit int) ([]ingest.LetterRow, error) {
	var out []ingest.LetterRow
	args := clickhouse.Args{"environment": environment, "limit": limit}
	err := db.conn.ReadFirst(ctx, "listing dead letters", db.queries["letters.List"], args, func(rows driver.Rows) (bool, error) {
		var l ingest.LetterRow
		var kind string
		err := rows.Scan(&l.ID, &l.Environment, &kind, &l.At, &l.Reason, &l.Bytes)
		l.Kind = ingest.LetterKind(kind)
		out = append(out, l)
		return true, err
	})
	return out, err
}

// Letters returns waiting dead letters with their ids, oldest first. It omits letters that do not wait.
func (db *Store) Letters(ctx context.Context, ids []string) (letters []ingest.DeadLetter, found []string, err error) {
	err = db.conn.ReadFirst(ctx, "reading dead letters", db.queries["letters.Get"], clickhouse.Args{"ids": ids}, func(rows driver.Rows) (bool, error) {
		var l ingest.DeadLetter
		var id, kind, payload string
		var partition uint32
		var at time.Time
		if err := rows.Scan(&id, &l.Environment, &kind, &partition, &at, &l.Reason, &payload); err != nil {
			return false, err
		}
		l.Kind, l.Partition, l.At, l.Payload = ingest.LetterKind(kind), int(partition), at, []byte(payload)
		letters, found = append(letters, l), append(found, id)
		return true, nil
	})
	return letters, found, err
}
