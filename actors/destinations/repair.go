package destinations

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"svc/actors/attempt"
	"svc/actors/grain"
	"svc/domain"
)

// Repair writes the numbers of their environments into destinations again. Up to November 2026 each change of a
// destination stored the number 0. No event is found by the number 0
// (docs/decisions/0015-call-actors-over-protoactor.md).
type Repair struct {
	Index *Index
	// Applications lists the applications that this node knows.
	Applications func() []domain.Application
	Actors       grain.Caller
	Logger       *slog.Logger
}

// Run repairs the destinations that this node knows, and returns when all are right. It may be repeated. Several nodes
// may run it at the same time.
func (r *Repair) Run(ctx context.Context) error {
	misplaced := r.Index.misplaced()
	for _, app := range r.Applications() {
		for _, id := range misplaced[app.Ref()] {
			if err := attempt.Until(ctx, r.Logger, "giving a destination the numbers of its environments", func() error { return r.repair(ctx, &app, id) }); err != nil {
				return err
			}
			r.Logger.Info("a destination forwards again: an earlier version had stored it without its environment", "app", app.Ref().String(), "destination", id)
		}
	}
	return nil
}

// repair repairs one destination by a change that alters nothing else.
func (r *Repair) repair(ctx context.Context, app *domain.Application, id string) error {
	d, err := bookChange.Ask(ctx, r.Actors, app.Ref().String(), changeDestination{ID: id, Environments: app.Environments})
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound && err != nil:
		return nil //nolint:nilerr // it was deleted meanwhile
	case err != nil:
		return err
	case slices.Contains(d.Numbers, 0):
		return fmt.Errorf("the destination %s is owned by a node of an earlier version", id)
	}
	return nil
}

// misplaced lists the destinations that are stored under the number 0, by application.
func (x *Index) misplaced() map[domain.AppRef][]string {
	ids := map[domain.AppRef][]string{}
	for key, d := range x.destinations.All() {
		if slices.Contains(d.Numbers, 0) {
			ids[key.app] = append(ids[key.app], key.id)
		}
	}
	return ids
}
