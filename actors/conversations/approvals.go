package conversations

import (
	"context"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// The approvals actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       the organization's approval queue: the requests to the outside, with
//	           their members and conversations
//	persists   entities approval
//	woken by   calls only
//	limits     retains the 1,000 newest requests, and all waiting ones
//	stops      after five minutes without a message
//
// It is written after the conversations, which decide: a conversation grants the only claim to send, and the queue's
// copy of a waiting request may be old.
const kindApprovals = "approvals"

// maxApprovals is the number of requests that a queue retains; the ledger has all.
const maxApprovals = 1000

type approvals struct {
	entries map[string]conversation.Approval
	// skipped receives requests that cannot be decoded. They are skipped, so that one of them does not hide the whole
	// queue; their conversations still have them.
	skipped grain.Skipped
}

type (
	putApprovals struct {
		Entries []conversation.Approval `json:"entries"`
	}
	findApproval struct {
		ID string `json:"id"`
	}
	listedApproval struct {
		conversation.Approval
		// Open is set while the queue has no decision or result of the request, even if it has expired.
		Open bool `json:"open"`
	}
)

var approvalsKind = grain.NewKind[*approvals](kindApprovals, 2, 5*time.Minute)

// The methods of the approvals actor.
var (
	approvalsPut  = grain.On(approvalsKind, "put", (*approvals).onPut)
	approvalsList = grain.On(approvalsKind, "list", (*approvals).onList)
	approvalsGet  = grain.On(approvalsKind, "get", (*approvals).onGet, grain.Repeatable)
)

func (a *approvals) Restore(entities []domain.Entity) error {
	a.entries = map[string]conversation.Approval{}
	for _, entity := range entities {
		if entry := grain.DecodeOrSkip[conversation.Approval](entity, a.skipped); entry != nil {
			a.entries[entity.ID] = *entry
		}
	}
	return nil
}

// statusRank orders the statuses of an action by time.
func statusRank(status conversation.ActionStatus) int {
	switch status {
	case conversation.ActionProposed:
		return 0
	case conversation.ActionExecuting:
		return 1
	case conversation.ActionExecuted, conversation.ActionFailed, conversation.ActionRejected, conversation.ActionExpired, conversation.ActionRevoked:
	}
	return 2
}

// onPut stores requests, unless the queue has a copy that is as new.
func (a *approvals) onPut(now time.Time, m putApprovals) (grain.Outcome[grain.None], error) {
	result := grain.Answer(grain.None{})
	for _, entry := range m.Entries {
		id := entry.Action.ID
		if known, ok := a.entries[id]; ok && statusRank(known.Action.Status) >= statusRank(entry.Action.Status) {
			continue
		}
		a.entries[id] = entry
		result.Writes = append(result.Writes, grain.Put("approval", id, entry))
	}
	for _, id := range slices.Sorted(maps.Keys(a.entries)) { // ids sort by time
		entry := a.entries[id]
		if len(a.entries) <= maxApprovals {
			break
		}
		if !entry.Action.Pending(now) {
			delete(a.entries, id)
			result.Writes = append(result.Writes, grain.Delete("approval", id))
		}
	}
	return result, nil
}

func (a *approvals) onList(now time.Time, _ grain.None) (grain.Outcome[[]listedApproval], error) {
	list := []listedApproval{}
	for _, id := range slices.Sorted(maps.Keys(a.entries)) {
		entry := a.entries[id]
		open := statusRank(entry.Action.Status) < 2
		entry.Action = entry.Action.At(now)
		list = append(list, listedApproval{entry, open})
	}
	return grain.Answer(list), nil
}

func (a *approvals) onGet(now time.Time, m findApproval) (grain.Outcome[conversation.Approval], error) {
	entry, known := a.entries[m.ID]
	if !known {
		return grain.Outcome[conversation.Approval]{}, domain.NotFound("approval")
	}
	entry.Action = entry.Action.At(now)
	return grain.Answer(entry), nil
}

// enqueue adds the external requests of a conversation to its organization's queue.
func (c *Conversations) enqueue(ctx context.Context, view *conversationView) error {
	of := view.Conversation
	var message putApprovals
	for _, action := range view.Actions {
		if action.Effect == conversation.EffectExternal {
			message.Entries = append(message.Entries, conversation.Approval{Org: of.Org, App: of.App, Member: of.Member, Action: action})
		}
	}
	if len(message.Entries) == 0 {
		return nil
	}
	_, err := approvalsPut.Ask(ctx, c.Actors, of.Org, message)
	return err
}

// Approvals returns the external requests of an organization, the newest last. It updates old copies.
func (c *Conversations) Approvals(ctx context.Context, org string) ([]conversation.Approval, error) {
	listed, err := approvalsList.Ask(ctx, c.Actors, org, grain.None{})
	if err != nil {
		return nil, err
	}
	list, ended := []conversation.Approval{}, putApprovals{}
	for _, row := range listed {
		entry := row.Approval
		if row.Open {
			if err := c.refresh(ctx, &entry); err != nil {
				return nil, err
			}
			if statusRank(entry.Action.Status) > 1 {
				ended.Entries = append(ended.Entries, entry)
			}
		}
		list = append(list, entry)
	}
	if len(ended.Entries) > 0 {
		// If it fails, the next call reads the requests again.
		_, _ = approvalsPut.Ask(ctx, c.Actors, org, ended)
	}
	return list, nil
}

// Approval returns an external request with its conversation.
func (c *Conversations) Approval(ctx context.Context, org, id string) (conversation.Approval, conversation.Transcript, error) {
	entry, err := approvalsGet.Ask(ctx, c.Actors, org, findApproval{ID: id})
	if err != nil {
		return entry, conversation.Transcript{}, err
	}
	exchange, err := c.Get(ctx, domain.AppRef{Org: entry.Org, App: entry.App}, entry.Member.ID, entry.Action.ConversationID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return entry, exchange, domain.NotFound("approval")
	}
	if err == nil {
		entry.Take(&exchange)
	}
	return entry, exchange, err
}

// refresh reads a request again from its conversation. If the conversation is purged, the request stays as the queue
// has it.
func (c *Conversations) refresh(ctx context.Context, entry *conversation.Approval) error {
	exchange, err := c.Get(ctx, domain.AppRef{Org: entry.Org, App: entry.App}, entry.Member.ID, entry.Action.ConversationID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	if err == nil {
		entry.Take(&exchange)
	}
	return err
}
