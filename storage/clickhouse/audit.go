package clickhouse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"

	"svc"
)

// Append stores an audit row; it is durable when Append returns nil. Rows of concurrent
// callers share one insert.
func (db *DB) Append(ctx context.Context, row svc.AuditRow) error {
	return db.audits.commit(ctx, row)
}

// writeAudit stores the rows of several callers.
func (db *DB) writeAudit(ctx context.Context, rows []svc.AuditRow) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	batch, err := db.batch(ctx, "audit.Append", auditColumns())
	if err != nil {
		return writeError("storing audit rows", err)
	}
	defer func() { _ = batch.Close() }() // does nothing after Send
	for i := range rows {
		r := &rows[i]
		err := batch.Append(r.Org, r.At.UnixMilli(), r.App, r.RequestID, r.Operation, r.Method, r.Path,
			uint16(r.Status), r.TokenID, string(r.TokenKind), r.UserID, r.Detail)
		if err != nil {
			return writeError("storing audit rows", err)
		}
	}
	return writeError("storing audit rows", batch.Send())
}

func auditColumns() []clickhouse.ColumnNameAndType {
	return []clickhouse.ColumnNameAndType{
		{Name: "org", Type: "LowCardinality(String)"},
		{Name: "at", Type: "DateTime64(3, 'UTC')"},
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
