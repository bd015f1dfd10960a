package http

import (
	"context"
	"log/slog"
	"time"

	"svc"
)

// Auditor keeps the audit rows of management writes.
type Auditor interface {
	// Append keeps one row; it returns when the row is safe or handed over to
	// what makes it safe.
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
	row := svc.AuditRow{
		At: call.Now, Org: call.Param("org"), App: call.Param("app"), RequestID: call.RequestID,
		Operation: call.Route.Operation, Method: call.Route.Method, Path: call.request.URL.Path, Status: status,
		TokenID: call.Grant.Token.ID, TokenKind: call.Grant.Token.Kind, Detail: call.note,
	}
	if user := call.Grant.Token.User; user != nil {
		row.UserID = user.ID
	}
	if call.refused != nil {
		row.Org, row.App = "", ""
	}
	if cause != nil {
		row.Detail = string(publicError(cause, call.Route).Code)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
	defer cancel()
	if err := h.config.Auditor.Append(ctx, row); err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "keeping an audit row", slog.Any("row", row), slog.String("error", err.Error()))
	}
}
