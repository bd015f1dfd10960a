package conversations

import (
	"maps"
	"slices"
	"time"

	"svc"
	"svc/actors/grain"
)

// The desk actor.
//
//	identity   org/app/user, the slugs and the person's id
//	rank       2
//	owns       which conversations a member has about an application, and which
//	           conversation an action belongs to
//	persists   entities conversation, action
//	woken by   calls only
//	limits     forgets conversations that are purged
//	stops      after five minutes without a message
//
// It is written behind the conversations, which decide: what it says of one that is
// running or waits for a decision is a hint.
const kindInbox = "desk"

type inbox struct {
	conversations map[string]svc.Conversation
	actions       map[string]svc.Action
}

type inboxContent struct {
	Conversations []svc.Conversation `json:"conversations"`
	Actions       []svc.Action       `json:"actions"`
}

var inboxKind = grain.NewKind[*inbox](kindInbox, 2, 5*time.Minute)

// The methods of the desk actor.
var (
	inboxPut  = grain.On(inboxKind, "put", (*inbox).onPut)
	inboxList = grain.On(inboxKind, "list", (*inbox).onList)
)

func (d *inbox) Restore(entities []svc.Entity) error {
	*d = inbox{conversations: map[string]svc.Conversation{}, actions: map[string]svc.Action{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "conversation":
			d.conversations[entity.ID], err = grain.Decode[svc.Conversation](entity)
		case "action":
			d.actions[entity.ID], err = grain.Decode[svc.Action](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onPut notes a conversation with its actions, unless what is known is newer.
func (d *inbox) onPut(now time.Time, view conversationView) (grain.Outcome[grain.None], error) {
	row := view.Conversation
	if known, ok := d.conversations[row.ID]; ok && known.UpdatedAt.After(row.UpdatedAt) {
		return grain.Answer(grain.None{}), nil
	}
	d.conversations[row.ID] = row
	result := grain.Answer(grain.None{}, grain.Put("conversation", row.ID, row))
	for _, action := range view.Actions {
		if known, ok := d.actions[action.ID]; ok && known.Status == action.Status && known.RequestID == action.RequestID {
			continue
		}
		d.actions[action.ID] = action
		result.Writes = append(result.Writes, grain.Put("action", action.ID, action))
	}
	for id, old := range d.conversations {
		if !now.Before(old.ExpiresAt()) {
			delete(d.conversations, id)
			result.Writes = append(result.Writes, grain.Delete("conversation", id))
		}
	}
	for id, action := range d.actions {
		if _, kept := d.conversations[action.ConversationID]; !kept {
			delete(d.actions, id)
			result.Writes = append(result.Writes, grain.Delete("action", id))
		}
	}
	return result, nil
}

func (d *inbox) onList(now time.Time, _ grain.None) (grain.Outcome[inboxContent], error) {
	list := inboxContent{Conversations: []svc.Conversation{}, Actions: []svc.Action{}}
	for _, id := range slices.Sorted(maps.Keys(d.conversations)) {
		if row := d.conversations[id]; now.Before(row.ExpiresAt()) {
			list.Conversations = append(list.Conversations, row)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.actions)) {
		list.Actions = append(list.Actions, d.actions[id].At(now))
	}
	return grain.Answer(list), nil
}
