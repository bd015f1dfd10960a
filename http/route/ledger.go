package route

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"svc/domain"
)

// Ledger stores the ledgers of organizations.
type Ledger interface {
	// Record appends an entry to the ledger of its organization; the entry is durable when Record returns nil.
	Record(ctx context.Context, entry domain.LedgerEntry) error
}

// carried returns a context that attaches the call's ledger entries and audit row to the first saved change. All three
// are one write, so none is stored without the others. The entries use the values that the handler set before the
// change (Concerns, Happened, About); the actor that saves the change may override them.
func (h *Handler) carried(ctx context.Context, call *Call) context.Context {
	if call.Route.Ledger == "" || h.config.Ledger == nil {
		return ctx
	}
	call.carrier = domain.NewCarrier(func() (domain.Trail, bool) {
		trail := domain.Trail{ID: call.trailID, Entries: entriesOf(call, call.subject())}
		if call.audited && h.config.Auditor != nil {
			row := h.auditOf(call, call.status, nil)
			trail.Audit = &row
		}
		return trail, len(trail.Entries) > 0
	})
	return domain.WithCarrier(ctx, call.carrier)
}

// OfOne returns a context for one of several changes of a call, see AboutEach: the change is saved with its own ledger
// entry.
func (c *Call) OfOne(ctx context.Context, id string) context.Context {
	if c.carrier == nil {
		return ctx
	}
	if c.each == nil {
		c.each = map[string]*domain.Carrier{}
	}
	trail := c.trailID + "-" + strconv.Itoa(len(c.each))
	c.each[id] = domain.NewCarrier(func() (domain.Trail, bool) { return domain.Trail{ID: trail, Entries: entriesOf(c, id)}, true })
	return domain.WithCarrier(ctx, c.each[id])
}

// entriesOf returns the ledger entries of a successful call that changed a subject. They go to the ledger of the path's
// organization, or to the ledgers that the call has named.
func entriesOf(call *Call, subject string) []domain.LedgerEntry {
	orgs := call.concerns
	if org := call.Param("org"); org != "" {
		orgs = []string{org}
	}
	entries := make([]domain.LedgerEntry, 0, len(orgs))
	for _, org := range orgs {
		entry := domain.LedgerEntry{
			At: call.Now, Org: org, App: call.Param("app"), Kind: call.Route.Ledger, Subject: subject, RequestID: call.RequestID,
		}
		if call.happened != "" {
			entry.Kind = call.happened
		}
		if user := call.Grant.Token.User; user != nil {
			entry.Actor = domain.LedgerActor{ID: user.ID, Name: user.Name}
		}
		entry.Metadata, _ = json.Marshal(map[string]any{ // texts
			"via": call.Route.Surface, "operation": call.Route.Operation, "tokenId": call.Grant.Token.ID, "tokenKind": call.Grant.Token.Kind,
		})
		entries = append(entries, entry)
	}
	return entries
}

// enter records a successful call in ledgers if it made changes and they were not saved together with their entries. If
// an entry cannot be stored, the call fails, because its answer must not suggest that the ledger contains the change.
func (h *Handler) enter(ctx context.Context, call *Call) error {
	if call.carrier == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(domain.WithCarrier(context.WithoutCancel(ctx), nil), afterwards)
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

// Concerns names the organizations whose ledgers record the call, for a path without an organization.
func (c *Call) Concerns(orgs ...string) { c.concerns = orgs }

// Happened replaces the row's kind of ledger entry for this call.
func (c *Call) Happened(kind domain.LedgerKind) { c.happened = kind }

// About sets the subject of the ledger entry: an id, never a name or an address of a person. The default is the id of
// the created resource, or else the last parameter of the path.
func (c *Call) About(id string) { c.about = id }

// AboutEach sets the subjects of a call that changed several things: each gets a ledger entry. With no subjects the
// call leaves no entry.
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
