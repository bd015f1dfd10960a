package state

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/storage/clickhouse"
)

// Append stores an audit row. The row is durable when Append returns nil. Rows with the same id and time count once; a
// row without an id gets one.
func (db *Store) Append(ctx context.Context, row domain.AuditRow) error {
	if row.ID == "" {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		row.ID = hex.EncodeToString(id[:])
	}
	return db.write(ctx, Record{Key: row.ID, Audit: &row}, true)
}

// AuditRows returns a page of audit rows, newest first, and reports whether more follow.
func (db *Store) AuditRows(ctx context.Context, q domain.AuditQuery) (rows []domain.AuditRow, more bool, err error) {
	instant := func(at *time.Time, otherwise time.Time) time.Time {
		if at == nil {
			return otherwise
		}
		return *at
	}
	always := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	args := clickhouse.Args{
		"org": q.Org, "app": q.App, "operation": q.Operation, "user_id": q.UserID, "token_id": q.TokenID,
		"since": instant(q.Since, time.Unix(0, 0)), "until": instant(q.Until, always),
		"before_at": instant(q.Before, always), "before_id": q.BeforeID, "limit": q.Limit + 1,
	}
	err = db.conn.ReadFirst(ctx, "reading audit rows", db.queries["audit.List"], args, func(row driver.Rows) (bool, error) {
		r, err := scanAuditRow(row)
		rows = append(rows, r)
		return true, err
	})
	if len(rows) > q.Limit {
		return rows[:q.Limit], true, err
	}
	return rows, false, err
}

// scanAuditRow reads an audit row.
func scanAuditRow(row driver.Rows) (r domain.AuditRow, err error) {
	var at int64
	var status uint16
	var kind string
	err = row.Scan(&at, &r.ID, &r.Org, &r.App, &r.RequestID, &r.Operation, &r.Method, &r.Path, &status, &r.TokenID, &kind, &r.UserID, &r.Detail)
	r.At, r.Status, r.TokenKind = time.UnixMilli(at).UTC(), int(status), domain.TokenKind(kind)
	return r, err
}
