package assistant

import (
	"cmp"
	"context"
	"encoding/json"

	"svc"
)

// entry returns the ledger entry for an action. The member is the actor; the assistant is the means.
func (a *Assistant) entry(conversation *svc.Conversation, action *svc.Action, by svc.User, kind svc.LedgerKind, reason string, token svc.Token) svc.LedgerEntry {
	more := map[string]any{
		"via": "assistant", "tokenId": token.ID, "tokenKind": cmp.Or(token.Kind, svc.TokenAssistant), "tool": action.Tool, "status": action.Status,
		"actor": map[string]string{"kind": "assistant", "conversationId": conversation.ID},
	}
	if action.Effect == svc.EffectExternal {
		more["requestedBy"], more["sending"] = conversation.Member.ID, action.Sending
		if action.DecidedBy != nil {
			more["decidedBy"] = action.DecidedBy.ID
		}
	}
	metadata, _ := json.Marshal(more) // texts
	return svc.LedgerEntry{
		At: a.Now(), Org: conversation.Org, App: conversation.App, Kind: kind, Actor: svc.LedgerActor{ID: by.ID, Name: by.Name},
		Subject: action.ID, Reason: reason, RequestID: action.RequestID, Metadata: metadata,
	}
}

// carrying returns a context that adds entries to the first saved change, in one write. It also returns enter, which
// records the entries if no change was saved.
func (a *Assistant) carrying(ctx context.Context, entries ...svc.LedgerEntry) (carrying context.Context, enter func()) {
	if len(entries) == 0 {
		return ctx, func() {}
	}
	trail := svc.Trail{ID: a.NewID("ai_"), Entries: entries}
	carrier := svc.NewCarrier(func() (svc.Trail, bool) { return trail, true })
	return svc.WithCarrier(ctx, carrier), func() {
		if carrier.Left() {
			return
		}
		ctx, cancel := context.WithTimeout(svc.WithCarrier(context.WithoutCancel(ctx), nil), stopTime)
		defer cancel()
		for _, entry := range entries {
			if err := a.Ledger.Record(ctx, entry); err != nil {
				a.Logger.Error("keeping an entry of the ledger failed", "entry", entry, "error", err)
			}
		}
	}
}
