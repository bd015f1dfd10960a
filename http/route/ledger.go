package route

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"svc"
)

// Ledger keeps the ledgers of organizations.
type Ledger interface {
	// Record appends an entry to the ledger of its organization; it is durable when
	// Record returns nil.
	Record(ctx context.Context, entry svc.LedgerEntry) error
}

// carried returns a context whose first saved change takes the call's ledger entries and audit row
// along: they are one write, so that neither stands without the other. The change takes what the
// handler has said before it (Concerns, Happened, About); an actor may know better.
func (h *Handler) carried(ctx context.Context, call *Call) context.Context {
	if call.Route.Ledger == "" || h.config.Ledger == nil {
		return ctx
	}
	call.carrier = svc.NewCarrier(func() (svc.Trail, bool) {
		trail := svc.Trail{ID: call.trailID, Entries: entriesOf(call, call.subject())}
		if call.audited && h.config.Auditor != nil {
			row := h.auditOf(call, call.status, nil)
			trail.Audit = &row
		}
		return trail, len(trail.Entries) > 0
	})
	return svc.WithCarrier(ctx, call.carrier)
}

// OfOne returns a context for the change of one of several things that a call changes, see
// AboutEach: the change takes its own ledger entry along.
func (c *Call) OfOne(ctx context.Context, id string) context.Context {
	if c.carrier == nil {
		return ctx
	}
	if c.each == nil {
		c.each = map[string]*svc.Carrier{}
	}
	trail := c.trailID + "-" + strconv.Itoa(len(c.each))
	c.each[id] = svc.NewCarrier(func() (svc.Trail, bool) { return svc.Trail{ID: trail, Entries: entriesOf(c, id)}, true })
	return svc.WithCarrier(ctx, c.each[id])
}

// entriesOf returns what a successful call that changed a subject leaves in ledgers: in that of the
// path's organization, or in those that the call has named.
func entriesOf(call *Call, subject string) []svc.LedgerEntry {
	orgs := call.concerns
	if org := call.Param("org"); org != "" {
		orgs = []string{org}
	}
	entries := make([]svc.LedgerEntry, 0, len(orgs))
	for _, org := range orgs {
		entry := svc.LedgerEntry{
			At: call.Now, Org: org, App: call.Param("app"), Kind: call.Route.Ledger, Subject: subject, RequestID: call.RequestID,
		}
		if call.happened != "" {
			entry.Kind = call.happened
		}
		if user := call.Grant.Token.User; user != nil {
			entry.Actor = svc.LedgerActor{ID: user.ID, Name: user.Name}
		}
		entry.Metadata, _ = json.Marshal(map[string]any{ // texts
			"via": call.Route.Surface, "operation": call.Route.Operation, "tokenId": call.Grant.Token.ID, "tokenKind": call.Grant.Token.Kind,
		})
		entries = append(entries, entry)
	}
	return entries
}

// enter records a successful call in ledgers, where its changes did not take the entries along and
// there were changes. An entry that cannot be stored fails the call: its change is not to be answered
// as if it stood in the ledger.
func (h *Handler) enter(ctx context.Context, call *Call) error {
	if call.carrier == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(svc.WithCarrier(context.WithoutCancel(ctx), nil), afterwards)
	defer cancel()
	subjects := call.subjects
	if subjects == nil {
		subjects = []string{call.subject()}
	}
	for _, subject := range subjects {
		carrier := call.carrier
		if one := call.each[subject]; one != nil {
			carrier = one
		}
		if carrier.Left() || carrier.Needless() {
			continue
		}
		for _, entry := range entriesOf(call, subject) {
			if err := h.config.Ledger.Record(ctx, entry); err != nil {
				return fmt.Errorf("keeping an entry of the ledger: %w", err)
			}
		}
	}
	return nil
}

// Concerns names the organizations in whose ledgers the call is recorded, where its path
// names none.
func (c *Call) Concerns(orgs ...string) { c.concerns = orgs }

// Happened replaces the row's kind of ledger entry for this call.
func (c *Call) Happened(kind svc.LedgerKind) { c.happened = kind }

// About sets the subject of the ledger entry: an id, never a name or an address of a person.
// The default is the id of what the call created, else the last parameter of its path.
func (c *Call) About(id string) { c.about = id }

// AboutEach sets the subjects of a call that changed several things: each gets a ledger entry, and
// where there is none the call leaves no entry.
func (c *Call) AboutEach(ids []string) { c.subjects = append([]string{}, ids...) }

func (c *Call) subject() string {
	if c.about != "" {
		return c.about
	}
	if made := c.header.Get("Location"); made != "" {
		return made[strings.LastIndexByte(made, '/')+1:]
	}
	if last := len(c.path) - 1; last >= 0 && c.path[last].name != "org" && c.path[last].name != "app" {
		return c.path[last].value
	}
	return ""
}
