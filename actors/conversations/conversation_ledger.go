package conversations

import (
	"context"
	"encoding/json"
	"log/slog"

	"svc"
	"svc/actors/grain"
	"svc/cluster"
)

// RecordEntry records an entry in a ledger.
type RecordEntry func(ctx context.Context, entry svc.LedgerEntry) error

// newConversation makes a conversation that records in the ledger what no caller asked for. An entry that
// cannot be recorded is logged in full, since its event has happened.
func newConversation(node *grain.Node, enter RecordEntry, identity string) *conversation {
	c := &conversation{identity: identity}
	if enter == nil {
		return c
	}
	c.recordEntry = func(entry svc.LedgerEntry) {
		node.Workers.Go(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(cluster.WithRank(ctx, conversationKind.Rank()), grain.IOTime)
			defer cancel()
			if err := enter(ctx, entry); err != nil {
				node.Logger.LogAttrs(ctx, slog.LevelError, "keeping an entry of the ledger failed", slog.Any("entry", entry), slog.String("error", err.Error()))
			}
		})
	}
	return c
}

// expiredEntry is the entry of a proposal that expired undecided. Time ended it, so it has no actor.
func (h *change) expiredEntry(action *svc.Action) svc.LedgerEntry {
	of := h.c.conversation
	entry := svc.LedgerEntry{
		At: action.ExpiresAt, Org: of.Org, App: of.App, Kind: "ai.action.expired", Subject: action.ID, Reason: action.Question,
	}
	entry.Metadata, _ = json.Marshal(map[string]any{ // texts
		"via": "assistant", "tool": action.Tool, "status": action.Status, "member": of.Member.ID,
		"actor": map[string]string{"kind": "assistant", "conversationId": of.ID},
	})
	return entry
}

// recordExpired returns the function that records expired proposals in the ledger, to run once the change is
// durable.
func (h *change) recordExpired() func(svc.Version) {
	if len(h.expired) == 0 || h.c.recordEntry == nil {
		return nil
	}
	enter := h.c.recordEntry
	return func(svc.Version) {
		for _, entry := range h.expired {
			enter(entry)
		}
	}
}
