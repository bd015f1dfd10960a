package clickhouse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"

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
