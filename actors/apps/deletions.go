package apps

import (
	"slices"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
)

// Deletions is this node's snapshot of deletions with rows that may still be stored. NewDeletions makes one.
type Deletions struct {
	deletions grain.Snapshot[domain.AppRef, domain.AppRef, domain.Deletion]
	// heard holds a token if there is a new deletion.
	heard chan struct{}
}

// NewDeletions returns an empty snapshot.
func NewDeletions() *Deletions {
	return &Deletions{heard: make(chan struct{}, 1)}
}

// Open returns the deletions with a pass to come, the oldest first.
func (d *Deletions) Open() (open []domain.Deletion) {
	for _, one := range d.deletions.All() {
		open = append(open, one)
	}
	slices.SortFunc(open, func(a, b domain.Deletion) int { return a.At.Compare(b.At) })
	return open
}

// EntityKinds returns the kinds of the entities that the snapshot is made of.
func (d *Deletions) EntityKinds() []string { return []string{"app", "organization"} }

// PublishEntities publishes the deletions in the entities of one organization.
func (d *Deletions) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	for _, entity := range entities {
		if entity.Deleted {
			continue
		}
		deletion := identity.DeletionOf(entity, skipped)
		switch {
		case deletion == nil:
		case deletion.Passes >= domain.DeletionPasses:
			d.deletions.Replace(entity.Version, deletion.App, nil)
		default:
			d.deletions.Replace(entity.Version, deletion.App, map[domain.AppRef]domain.Deletion{deletion.App: *deletion})
			select {
			case d.heard <- struct{}{}:
			default:
			}
		}
	}
}
