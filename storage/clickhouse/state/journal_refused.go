package state

import (
	"context"
	"errors"

	"svc"
	"svc/storage/clickhouse"
)

// refusal is a record of the journal that cannot go to its tables, as it is stored.
type refusal struct {
	key     string
	encoded []byte
	cause   error
}

// moveRecords stores records in their tables. Where the store refuses them for good, it halves
// them until the refused ones are alone, so that one record keeps no other from its tables.
func (j *journal) moveRecords(ctx context.Context, records []record) (refused []refusal, err error) {
	err = j.tables.write(ctx, records)
	switch {
	case err == nil || !forGood(err):
		return nil, err
	case len(records) == 1:
		return []refusal{{records[0].key, records[0].encoded, err}}, nil
	}
	middle := len(records) / 2
	for _, half := range [][]record{records[:middle], records[middle:]} {
		some, err := j.moveRecords(ctx, half)
		if err != nil {
			return nil, err
		}
		refused = append(refused, some...)
	}
	return refused, nil
}

// refuse stores records that cannot be decoded or moved in a table of their own, with the
// reason. Nothing reads them again.
func (j *journal) refuse(ctx context.Context, refused []refusal) error {
	var rows clickhouse.Rows
	for _, one := range refused {
		if err := rows.Append(ctx, j.tables.conn, j.tables.queries["journal.Refuse"], refusalColumns(), one.key, one.encoded, one.cause.Error()); err != nil {
			return clickhouse.WriteError("storing refused records of the journal", err)
		}
	}
	if err := rows.Send(nil); err != nil {
		return clickhouse.WriteError("storing refused records of the journal", err)
	}
	for _, one := range refused {
		j.tables.conn.Skipped(svc.Entity{Kind: "journal", ID: one.key}, one.cause)
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
