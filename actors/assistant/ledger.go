package assistant

import (
	"cmp"
	"context"
	"encoding/json"

	"svc/domain"
	"svc/domain/conversation"
)

// entry returns the ledger entry for an action. The member is the actor; the assistant is the means.
func (a *Assistant) entry(c *conversation.Conversation, action *conversation.Action, by domain.User, kind domain.LedgerKind, reason string, token domain.Token) domain.LedgerEntry {
	more := map[string]any{
		"via": "assistant", "tokenId": token.ID, "tokenKind": cmp.Or(token.Kind, domain.TokenAssistant), "tool": action.Tool, "status": action.Status,
		"actor": map[string]string{"kind": "assistant", "conversationId": c.ID},
	}
	if action.Effect == conversation.EffectExternal {
		more["requestedBy"], more["sending"] = c.Member.ID, action.Sending
		if action.DecidedBy != nil {
			more["decidedBy"] = action.DecidedBy.ID
		}
	}
	metadata, _ := json.Marshal(more) // texts
	return domain.LedgerEntry{
		At: a.Now(), Org: c.Org, App: c.App, Kind: kind, Actor: domain.LedgerActor{ID: by.ID, Name: by.Name},
		Subject: action.ID, Reason: reason, RequestID: action.RequestID, Metadata: metadata,
	}
}

// carrying returns a context that adds entries to the first saved change, in one write. It also returns enter, which
// records the entries if no change was saved.
func (a *Assistant) carrying(ctx context.Context, entries ...domain.LedgerEntry) (carrying context.Context, enter func()) {
	if len(entries) == 0 {
		return ctx, func() {}
	}
	trail := domain.Trail{ID: a.NewID("ai_"), Entries: entries}
	carrier := domain.NewCarrier(func() (domain.Trail, bool) { return trail, true })
	return domain.WithCarrier(ctx, carrier), func() {
		if carrier.Left() {
			return
		}
		ctx, cancel := context.WithTimeout(domain.WithCarrier(context.WithoutCancel(ctx), nil), stopTime)
		defer cancel()
		for _, entry := range entries {
			if err := a.Ledger.Record(ctx, entry); err != nil {
				a.Logger.Error("keeping an entry of the ledger failed", "entry", entry, "error", err)
			}
		}
	}
}
