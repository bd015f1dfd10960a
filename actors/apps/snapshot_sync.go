package apps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"svc/actors/grain"
	"svc/domain"
)

// SnapshotSync synchronizes the state that every node must know at once: ingest keys, settings, rules. A node loads the
// snapshots once and then receives every changed entity, in the order of the log of state. The actor that changes an
// entity publishes it on its own node before it answers. The node through which a caller made the change receives it
// before it answers, so the caller's next request there finds it.
type SnapshotSync struct {
	Collectors *Collectors
	// Others are the other snapshots of the node.
	Others []Snapshot
	// Skipped receives entities that cannot be decoded. They are skipped, so that they prevent neither the start of a
	// node nor the reading of the others.
	Skipped grain.Skipped

	mu sync.Mutex
	// owners holds the last version of every entity in snapshots, by owner. It includes deleted entities that were
	// received.
	owners map[string]map[entityName]domain.Entity
}

// entityName names an entity of an owner.
type entityName struct{ kind, id string }

// Snapshot is a node's copy in memory of some kinds of entities of all owners.
type Snapshot interface {
	// EntityKinds returns the kinds of the entities in the snapshot.
	EntityKinds() []string
	// PublishEntities publishes the last versions of the entities of one owner. It ignores entities of other kinds, and
	// versions older than the known ones.
	PublishEntities(entities []domain.Entity, skipped grain.Skipped)
}

// snapshots returns all snapshots.
func (c *SnapshotSync) snapshots() []Snapshot { return append([]Snapshot{c.Collectors}, c.Others...) }

// entityKinds returns the kinds of the entities in all snapshots.
func (c *SnapshotSync) entityKinds() (kinds []string) {
	for _, snapshot := range c.snapshots() {
		kinds = append(kinds, snapshot.EntityKinds()...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// KindsLister loads the current entities of some kinds of all owners.
type KindsLister interface {
	LoadKinds(ctx context.Context, kinds []string) ([]domain.Entity, error)
}

// LoadAll loads the snapshots of a starting node, which already receives changes.
func (c *SnapshotSync) LoadAll(ctx context.Context, store KindsLister) error {
	loaded, err := store.LoadKinds(ctx, c.entityKinds())
	if err != nil {
		return fmt.Errorf("loading the entities of the snapshots: %w", err)
	}
	c.Apply(loaded)
	return nil
}

// Apply publishes versions of entities. They may arrive more than once.
func (c *SnapshotSync) Apply(entities []domain.Entity) {
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

// keep stores an entity unless the same or a later version is known; the caller holds the lock.
func (c *SnapshotSync) keep(entity domain.Entity) bool {
	owned, name := c.owners[entity.Owner], entityName{entity.Kind, entity.ID}
	if known, there := owned[name]; there && known.Version.Number() >= entity.Version.Number() {
		return false
	}
	if owned == nil {
		if c.owners == nil {
			c.owners = map[string]map[entityName]domain.Entity{}
		}
		owned = map[entityName]domain.Entity{}
		c.owners[entity.Owner] = owned
	}
	owned[name] = entity
	return true
}

// of returns the entities of some kinds of an owner, by kind and id; the caller holds the lock.
func (c *SnapshotSync) of(owner string, kinds []string) (entities []domain.Entity) {
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
