package conversations

import (
	"encoding/json"

	"svc/domain"
	"svc/domain/conversation"
)

// expiredEntry is the entry of a proposal that expired undecided. Time ended it, so it has no actor.
func (h *change) expiredEntry(action *conversation.Action) domain.LedgerEntry {
	of := h.c.conversation
	entry := domain.LedgerEntry{
		At: action.ExpiresAt, Org: of.Org, App: of.App, Kind: "ai.action.expired", Subject: action.ID, Reason: action.Question,
	}
	entry.Metadata, _ = json.Marshal(map[string]any{ // texts
		"via": "assistant", "tool": action.Tool, "status": action.Status, "member": of.Member.ID,
		"actor": map[string]string{"kind": "assistant", "conversationId": of.ID},
	})
	return entry
}
