package grain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"svc/domain"
)

// Entities stores the entities of grains.
type Entities interface {
	// Load returns the last version of every entity of an owner, including deleted ones: the next write needs a higher
	// version than theirs.
	Load(ctx context.Context, owner string) ([]domain.Entity, error)
	// Put stores entities, wake-ups and their trail atomically. They survive any crash once it returns nil. It fails if
	// another node may have become the owner.
	Put(ctx context.Context, entities []domain.Entity, wakeups []domain.Wakeup, trail domain.Trail) error
}

// Decode reads one entity.
func Decode[T any](entity domain.Entity) (T, error) {
	var value T
	if err := json.Unmarshal(entity.Payload, &value); err != nil {
		return value, fmt.Errorf("decoding %s %s: %w", entity.Kind, entity.ID, err)
	}
	return value, nil
}

// Skipped receives an entity that cannot be decoded and is left out, so that one bad entity does not hide the others.
type Skipped func(entity domain.Entity, err error)

// DecodeOrSkip decodes one entity. If that fails, it reports the entity to skipped and returns nil.
func DecodeOrSkip[T any](entity domain.Entity, skipped Skipped) *T {
	value, err := Decode[T](entity)
	if err == nil {
		return &value
	}
	if skipped != nil {
		skipped(entity, err)
	}
	return nil
}

// DecodeAll decodes the entities of an actor that stores one type. The keys are their ids.
func DecodeAll[T any](entities []domain.Entity) (map[string]T, error) {
	values := map[string]T{}
	for _, entity := range entities {
		value, err := Decode[T](entity)
		if err != nil {
			return nil, err
		}
		values[entity.ID] = value
	}
	return values, nil
}

// DecodeOwned decodes the entities of one entity kind from all entities of one owner, for a snapshot. It leaves out
// deleted entities and entities that cannot be decoded. It returns the identity of the owner and the latest version.
// ours is false if the owner is not an actor of actorKind.
func DecodeOwned[T any](entities []domain.Entity, actorKind, entityKind string, skipped Skipped) (identity string, version domain.Version, values []T, ours bool) {
	if len(entities) == 0 {
		return "", version, nil, false
	}
	if identity, ours = strings.CutPrefix(entities[0].Owner, actorKind+"/"); !ours {
		return "", version, nil, false
	}
	for _, entity := range entities {
		if entity.Version.Number() > version.Number() {
			version = entity.Version
		}
		if entity.Deleted || entity.Kind != entityKind {
			continue
		}
		if value := DecodeOrSkip[T](entity, skipped); value != nil {
			values = append(values, *value)
		}
	}
	return identity, version, values, true
}
