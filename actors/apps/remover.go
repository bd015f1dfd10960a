package apps

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
)

// Stored finds and removes the stored data of deletions.
type Stored interface {
	// Owned returns the entities that the actors of a deletion store, by owner. It leaves out the actors of the
	// application and the organization themselves.
	Owned(ctx context.Context, deletion domain.Deletion) ([]domain.Owned, error)
	// RemoveRows removes all rows of a deletion. It may be repeated.
	RemoveRows(ctx context.Context, deletion domain.Deletion, owners []string) error
}

// Remover removes the stored data of deleted applications and organizations. One node of a cluster does it. Each pass
// is recorded when it is complete, so a pass that a crash interrupts is repeated.
type Remover struct {
	Deletions *Deletions
	Apps      *Applications
	Actors    grain.Caller
	Stored    Stored
	// Owns reports whether this node is that node.
	Owns func() bool
	// Changed is called after rows of environments were removed.
	Changed func(environments []uint64)
	// Settle is the time after a deletion by which all items accepted before it are stored.
	Settle time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// Run removes until ctx ends.
func (r *Remover) Run(ctx context.Context) error {
	ticker := time.NewTicker(max(r.Settle/4, 50*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.Deletions.heard:
		case <-ticker.C:
		}
		if r.Owns() {
			r.round(ctx)
		}
	}
}

// round makes the passes that are due. A pass that fails is repeated in the next round and delays no other.
func (r *Remover) round(ctx context.Context) {
	for _, deletion := range r.Deletions.Open() {
		if r.Now().Before(deletion.Due(r.Settle)) || ctx.Err() != nil {
			continue
		}
		if err := r.pass(ctx, deletion); err != nil {
			r.Logger.Error("a deletion goes on later", "of", deletion.App.String(), "error", err)
		}
	}
}

// maxForgotten bounds the entities of one message to an actor.
const maxForgotten = 1000

// pass removes all stored data of a deletion, and records that.
func (r *Remover) pass(ctx context.Context, deletion domain.Deletion) error {
	slugs := identity.Slugs{Actors: r.Actors}
	if deletion.App.App != "" {
		// The caller of the deletion may have failed before it reached the actor.
		record, err := slugs.Delete(ctx, deletion.App)
		if err == nil {
			err = r.Apps.Close(ctx, record)
		}
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
			return err
		}
	}
	owned, err := r.Stored.Owned(ctx, deletion)
	if err != nil {
		return err
	}
	owners := make([]string, 0, len(owned))
	for _, one := range owned {
		owners = append(owners, one.Owner)
		if err := r.forget(ctx, one); err != nil {
			return err
		}
	}
	if err := r.Stored.RemoveRows(ctx, deletion, owners); err != nil {
		return err
	}
	r.Changed(deletion.Environments)
	deletion.Passes++
	return slugs.NotePasses(ctx, deletion)
}

// forget makes one actor delete everything.
func (r *Remover) forget(ctx context.Context, owned domain.Owned) error {
	kind, identity, _ := strings.Cut(owned.Owner, "/")
	names := make([]grain.EntityName, len(owned.Entities))
	for i, name := range owned.Entities {
		names[i] = grain.EntityName{Kind: name[0], ID: name[1]}
	}
	wakeups := owned.Wakeups
	for some := range slices.Chunk(names, maxForgotten) {
		if err := grain.Forget(ctx, r.Actors, kind, identity, some, wakeups); err != nil {
			return err
		}
		wakeups = nil
	}
	return nil
}
