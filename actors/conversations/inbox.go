package conversations

import (
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// The inbox actor, of the kind "desk".
//
//	identity   org/app/user, the slugs and the user's id
//	rank       2
//	owns       the list of a member's conversations about an application, and the
//	           conversation of each action
//	persists   entities conversation, action
//	woken by   calls only
//	limits     drops purged conversations
//	stops      after five minutes without a message
//
// It is written after the conversations, which decide: its copy of one that runs or waits for a decision may be old.
const kindInbox = "desk"

type inbox struct {
	conversations map[string]conversation.Conversation
	actions       map[string]conversation.Action
}

type inboxContent struct {
	Conversations []conversation.Conversation `json:"conversations"`
	Actions       []conversation.Action       `json:"actions"`
}

var inboxKind = grain.NewKind[*inbox](kindInbox, 2, 5*time.Minute)

// The methods of the inbox actor.
var (
	inboxPut  = grain.On(inboxKind, "put", (*inbox).onPut)
	inboxList = grain.On(inboxKind, "list", (*inbox).onList)
)

func (i *inbox) Restore(entities []domain.Entity) error {
	*i = inbox{conversations: map[string]conversation.Conversation{}, actions: map[string]conversation.Action{}}
	for _, entity := range entities {
		var err error
		switch entity.Kind {
		case "conversation":
			i.conversations[entity.ID], err = grain.Decode[conversation.Conversation](entity)
		case "action":
			i.actions[entity.ID], err = grain.Decode[conversation.Action](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onPut stores a conversation with its actions, unless a newer copy is stored.
func (i *inbox) onPut(now time.Time, view conversationView) (grain.Outcome[grain.None], error) {
	row := view.Conversation
	if known, ok := i.conversations[row.ID]; ok && known.UpdatedAt.After(row.UpdatedAt) {
		return grain.Answer(grain.None{}), nil
	}
	i.conversations[row.ID] = row
	result := grain.Answer(grain.None{}, grain.Put("conversation", row.ID, row))
	for _, action := range view.Actions {
		if known, ok := i.actions[action.ID]; ok && known.Status == action.Status && known.RequestID == action.RequestID {
			continue
		}
		i.actions[action.ID] = action
		result.Writes = append(result.Writes, grain.Put("action", action.ID, action))
	}
	for id, old := range i.conversations {
		if !now.Before(old.ExpiresAt()) {
			delete(i.conversations, id)
			result.Writes = append(result.Writes, grain.Delete("conversation", id))
		}
	}
	for id, action := range i.actions {
		if _, kept := i.conversations[action.ConversationID]; !kept {
			delete(i.actions, id)
			result.Writes = append(result.Writes, grain.Delete("action", id))
		}
	}
	return result, nil
}

func (i *inbox) onList(now time.Time, _ grain.None) (grain.Outcome[inboxContent], error) {
	list := inboxContent{Conversations: []conversation.Conversation{}, Actions: []conversation.Action{}}
	for _, id := range slices.Sorted(maps.Keys(i.conversations)) {
		if row := i.conversations[id]; now.Before(row.ExpiresAt()) {
			list.Conversations = append(list.Conversations, row)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(i.actions)) {
		list.Actions = append(list.Actions, i.actions[id].At(now))
	}
	return grain.Answer(list), nil
}
