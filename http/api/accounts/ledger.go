package accounts

import (
	"context"
	"encoding/json"
	"strconv"

	"svc/domain"
	"svc/http/api"
	"svc/http/route"
	"svc/http/views"
)

// Ledger reads the ledgers of organizations.
type Ledger interface {
	// LedgerEntries returns a page, the newest first, and whether more follow. The page contains entries with a
	// sequence number below before; zero means from the end of the ledger. An empty kind selects all entries.
	LedgerEntries(ctx context.Context, org string, kind domain.LedgerKind, before uint64, limit int) (page []domain.LedgerEntry, more bool, err error)
	// CheckLedger verifies the whole ledger.
	CheckLedger(ctx context.Context, org string) (domain.LedgerCheck, error)
}

// ledger serves the console's routes of ledgers.
type ledger struct{ ledger Ledger }

func ledgerRoutes(ports Ports) []route.Route {
	ledger := ledger{ledger: ports.Ledger}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/ledger", Operation: "console.ledger.list", Scope: domain.ScopeRead, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List what was done in the organization, the newest first", Handler: route.Typed(ledger.list),
		},
		{
			Surface: route.Console, Method: "GET", Path: "/orgs/{org}/ledger/check", Operation: "console.ledger.check", Scope: domain.ScopeRead, Permission: domain.PermOrgRead, Role: domain.RoleAdmin, Effect: route.Read, Rate: domain.RateQuery,
			Summary: "Go through the whole ledger and say whether it is intact", Handler: route.Typed(ledger.check),
		},
	}
}

// ledgerRow is an entry as the list shows it.
type ledgerRow struct {
	Sequence  uint64            `json:"sequence" doc:"Counts the organization's entries from 1, without a gap."`
	At        route.Time        `json:"at"`
	Kind      domain.LedgerKind `json:"kind" open:"true" doc:"What happened, as <area>.<object>.<verb>."`
	Actor     views.Actor       `json:"actor" doc:"The person who did it, also where an assistant acted for them."`
	App       *string           `json:"app" doc:"The application's slug."`
	Subject   *string           `json:"subject" doc:"The id of what it happened to."`
	Reason    *string           `json:"reason" doc:"Why, in a person's words."`
	RequestID *string           `json:"requestId"`
	Metadata  json.RawMessage   `json:"metadata"`
	Previous  string            `json:"previous" doc:"The hash of the entry before."`
	Hash      string            `json:"hash" doc:"SHA-256 over the entry with the hash before it."`
}

func ledgerRowOf(e *domain.LedgerEntry) ledgerRow {
	row := ledgerRow{
		Sequence: e.Sequence, At: route.Time(e.At), Kind: e.Kind, Actor: views.Actor(e.Actor), App: api.OrNull(e.App), Subject: api.OrNull(e.Subject),
		Reason: api.OrNull(e.Reason), RequestID: api.OrNull(e.RequestID), Metadata: e.Metadata, Previous: e.Previous, Hash: e.Hash,
	}
	if row.Metadata == nil {
		row.Metadata = json.RawMessage("{}")
	}
	return row
}

type listLedger struct {
	api.OrgPath
	api.Paging
	Kind string `query:"kind" doc:"Only entries of this kind."`
}

func (l ledger) list(ctx context.Context, call *route.Call, in listLedger) (domain.Page[ledgerRow], error) {
	keyset, err := call.Keyset(in.Cursor, 1)
	if err != nil {
		return domain.Page[ledgerRow]{}, err
	}
	var before uint64
	if keyset != nil {
		if before, err = strconv.ParseUint(keyset[0], 10, 64); err != nil {
			return domain.Page[ledgerRow]{}, domain.Errorf(domain.CodeInvalidCursor, "The cursor is not of this list.")
		}
	}
	entries, more, err := l.ledger.LedgerEntries(ctx, in.Org, domain.LedgerKind(in.Kind), before, int(in.Limit))
	if err != nil {
		return domain.Page[ledgerRow]{}, err
	}
	return route.PageOf(call, api.Convert(entries, ledgerRowOf), more, func(last ledgerRow) []string { return []string{strconv.FormatUint(last.Sequence, 10)} }), nil
}

// ledgerCheck is the result of the verification.
type ledgerCheck struct {
	Intact   bool    `json:"intact"`
	Entries  uint64  `json:"entries" doc:"How many entries follow each other unchanged from the beginning."`
	Head     string  `json:"head" doc:"The hash of the last of them; kept elsewhere, it proves later that nothing before it was changed."`
	BrokenAt *uint64 `json:"brokenAt" doc:"The sequence of the first entry that does not follow the one before."`
}

type checkLedger struct{ api.OrgPath }

func (l ledger) check(ctx context.Context, _ *route.Call, in checkLedger) (ledgerCheck, error) {
	check, err := l.ledger.CheckLedger(ctx, in.Org)
	if err != nil {
		return ledgerCheck{}, err
	}
	out := ledgerCheck{Intact: check.BrokenAt == 0, Entries: check.Head.Sequence, Head: check.Head.Hash}
	if check.BrokenAt != 0 {
		out.BrokenAt = &check.BrokenAt
	}
	return out, nil
}
