package actors

import (
	"context"
	"encoding/json"
	"log/slog"

	"svc"
	"svc/actors/grain"
	"svc/cluster"
)

// newConversation makes a conversation that tells the ledger of what only it notices.
func (d Deps) newConversation(identity string) *conversation {
	return &conversation{identity: identity, enter: func(entry svc.LedgerEntry) {
		if d.Enter != nil {
			d.node.Workers.Go(func(ctx context.Context) { d.enter(ctx, entry) })
		}
	}}
}

// enter keeps an entry. One that cannot be kept is logged in full: what it tells has
// happened.
func (d Deps) enter(ctx context.Context, entry svc.LedgerEntry) {
	ctx, cancel := context.WithTimeout(cluster.WithRank(ctx, conversationKind.Rank()), grain.IOTime)
	defer cancel()
	if err := d.Enter(ctx, entry); err != nil {
		d.Logger.LogAttrs(ctx, slog.LevelError, "keeping an entry of the ledger failed", slog.Any("entry", entry), slog.String("error", err.Error()))
	}
}

// lapsed is the entry of a proposal whose time was over before anybody decided. Nobody
// did it, so it has no actor.
func (h *change) lapsed(action *svc.Action) svc.LedgerEntry {
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

// told returns what has the ledger told of proposals that expired, once that is durable.
func (h *change) told() func(svc.Version) {
	if len(h.expired) == 0 || h.c.enter == nil {
		return nil
	}
	enter := h.c.enter
	return func(svc.Version) {
		for _, entry := range h.expired {
			enter(entry)
		}
	}
}
