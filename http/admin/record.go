package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"svc/domain"
)

// Ledger stores the ledgers of organizations.
type Ledger interface {
	Record(ctx context.Context, entry domain.LedgerEntry) error
}

// Auditor stores audit rows and reads them.
type Auditor interface {
	Append(ctx context.Context, row domain.AuditRow) error
	// AuditRows returns a page, the newest first, and whether more follow.
	AuditRows(ctx context.Context, query domain.AuditQuery) (rows []domain.AuditRow, more bool, err error)
}

// OperatorActor is the actor that ledgers name for the operator's commands.
func OperatorActor() domain.LedgerActor { return domain.LedgerActor{ID: "operator", Name: "Operator"} }

// operatorKind is the kind of token in audit rows of the operator's commands.
const operatorKind domain.TokenKind = "operator"

// effect names the change of a command, for the ledgers of the organizations concerned. A command sets it before it
// changes anything.
type effect struct {
	kind    domain.LedgerKind
	orgs    []string
	subject string
}

// recordTime bounds the recording of a command, which continues if the caller disconnects.
const recordTime = 5 * time.Second

// recorded is serve for a command that changes something. The change, an entry for the ledgers of the organizations
// concerned and an audit row are saved in one write. A command that fails leaves an audit row.
func (o operator) recorded(operation string, run func(ctx context.Context, command Command, done *effect) (any, error)) http.HandlerFunc {
	return serve(func(ctx context.Context, command Command) (any, error) {
		var done effect
		id := rand.Text()
		carrier := domain.NewCarrier(func() (domain.Trail, bool) {
			row := o.row(operation, command, nil)
			return domain.Trail{ID: id, Entries: o.entries(operation, &done), Audit: &row}, done.kind != "" && o.ledger != nil
		})
		answer, err := run(domain.WithCarrier(ctx, carrier), command, &done)
		if carrier.Left() {
			return answer, err
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
		defer cancel()
		if err == nil && !carrier.Needless() {
			o.enter(ctx, o.entries(operation, &done))
		}
		o.audit(ctx, o.row(operation, command, err))
		return answer, err
	})
}

// entries returns the ledger entries of a command.
func (o operator) entries(operation string, done *effect) (entries []domain.LedgerEntry) {
	metadata, _ := json.Marshal(map[string]string{"via": "operator", "operation": "operator." + operation}) // Marshalling texts cannot fail.
	for _, org := range done.orgs {
		entries = append(entries, domain.LedgerEntry{At: o.now(), Org: org, Kind: done.kind, Actor: OperatorActor(), Subject: done.subject, Metadata: metadata})
	}
	return entries
}

// enter records entries that were not saved together with a change. An entry that cannot be stored is logged in full,
// because the change has happened.
func (o operator) enter(ctx context.Context, entries []domain.LedgerEntry) {
	if o.ledger == nil {
		return
	}
	for _, entry := range entries {
		if err := o.ledger.Record(ctx, entry); err != nil {
			o.logger.LogAttrs(ctx, slog.LevelError, "keeping an entry of the ledger", slog.Any("entry", entry), slog.String("error", err.Error()))
		}
	}
}

// row returns the audit row of a command.
func (o operator) row(operation string, command Command, cause error) domain.AuditRow {
	row := domain.AuditRow{
		At: o.now(), Org: command.Org, Operation: "operator." + operation, Method: http.MethodPost, Path: "/admin/v1/" + operation,
		Status: http.StatusOK, TokenKind: operatorKind,
	}
	if cause != nil {
		code := domain.CodeOf(cause)
		row.Status, row.Detail = domain.InfoOf(code).Status, string(code)
	}
	return row
}

func (o operator) audit(ctx context.Context, row domain.AuditRow) {
	if o.auditor == nil {
		return
	}
	if err := o.auditor.Append(ctx, row); err != nil {
		o.logger.LogAttrs(ctx, slog.LevelError, "keeping an audit row", slog.Any("row", row), slog.String("error", err.Error()))
	}
}

// homes returns the organizations of a person. Their ledgers record changes to the person.
func (o operator) homes(ctx context.Context, person domain.User) ([]string, error) {
	memberships, err := o.port.Memberships(ctx, domain.Grant{Token: domain.Token{User: &person}})
	var orgs []string
	for i := range memberships {
		orgs = append(orgs, memberships[i].Slug)
	}
	return orgs, err
}

// concerns returns the organizations with ledgers that record changes to an owner's tokens.
func (o operator) concerns(ctx context.Context, owner domain.TokenOwner) ([]string, error) {
	if owner.Org != "" {
		return []string{owner.Org}, nil
	}
	return o.homes(ctx, owner.User)
}

// auditPage is the answer of audit.list.
type auditPage struct {
	Rows []domain.AuditRow `json:"rows"`
	// Before and BeforeID, sent with the next command, continue after the last row; null if none
	// follow.
	Before   *time.Time `json:"before"`
	BeforeID *string    `json:"beforeId"`
}

// maxAudit bounds a page of audit rows.
const (
	maxAudit     = 1000
	defaultAudit = 100
)

// listAudit reads audit rows, the newest first.
func (o operator) listAudit(ctx context.Context, c Command) (any, error) {
	if c.Limit == 0 {
		c.Limit = defaultAudit
	}
	if c.Limit < 1 || c.Limit > maxAudit {
		return nil, domain.Invalid(domain.FieldError{Field: "limit", Code: "out_of_range", Message: "The limit is a number from 1 to 1000."})
	}
	query := domain.AuditQuery{Org: c.Org, App: c.App, Operation: c.Operation, TokenID: c.ID, Since: c.Since, Until: c.Until, Before: c.Before, BeforeID: c.BeforeID, Limit: c.Limit}
	if c.Email != "" {
		person, err := o.port.KnownUser(ctx, c.Email)
		if err != nil {
			return nil, err
		}
		query.UserID = person.ID
	}
	rows, more, err := o.auditor.AuditRows(ctx, query)
	if err != nil {
		return nil, err
	}
	page := auditPage{Rows: append([]domain.AuditRow{}, rows...)}
	if more {
		last := &rows[len(rows)-1]
		page.Before, page.BeforeID = &last.At, &last.ID
	}
	return page, nil
}
