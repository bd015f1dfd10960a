package conversations

import (
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
)

// Kinds returns the kinds of this package for the actors of a node. Ledgers store their entries in a store of their
// own.
func Kinds(node *grain.Node, ledgers grain.Entities) []cluster.Kind {
	skipped := func(entity domain.Entity, err error) {
		node.Logger.Error("a request to the outside cannot be decoded and is left out of its queue", "owner", entity.Owner, "id", entity.ID, "error", err)
	}
	return []cluster.Kind{
		conversationKind.Row(node, func(identity string) *conversationActor { return &conversationActor{identity: identity} }),
		inboxKind.Row(node, func(string) *inbox { return &inbox{} }),
		approvalsKind.Row(node, func(string) *approvals { return &approvals{skipped: skipped} }),
		aiSettingsKind.Row(node, func(string) *aiSettings { return &aiSettings{} }),
		ledgerKind.Row(node.With(ledgers), func(identity string) *ledger { return &ledger{org: identity} }),
	}
}
