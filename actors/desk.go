package actors

import (
	"maps"
	"slices"
	"time"

	"svc"
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
const kindDesk = "desk"

type desk struct {
	conversations map[string]svc.Conversation
	actions       map[string]svc.Action
}

type deskList struct {
	Conversations []svc.Conversation `json:"conversations"`
	Actions       []svc.Action       `json:"actions"`
}

func deskHandlers() map[string]handler[*desk] {
	return map[string]handler[*desk]{"put": on((*desk).onPut), "list": on((*desk).onList)}
}

func (d *desk) apply(now time.Time, method string, payload []byte) (outcome, error) {
	return dispatch(deskHandlers(), d, now, method, payload)
}

func (d *desk) restore(entities []svc.Entity) error {
	*d = desk{conversations: map[string]svc.Conversation{}, actions: map[string]svc.Action{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "conversation":
			d.conversations[entity.ID], err = decode[svc.Conversation](entity)
		case "action":
			d.actions[entity.ID], err = decode[svc.Action](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onPut notes a conversation with its actions, unless what is known is newer.
func (d *desk) onPut(now time.Time, view conversationView) (outcome, error) {
	row := view.Conversation
	if known, ok := d.conversations[row.ID]; ok && known.UpdatedAt.After(row.UpdatedAt) {
		return outcome{answer: none{}}, nil
	}
	d.conversations[row.ID] = row
	result := outcome{answer: none{}, writes: []write{{"conversation", row.ID, row}}}
	for _, action := range view.Actions {
		if known, ok := d.actions[action.ID]; ok && known.Status == action.Status && known.RequestID == action.RequestID {
			continue
		}
		d.actions[action.ID] = action
		result.writes = append(result.writes, write{"action", action.ID, action})
	}
	for id, old := range d.conversations {
		if !now.Before(old.ExpiresAt()) {
			delete(d.conversations, id)
			result.writes = append(result.writes, write{"conversation", id, nil})
		}
	}
	for id, action := range d.actions {
		if _, kept := d.conversations[action.ConversationID]; !kept {
			delete(d.actions, id)
			result.writes = append(result.writes, write{"action", id, nil})
		}
	}
	return result, nil
}

func (d *desk) onList(now time.Time, _ none) (outcome, error) {
	list := deskList{Conversations: []svc.Conversation{}, Actions: []svc.Action{}}
	for _, id := range slices.Sorted(maps.Keys(d.conversations)) {
		if row := d.conversations[id]; now.Before(row.ExpiresAt()) {
			list.Conversations = append(list.Conversations, row)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.actions)) {
		list.Actions = append(list.Actions, d.actions[id].At(now))
	}
	return outcome{answer: list}, nil
}
