package route

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"svc"
)

// Ledger keeps the ledgers of organizations.
type Ledger interface {
	// Record appends an entry to the ledger of its organization; it is durable when
	// Record returns nil.
	Record(ctx context.Context, entry svc.LedgerEntry) error
}

// enter records a successful call in the ledger, if its row names a kind of entry: in the
// ledger of the path's organization, or of those that the call has named. An entry that
// cannot be stored is logged in full, because the change has happened.
func (h *Handler) enter(ctx context.Context, call *Call) {
	if call.Route.Ledger == "" || h.config.Ledger == nil {
		return
	}
	concerns := call.concerns
	if org := call.Param("org"); org != "" {
		concerns = []string{org}
	}
	subjects := call.subjects
	if subjects == nil {
		subjects = []string{call.subject()}
	}
	for _, org := range concerns {
		for _, subject := range subjects {
			h.enterIn(ctx, call, org, subject)
		}
	}
}

// enterIn records what a call did to a subject in the ledger of one organization.
func (h *Handler) enterIn(ctx context.Context, call *Call, org, subject string) {
	entry := svc.LedgerEntry{
		At: call.Now, Org: org, App: call.Param("app"), Kind: call.Route.Ledger, Subject: subject, RequestID: call.RequestID,
	}
	if call.happened != "" {
		entry.Kind = call.happened
	}
	if user := call.Grant.Token.User; user != nil {
		entry.Actor = svc.LedgerActor{ID: user.ID, Name: user.Name}
	}
	var err error
	entry.Metadata, err = json.Marshal(map[string]any{
		"via": call.Route.Surface, "operation": call.Route.Operation, "tokenId": call.Grant.Token.ID, "tokenKind": call.Grant.Token.Kind,
	})
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
		defer cancel()
		err = h.config.Ledger.Record(ctx, entry)
	}
	if err != nil {
		h.log.LogAttrs(ctx, slog.LevelError, "keeping an entry of the ledger", slog.Any("entry", entry), slog.String("error", err.Error()))
	}
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
