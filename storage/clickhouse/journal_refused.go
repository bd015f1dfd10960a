package clickhouse

import (
	"context"
	"errors"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"svc"
)

// errRow is why a row was not even sent: its table cannot hold it.
var errRow = errors.New("the row does not fit its table")

// refusal is a record of the journal that cannot go to its tables, as it is stored.
type refusal struct {
	key     string
	encoded []byte
	cause   error
}

// settleRecords stores records in their tables. Where the store refuses them for good, it halves
// them until those that it refuses are alone, so that one record keeps no other from its tables.
func (j *journal) settleRecords(ctx context.Context, records []record) (refused []refusal, err error) {
	err = j.db.store(ctx, records)
	switch {
	case err == nil || !forGood(err):
		return nil, err
	case len(records) == 1:
		return []refusal{{records[0].key, records[0].encoded, err}}, nil
	}
	middle := len(records) / 2
	for _, half := range [][]record{records[:middle], records[middle:]} {
		some, err := j.settleRecords(ctx, half)
		if err != nil {
			return nil, err
		}
		refused = append(refused, some...)
	}
	return refused, nil
}

// refuse puts records aside that cannot be decoded or stored, with the reason: nobody reads them
// again, and nobody waits for them.
func (j *journal) refuse(ctx context.Context, refused []refusal) error {
	if len(refused) == 0 {
		return nil
	}
	batch, err := j.db.batch(ctx, "journal.Refuse", refusalColumns())
	if err != nil {
		return writeError("putting records of the journal aside", err)
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	for _, one := range refused {
		if err := batch.Append(one.key, one.encoded, one.cause.Error()); err != nil {
			return writeError("putting records of the journal aside", err)
		}
	}
	if err := batch.Send(); err != nil {
		return writeError("putting records of the journal aside", err)
	}
	for _, one := range refused {
		j.db.skipped(svc.Entity{Kind: "journal", ID: one.key}, one.cause)
	}
	return nil
}

func refusalColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{{Name: "key", Type: "String"}, {Name: "record", Type: "String"}, {Name: "reason", Type: "String"}}
}

// forGood says whether the store refuses what it was sent, and would again.
func forGood(err error) bool {
	return errors.Is(err, errRow) || refused(err)
}

// asRow marks the failure of a row that was not sent.
func asRow(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errRow, err)
}
