package clickhouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
)

// Append stores an audit row; it is durable when Append returns nil.
func (db *DB) Append(ctx context.Context, row svc.AuditRow) error {
	return db.keep(ctx, record{Audit: &row})
}

// writeAudit stores the audit rows of records under the records' keys.
func (db *DB) writeAudit(ctx context.Context, records []record) error {
	var rows inserts
	for i := range records {
		r := records[i].Audit
		if r == nil {
			continue
		}
		err := rows.append(ctx, db, "audit.Append", auditColumns(), r.Org, r.At.UnixMilli(), records[i].key, r.App, r.RequestID, r.Operation, r.Method, r.Path,
			uint16(r.Status), r.TokenID, string(r.TokenKind), r.UserID, r.Detail)
		if err != nil {
			return writeError("storing audit rows", err)
		}
	}
	return writeError("storing audit rows", rows.send(records))
}

// AuditRows returns a page of audit rows, the newest first, and whether more follow.
func (db *DB) AuditRows(ctx context.Context, q svc.AuditQuery) (rows []svc.AuditRow, more bool, err error) {
	instant := func(at *time.Time, otherwise time.Time) time.Time {
		if at == nil {
			return otherwise
		}
		return *at
	}
	always := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	args := arguments{
		"org": q.Org, "app": q.App, "operation": q.Operation, "user_id": q.UserID, "token_id": q.TokenID,
		"since": instant(q.Since, time.Unix(0, 0)), "until": instant(q.Until, always),
		"before_at": instant(q.Before, always), "before_id": q.BeforeID, "limit": q.Limit + 1,
	}
	err = db.readFirst(ctx, "reading audit rows", db.queries["audit.List"], args, func(row driver.Rows) (bool, error) {
		var r svc.AuditRow
		var at int64
		var status uint16
		var kind string
		err := row.Scan(&at, &r.ID, &r.Org, &r.App, &r.RequestID, &r.Operation, &r.Method, &r.Path, &status, &r.TokenID, &kind, &r.UserID, &r.Detail)
		r.At, r.Status, r.TokenKind = time.UnixMilli(at).UTC(), int(status), svc.TokenKind(kind)
		rows = append(rows, r)
		return true, err
	})
	if len(rows) > q.Limit {
		return rows[:q.Limit], true, err
	}
	return rows, false, err
}

func auditColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{
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
