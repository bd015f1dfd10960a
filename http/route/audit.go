package route

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"svc"
)

// Auditor keeps the audit rows of management writes.
type Auditor interface {
	// Append keeps one row; it returns when the row is safe. Of rows of one id, if they have one,
	// and instant one stands.
	Append(ctx context.Context, row svc.AuditRow) error
}

// afterwards is the time for what follows a request: its audit row and the end
// of its idempotency record. It outlives the caller.
const afterwards = 5 * time.Second

// audit keeps a row for a write of a known caller within the limits, whether it
// succeeded or not. An organization that the caller cannot address is not named
// in it, for the row would appear among that organization's own. A row that
// cannot be kept is logged in full: the write itself has happened.
func (h *Handler) audit(ctx context.Context, call *Call, status int, cause error) {
	if !call.audited || h.config.Auditor == nil {
		return
	}
	if cause == nil && call.carrier != nil && call.carrier.Left() {
		return // it was saved with the change
	}
	row := h.auditOf(call, status, cause)
	if call.carrier != nil && call.carrier.Left() {
		row.ID += "-answer" // the change, if it stands, has a row of its own
	}
	h.keep(ctx, row)
}

// auditOf returns the row of a call that ends with a status.
func (h *Handler) auditOf(call *Call, status int, cause error) svc.AuditRow {
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

// Audit keeps a row for a write that a raw handler has answered, as gated writes have one. grant is
// that of its caller, org and app are those that the caller may address, and cause is why the write
// was refused, nil if it succeeded.
func (w *Response) Audit(r *http.Request, operation string, grant svc.Grant, org, app, detail string, cause error) {
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
func auditRow(grant svc.Grant, operation string, r *http.Request) svc.AuditRow {
	row := svc.AuditRow{
		Operation: operation, Method: r.Method, Path: r.URL.Path,
		TokenID: grant.Token.ID, TokenKind: grant.Token.Kind,
	}
	if user := grant.Token.User; user != nil {
		row.UserID = user.ID
	}
	return row
}

// newTrailID returns the name of what a call leaves, under which it is kept once.
func newTrailID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// keep hands a row to the auditor.
func (h *Handler) keep(ctx context.Context, row svc.AuditRow) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	if err := h.config.Auditor.Append(ctx, row); err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "keeping an audit row", slog.Any("row", row), slog.String("error", err.Error()))
	}
}
