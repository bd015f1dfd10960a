package apps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"svc"
	"svc/actors/grain"
)

// SnapshotSync keeps what every node must know at once (ingest keys, settings, rules) the same on
// all of them. A node loads the snapshots once and then hears, in the order of the log of state,
// of every entity that changes. The actor that changes one publishes it on its own node before
// it answers, and the node through which a caller made the change hears of it before it answers,
// so the caller's next request there finds it.
type SnapshotSync struct {
	Collectors *Collectors
	// Others are the other snapshots of the node.
	Others []Snapshot
	// Skipped receives entities that cannot be decoded. They are left out, so that one of
	// them keeps neither a node from starting nor the others from being read.
	Skipped grain.Skipped

	mu sync.Mutex
	// owners holds the last version of every entity that snapshots are made of, the deleted
	// ones among those that were heard of, by owner.
	owners map[string]map[entityName]svc.Entity
}

// entityName names an entity of an owner.
type entityName struct{ kind, id string }

// Snapshot is a node's copy in memory of some kinds of entities of all owners.
type Snapshot interface {
	// EntityKinds returns the kinds of the entities that it is made of.
	EntityKinds() []string
	// PublishEntities publishes what the last versions of the entities of one owner say; it
	// ignores entities of other kinds, and versions older than those it knows.
	PublishEntities(entities []svc.Entity, skipped grain.Skipped)
}

// snapshots returns all snapshots.
func (c *SnapshotSync) snapshots() []Snapshot { return append([]Snapshot{c.Collectors}, c.Others...) }

// entityKinds returns the kinds of entities that snapshots are made of.
func (c *SnapshotSync) entityKinds() (kinds []string) {
	for _, snapshot := range c.snapshots() {
		kinds = append(kinds, snapshot.EntityKinds()...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// KindsLister loads the present entities of some kinds of all owners.
type KindsLister interface {
	LoadKinds(ctx context.Context, kinds []string) ([]svc.Entity, error)
}

// LoadAll loads the snapshots of a starting node, which hears of changes already.
func (c *SnapshotSync) LoadAll(ctx context.Context, store KindsLister) error {
	loaded, err := store.LoadKinds(ctx, c.entityKinds())
	if err != nil {
		return fmt.Errorf("loading the entities of the snapshots: %w", err)
	}
	c.Apply(loaded)
	return nil
}

// Apply publishes what versions of entities say. They may come more than once.
func (c *SnapshotSync) Apply(entities []svc.Entity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kinds, touched := c.entityKinds(), map[string]bool{}
	for _, entity := range entities {
		if slices.Contains(kinds, entity.Kind) && c.keep(entity) {
			touched[entity.Owner] = true
		}
	}
	for owner := range touched {
		for _, snapshot := range c.snapshots() {
			snapshot.PublishEntities(c.of(owner, snapshot.EntityKinds()), c.Skipped)
		}
	}
}

// keep keeps an entity unless a version as late is known; the caller holds the lock.
func (c *SnapshotSync) keep(entity svc.Entity) bool {
	owned, name := c.owners[entity.Owner], entityName{entity.Kind, entity.ID}
	if known, there := owned[name]; there && known.Version.Number() >= entity.Version.Number() {
		return false
	}
	if owned == nil {
		if c.owners == nil {
			c.owners = map[string]map[entityName]svc.Entity{}
		}
		owned = map[entityName]svc.Entity{}
		c.owners[entity.Owner] = owned
	}
	owned[name] = entity
	return true
}

// of returns the entities of some kinds of an owner, by kind and id; the caller holds the lock.
func (c *SnapshotSync) of(owner string, kinds []string) (entities []svc.Entity) {
	owned := c.owners[owner]
	names := slices.SortedFunc(maps.Keys(owned), func(a, b entityName) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	})
	for _, name := range names {
		if slices.Contains(kinds, name.kind) {
			entities = append(entities, owned[name])
		}
	}
	return entities
}
