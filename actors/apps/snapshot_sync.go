package apps

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"svc"
	"svc/actors/attempt"
	"svc/actors/grain"
)

// Announcements sends the names of owners whose entities have changed to every node.
type Announcements interface {
	Announce(ctx context.Context, text []byte) error
}

// ChangedOwners lists late changes in the store.
type ChangedOwners interface {
	// Load returns the last version of every entity of an owner.
	Load(ctx context.Context, owner string) ([]svc.Entity, error)
	// OwnersSince returns the owners of entities of some kinds that were written
	// in a version or a later one.
	OwnersSince(ctx context.Context, kinds []string, since svc.Version) ([]string, error)
}

// SnapshotSync keeps the snapshots of all nodes equal, for state that every node must know at once (ingest
// keys, settings):
//
//   - The owner's actor announces a change once it is durable, before it answers.
//     Every node that receives the announcement reads the owner's entities from the store.
//   - The node through which a caller made a change reads it before it answers, so
//     the caller's next request there finds it.
//   - A node that dies between the write and the announcement leaves the group, so
//     a new generation begins, and every node then reads what was written since the
//     one before.
type SnapshotSync struct {
	Store      ChangedOwners
	Collectors *Collectors
	// Others are the other snapshots of the node.
	Others []Snapshot
	Log    Announcements
	Logger *slog.Logger
	// Skipped receives entities that cannot be decoded. They are left out, so that one of
	// them keeps neither a node from starting nor the others from being read.
	Skipped grain.Skipped

	mu     sync.Mutex
	caught svc.Version
}

// Snapshot is a node's copy in memory of some kinds of entities of all owners.
type Snapshot interface {
	// EntityKinds returns the kinds of the entities that it is made of.
	EntityKinds() []string
	// Load fills the snapshot from the store, for a starting node.
	Load(ctx context.Context, store grain.KindLister, skipped grain.Skipped) error
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

// Announce tells every node that an owner's entities have changed, where snapshots are made of
// any of them. An announcement is a line, since a record of the log may carry several.
func (c *SnapshotSync) Announce(ctx context.Context, owner string, changed []svc.Entity) error {
	if c.Log == nil || !slices.ContainsFunc(changed, func(e svc.Entity) bool { return slices.Contains(c.entityKinds(), e.Kind) }) {
		return nil
	}
	if err := c.Log.Announce(ctx, []byte(owner+"\n")); err != nil {
		return fmt.Errorf("announcing a change: %w", err)
	}
	return nil
}

// Apply reads the owners that announcements name.
func (c *SnapshotSync) Apply(ctx context.Context, records []svc.LogRecord) {
	var owners []string
	for _, record := range records {
		for line := range bytes.Lines(record.Value) {
			owners = append(owners, strings.TrimSuffix(string(line), "\n"))
		}
	}
	slices.Sort(owners)
	c.refreshAll(ctx, slices.Compact(owners))
}

// Refresh reads the entities of an owner and publishes what they say.
func (c *SnapshotSync) Refresh(ctx context.Context, owner string) error {
	entities, err := c.Store.Load(ctx, owner)
	if err != nil {
		return fmt.Errorf("reading a change: %w", err)
	}
	for _, snapshot := range c.snapshots() {
		snapshot.PublishEntities(entities, c.Skipped)
	}
	return nil
}

// refreshAll refreshes owners, and repeats what fails until ctx ends.
func (c *SnapshotSync) refreshAll(ctx context.Context, owners []string) {
	for _, owner := range owners {
		_ = attempt.Until(ctx, c.Logger, "refreshing a snapshot", func() error { return c.Refresh(ctx, owner) })
	}
}

// CatchUp reads what was written in a generation or later ones: everything since
// the last time that it was called for a generation.
func (c *SnapshotSync) CatchUp(ctx context.Context, generation int32) {
	c.mu.Lock()
	since := c.caught
	c.mu.Unlock()
	_ = attempt.Until(ctx, c.Logger, "catching up with changes", func() error {
		owners, err := c.Store.OwnersSince(ctx, c.entityKinds(), since)
		if err == nil {
			c.refreshAll(ctx, owners)
		}
		return err
	})
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caught = svc.Version{Generation: uint32(generation)}
}

// LoadAll loads the snapshots of a starting node. Announcements from before it are
// not needed.
func (c *SnapshotSync) LoadAll(ctx context.Context, store grain.KindLister) error {
	for _, snapshot := range c.snapshots() {
		if err := snapshot.Load(ctx, store, c.Skipped); err != nil {
			return err
		}
	}
	c.Collectors.mu.Lock()
	newest := c.Collectors.newest
	c.Collectors.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caught = svc.Version{Generation: newest.Generation}
	return nil
}

// Resync reads everything again after announcements were lost.
func (c *SnapshotSync) Resync(ctx context.Context) {
	c.mu.Lock()
	caught := c.caught
	c.caught = svc.Version{}
	c.mu.Unlock()
	c.CatchUp(ctx, int32(caught.Generation))
}
