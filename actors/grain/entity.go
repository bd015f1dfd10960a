package grain

import (
	"context"
	"encoding/json"
	"fmt"

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

// KindLister reads the last versions of all entities of a kind of all owners.
type KindLister interface {
	LoadKind(ctx context.Context, kind string) ([]svc.Entity, error)
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
