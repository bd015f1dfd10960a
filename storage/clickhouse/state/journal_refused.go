package state

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"svc/domain"
	"svc/storage/clickhouse"
)

// refusal is a record that cannot be moved to its tables, as JSON.
type refusal struct {
	key     string
	encoded []byte
	cause   error
}

// Move stores records in their tables. It is idempotent. If the store permanently refuses some records, Move puts these
// aside, so that one record does not keep others from their tables. A snapshot has all of the records or none.
func (db *Store) Move(ctx context.Context, records []Record) error {
	return db.conn.Write(func() error {
		for some := range slices.Chunk(records, movedAtOnce) {
			refused, err := db.tables.sift(ctx, some)
			if err != nil {
				return err
			}
			if err := db.refuse(ctx, refused); err != nil {
				return err
			}
		}
		return nil
	})
}

// sift stores records in their tables. If the store permanently refuses them, it halves them until the refused records
// are isolated.
func (t *tables) sift(ctx context.Context, records []Record) (refused []refusal, err error) {
	err = t.write(ctx, records)
	switch {
	case err == nil || !forGood(err):
		return nil, err
	case len(records) == 1:
		encoded, encodingErr := json.Marshal(&records[0])
		return []refusal{{records[0].Key, encoded, err}}, encodingErr
	}
	middle := len(records) / 2
	for _, half := range [][]Record{records[:middle], records[middle:]} {
		some, err := t.sift(ctx, half)
		if err != nil {
			return nil, err
		}
		refused = append(refused, some...)
	}
	return refused, nil
}

// refuse stores records that cannot be decoded or moved in a separate table, with the reason. Nothing reads that table.
func (db *Store) refuse(ctx context.Context, refused []refusal) error {
	var rows clickhouse.Rows
	for _, one := range refused {
		if err := rows.Append(ctx, db.conn, db.queries["journal.Refuse"], refusalColumns(), one.key, one.encoded, one.cause.Error()); err != nil {
			return clickhouse.WriteError("storing refused records", err)
		}
	}
	if err := rows.Send(); err != nil {
		return clickhouse.WriteError("storing refused records", err)
	}
	for _, one := range refused {
		db.conn.Skipped(domain.Entity{Kind: "journal", ID: one.key}, one.cause)
	}
	return nil
}

func refusalColumns() []clickhouse.Column {
	return []clickhouse.Column{{Name: "key", Type: "String"}, {Name: "record", Type: "String"}, {Name: "reason", Type: "String"}}
}

// forGood reports whether the store would refuse the same records again.
func forGood(err error) bool {
	return errors.Is(err, clickhouse.ErrRow) || clickhouse.Refused(err)
}
