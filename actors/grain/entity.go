package grain

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"svc"
)

// Entities is where grains keep what they own.
type Entities interface {
	// Load returns the last version of every entity of an owner. The deleted ones are among
	// them: the next write must have a higher version than they have.
	Load(ctx context.Context, owner string) ([]svc.Entity, error)
	// Put stores entities, wake-ups and what they leave, all or nothing; they survive any crash once
	// it returns nil. It fails where another node may have become the owner.
	Put(ctx context.Context, entities []svc.Entity, wakeups []svc.Wakeup, trail svc.Trail) error
}

// Decode reads one entity.
func Decode[T any](entity svc.Entity) (T, error) {
	var value T
	if err := json.Unmarshal(entity.Payload, &value); err != nil {
		return value, fmt.Errorf("decoding %s %s: %w", entity.Kind, entity.ID, err)
	}
	return value, nil
}

// Skipped receives an entity that cannot be decoded and is left out, where one bad entity must
// not hide the others.
type Skipped func(entity svc.Entity, err error)

// DecodeOrSkip reads one entity; it reports one that cannot be decoded and returns nil.
func DecodeOrSkip[T any](entity svc.Entity, skipped Skipped) *T {
	value, err := Decode[T](entity)
	if err == nil {
		return &value
	}
	if skipped != nil {
		skipped(entity, err)
	}
	return nil
}

// DecodeAll reads the entities of an actor that stores one type, by id.
func DecodeAll[T any](entities []svc.Entity) (map[string]T, error) {
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

// DecodeOwned reads, for a snapshot, the entities of one entity kind among all those of one owner, without deleted
// ones and those that cannot be decoded. It returns the identity of the owner and the latest version; ours is false
// where the owner is no actor of the actor kind.
func DecodeOwned[T any](entities []svc.Entity, actorKind, entityKind string, skipped Skipped) (identity string, version svc.Version, values []T, ours bool) {
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
