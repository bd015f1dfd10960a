package state

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/domain"
	"svc/storage/clickhouse"
)

// tables writes records into the tables of state.
type tables struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
}

// writeWhole writes the records of several callers. A snapshot has all of them or none.
func (t *tables) writeWhole(ctx context.Context, records []Record) error {
	return t.conn.Write(func() error { return t.write(ctx, records) })
}

// write inserts records into their tables.
//
// Due wake-ups are stored before the entities, and removals after them. A crash in between therefore leaves one wake-up
// too many, never one too few.
func (t *tables) write(ctx context.Context, records []Record) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	for _, insert := range []func() error{
		func() error { return t.writeWakeups(ctx, records, false) },
		func() error { return t.writeEntities(ctx, records) },
		func() error { return t.writeLedger(ctx, records) },
		func() error { return t.writeAudit(ctx, records) },
		func() error { return t.writeWakeups(ctx, records, true) },
	} {
		if err := insert(); err != nil {
			return err
		}
	}
	return nil
}

// writeEntities stores the entities of records.
func (t *tables) writeEntities(ctx context.Context, records []Record) error {
	var rows clickhouse.Rows
	for i := range records {
		for j := range records[i].Entities {
			e := &records[i].Entities[j]
			if err := rows.Append(ctx, t.conn, t.queries["entities.Append"], entityColumns(), e.Owner, e.Kind, e.ID, e.Version.Number(), e.Deleted, e.Payload); err != nil {
				return clickhouse.WriteError("storing entities", err)
			}
		}
	}
	return clickhouse.WriteError("storing entities", rows.Send())
}

// writeWakeups stores either the wake-ups of records with a due time, or the removed ones.
func (t *tables) writeWakeups(ctx context.Context, records []Record, removed bool) error {
	var rows clickhouse.Rows
	for i := range records {
		version := records[i].version()
		for _, w := range records[i].Wakeups {
			if w.Due.IsZero() != removed {
				continue
			}
			due := w.Due
			if removed {
				due = time.UnixMilli(0)
			}
			if err := rows.Append(ctx, t.conn, t.queries["wakeups.Append"], wakeupColumns(), w.Kind, w.Identity, w.Name, due.UnixMilli(), version, removed); err != nil {
				return clickhouse.WriteError("storing wake-ups", err)
			}
		}
	}
	return clickhouse.WriteError("storing wake-ups", rows.Send())
}

// version returns the version of a record's wake-ups: the highest version of its entities.
func (r *Record) version() uint64 {
	version := r.Version.Number()
	for i := range r.Entities {
		version = max(version, r.Entities[i].Version.Number())
	}
	return version
}

// writeLedger stores the entries of records.
func (t *tables) writeLedger(ctx context.Context, records []Record) error {
	var rows clickhouse.Rows
	for i := range records {
		for j := range records[i].Sealed {
			e := &records[i].Sealed[j]
			var entry domain.LedgerEntry
			if err := json.Unmarshal(e.Payload, &entry); err != nil {
				return fmt.Errorf("decoding an entry of a ledger: %w", clickhouse.RowError(err))
			}
			if err := rows.Append(ctx, t.conn, t.queries["ledger.Append"], ledgerColumns(), orgOf(e.Owner), entry.Sequence, e.Version.Number(), string(entry.Kind), e.Payload); err != nil {
				return clickhouse.WriteError("storing entries of a ledger", err)
			}
		}
	}
	return clickhouse.WriteError("storing entries of a ledger", rows.Send())
}

// writeAudit stores the audit rows of records under the records' keys.
func (t *tables) writeAudit(ctx context.Context, records []Record) error {
	var rows clickhouse.Rows
	for i := range records {
		r := records[i].Audit
		if r == nil {
			continue
		}
		err := rows.Append(ctx, t.conn, t.queries["audit.Append"], auditColumns(), r.Org, r.At.UnixMilli(), records[i].Key, r.App, r.RequestID, r.Operation, r.Method, r.Path,
			uint16(r.Status), r.TokenID, string(r.TokenKind), r.UserID, r.Detail)
		if err != nil {
			return clickhouse.WriteError("storing audit rows", err)
		}
	}
	return clickhouse.WriteError("storing audit rows", rows.Send())
}

func entityColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "owner", Type: "String"},
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "id", Type: "String"},
		{Name: "version", Type: "UInt64"},
		{Name: "deleted", Type: "Bool"},
		{Name: "payload", Type: "String"},
	}
}

func wakeupColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "identity", Type: "String"},
		{Name: "name", Type: "LowCardinality(String)"},
		{Name: "due", Type: "DateTime64(3, 'UTC')"},
		{Name: "version", Type: "UInt64"},
		{Name: "deleted", Type: "Bool"},
	}
}

func ledgerColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "org", Type: "String"},
		{Name: "sequence", Type: "UInt64"},
		{Name: "version", Type: "UInt64"},
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "entry", Type: "String"},
	}
}

func auditColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "org", Type: "LowCardinality(String)"},
		{Name: "at", Type: "DateTime64(3, 'UTC')"},
		{Name: "id", Type: "String"},
		{Name: "app", Type: "LowCardinality(String)"},
		{Name: "request_id", Type: "String"},
		{Name: "operation", Type: "LowCardinality(String)"},
		{Name: "method", Type: "LowCardinality(String)"},
		{Name: "path", Type: "String"},
		{Name: "status", Type: "UInt16"},
		{Name: "token_id", Type: "String"},
		{Name: "token_kind", Type: "LowCardinality(String)"},
		{Name: "user_id", Type: "String"},
		{Name: "detail", Type: "String"},
	}
}
