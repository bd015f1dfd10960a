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
	if errors.Is(err, errRow) {
		return true
	}
	exception, answered := errors.AsType[*clickhouse.Exception](err)
	return answered && !passing(exception.Code)
}

// passing says of an exception's code that it tells of the store's condition, not of what it
// was sent.
func passing(code int32) bool {
	switch code {
	case codeTimeoutExceeded, codeMemoryLimitExceeded,
		3,   // UNEXPECTED_END_OF_FILE
		23,  // CANNOT_READ_FROM_ISTREAM
		32,  // ATTEMPT_TO_READ_AFTER_EOF
		60,  // UNKNOWN_TABLE, while the schema is being made
		74,  // CANNOT_READ_FROM_FILE_DESCRIPTOR
		75,  // CANNOT_WRITE_TO_FILE_DESCRIPTOR
		76,  // CANNOT_OPEN_FILE
		81,  // UNKNOWN_DATABASE, while the schema is being made
		160, // TOO_SLOW
		164, // READONLY
		173, // CANNOT_ALLOCATE_MEMORY
		202, // TOO_MANY_SIMULTANEOUS_QUERIES
		203, // NO_FREE_CONNECTION
		209, // SOCKET_TIMEOUT
		210, // NETWORK_ERROR
		236, // ABORTED
		242, // TABLE_IS_READ_ONLY
		243, // NOT_ENOUGH_SPACE
		252, // TOO_MANY_PARTS
		341, // UNFINISHED
		394, // QUERY_WAS_CANCELLED
		425, // SYSTEM_ERROR
		516, // AUTHENTICATION_FAILED
		999: // KEEPER_EXCEPTION
		return true
	}
	return false
}

// asRow marks the failure of a row that was not sent.
func asRow(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errRow, err)
}
