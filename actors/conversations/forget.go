package conversations

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/conversation"
)

// forgetWords blanks words of an erased person in all texts that quote them.
type forgetWords struct {
	Words []string `json:"words"`
}

// The methods that forget; each returns the number of changed texts.
var (
	conversationForget = grain.On(conversationKind, "forget", (*conversationActor).onForget, grain.Repeatable)
	inboxForget        = grain.On(inboxKind, "forget", (*inbox).onForget, grain.Repeatable)
)

// Forget blanks words in the conversations and inboxes with some identities, and returns the number of changed texts.
// It may be repeated.
func Forget(ctx context.Context, actors grain.Caller, conversations, inboxes, words []string) (changed int, err error) {
	for _, identity := range conversations {
		n, err := conversationForget.Ask(ctx, actors, identity, forgetWords{words})
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
			return changed, err
		}
		changed += n
	}
	for _, identity := range inboxes {
		n, err := inboxForget.Ask(ctx, actors, identity, forgetWords{words})
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// blanked returns a value without words, and whether it contained any.
func blanked[T any](value T, words []string) (T, bool, error) {
	before, err := json.Marshal(value)
	if err != nil {
		return value, false, err
	}
	after := domain.BlankWordsIn(before, words)
	var plain bytes.Buffer
	if err := json.Compact(&plain, domain.BlankWordsIn(before, nil)); err != nil {
		return value, false, err
	}
	if bytes.Equal(plain.Bytes(), after) {
		return value, false, nil
	}
	var out T
	err = json.Unmarshal(after, &out)
	return out, true, err
}

func (c *conversationActor) onForget(now time.Time, m forgetWords) (grain.Outcome[int], error) {
	var writes []grain.Write
	record, had, err := blanked(*c.conversation, m.Words)
	if err != nil {
		return grain.Outcome[int]{}, err
	}
	if had {
		record.UpdatedAt = now
		writes = append(writes, grain.Put("conversation", record.ID, record))
	}
	messages, actions := slices.Clone(c.messages), map[string]conversation.Action{}
	for i := range messages {
		message, had, err := blanked(messages[i], m.Words)
		if err != nil {
			return grain.Outcome[int]{}, err
		}
		if had {
			messages[i] = message
			writes = append(writes, grain.Put("message", messageID(i), message))
		}
	}
	for id, old := range c.actions {
		action, had, err := blanked(old, m.Words)
		if err != nil {
			return grain.Outcome[int]{}, err
		}
		if actions[id] = action; had {
			writes = append(writes, grain.Put("action", id, action))
		}
	}
	*c.conversation, c.messages, c.actions = record, messages, actions
	return grain.Answer(len(writes), writes...), nil
}

func (i *inbox) onForget(_ time.Time, m forgetWords) (grain.Outcome[int], error) {
	var writes []grain.Write
	for id, old := range i.conversations {
		row, had, err := blanked(old, m.Words)
		if err != nil {
			return grain.Outcome[int]{}, err
		}
		if had {
			i.conversations[id] = row
			writes = append(writes, grain.Put("conversation", id, row))
		}
	}
	for id, old := range i.actions {
		action, had, err := blanked(old, m.Words)
		if err != nil {
			return grain.Outcome[int]{}, err
		}
		if had {
			i.actions[id] = action
			writes = append(writes, grain.Put("action", id, action))
		}
	}
	return grain.Answer(len(writes), writes...), nil
}
