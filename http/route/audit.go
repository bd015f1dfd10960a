package route

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc/domain"
)

// Auditor stores the audit rows of management writes.
type Auditor interface {
	// Append stores one row and returns when the row is durable. If several rows have the same id and instant, only one
	// is stored.
	Append(ctx context.Context, row domain.AuditRow) error
}

// afterwards bounds the work that follows a request: storing its audit row and finishing its idempotency record. This
// work continues if the caller disconnects.
const afterwards = 5 * time.Second

// audit stores a row for a write of a known caller within the limits, whether the write succeeded or failed. The row
// does not name an organization that the caller cannot address, because it would then appear in that organization's
// audit log. If a row cannot be stored, it is logged in full, because the write itself has happened.
func (h *Handler) audit(ctx context.Context, call *Call, status int, cause error) {
	if !call.audited || h.config.Auditor == nil {
		return
	}
	if cause == nil && call.carrier != nil && call.carrier.Left() {
		return // The row was saved together with the change.
	}
	row := h.auditOf(call, status, cause)
	if call.carrier != nil && call.carrier.Left() {
		row.ID += "-answer" // The change, if it was saved, has its own row.
	}
	h.keep(ctx, row)
}

// auditOf returns the row of a call that ends with a status.
func (h *Handler) auditOf(call *Call, status int, cause error) domain.AuditRow {
	row := auditRow(call.Grant, call.Route.Operation, call.request)
	row.ID, row.At, row.RequestID, row.Status, row.Detail = call.trailID, call.Now, call.RequestID, status, call.note
	if private, id := call.Route.Private, call.Param("id"); private != nil && private(id) {
		row.Path = strings.ReplaceAll(row.Path, "/"+id, "/{id}")
	}
	if call.refused == nil {
		row.Org, row.App = call.Param("org"), call.Param("app")
	}
	if cause != nil {
		row.Detail = string(publicError(cause, call.Route).Code)
	}
	return row
}

// Audit stores a row for a write that a raw handler has answered, like the row of a gated write. grant is the grant of
// the caller, org and app are the ones that the caller may address, and cause is the error of a refused write, nil if
// it succeeded.
func (w *Response) Audit(r *http.Request, operation string, grant domain.Grant, org, app, detail string, cause error) {
	if w.handler.config.Auditor == nil {
		return
	}
	row := auditRow(grant, operation, r)
	row.At, row.RequestID, row.Status = w.arrival, w.id, w.status
	row.Org, row.App, row.Detail = org, app, detail
	if cause != nil {
		row.Detail = string(publicError(cause, nil).Code)
	}
	w.handler.keep(r.Context(), row)
}

// auditRow returns a row that describes the caller and the request.
func auditRow(grant domain.Grant, operation string, r *http.Request) domain.AuditRow {
	row := domain.AuditRow{
		Operation: operation, Method: r.Method, Path: r.URL.Path,
		TokenID: grant.Token.ID, TokenKind: grant.Token.Kind,
	}
	if user := grant.Token.User; user != nil {
		row.UserID = user.ID
	}
	return row
}

// newTrailID returns the id of the records that a call leaves. A record with the same id is stored once.
func newTrailID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// keep passes a row to the auditor.
func (h *Handler) keep(ctx context.Context, row domain.AuditRow) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	if err := h.config.Auditor.Append(ctx, row); err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "keeping an audit row", slog.Any("row", row), slog.String("error", err.Error()))
	}
}
