package main

import (
	"context"
	"log/slog"
	"time"

	"svc"
)

const (
	// rowsEvery is the time between two looks at the applications' retentions.
	rowsEvery = 5 * time.Second
	// rowsSettled is how long a retention stands before it is noted as done: what was accepted with
	// the one before is stored by then, and the change is repeated for it.
	rowsSettled = time.Minute
)

// keeping has stored rows follow the retention of their application. One node does it, the owner of
// partition 0.
type keeping struct {
	store  keptRows
	owns   func() bool
	apps   func() []svc.Application
	now    func() time.Time
	logger *slog.Logger

	// noted is what the store was last known to have noted, and since is from when the
	// present retention of an environment was seen to differ; both by its number.
	noted map[uint64]int
	since map[uint64]change
}

// change is a retention that is being applied.
type change struct {
	days  int
	since time.Time
	done  bool // once
}

// keptRows is the store's part.
type keptRows interface {
	Retentions(ctx context.Context) (map[uint64]int, error)
	SetRetention(ctx context.Context, environment uint64, days int, now time.Time) error
	NoteRetention(ctx context.Context, environment uint64, days int, now time.Time) error
}

// run looks until ctx ends.
func (k *keeping) run(ctx context.Context) error {
	ticker := time.NewTicker(rowsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if k.owns() {
				k.look(ctx)
			}
		}
	}
}

// look applies every retention that is not the noted one. A failure of one keeps no other; it is
// repeated with the next look.
func (k *keeping) look(ctx context.Context) {
	if k.since == nil {
		k.since = map[uint64]change{}
	}
	read := false
	for _, app := range k.apps() {
		for _, environment := range app.Environments {
			number, days := environment.Number, app.RetentionDays
			if k.stands(number, days) {
				continue
			}
			if !read { // another node may have noted it
				noted, err := k.store.Retentions(ctx)
				if err != nil {
					k.logger.Error("the retentions were not read", "error", err)
					return
				}
				k.noted, read = noted, true
			}
			if k.stands(number, days) {
				delete(k.since, number)
				continue
			}
			if err := k.apply(ctx, number, days); err != nil {
				k.logger.Error("a retention was not applied", "application", app.Ref(), "environment", environment.Slug, "days", days, "error", err)
			}
		}
	}
}

// stands says whether a retention is the one that was noted.
func (k *keeping) stands(environment uint64, days int) bool {
	noted, changed := k.noted[environment]
	if !changed {
		noted = svc.DefaultRetentionDays
	}
	return noted == days
}

// apply changes the rows at once, and again when what was accepted before is stored.
func (k *keeping) apply(ctx context.Context, environment uint64, days int) error {
	now := k.now()
	at, known := k.since[environment]
	if !known || at.days != days {
		at = change{days: days, since: now}
	}
	settled := now.Sub(at.since) >= rowsSettled
	if !at.done || settled {
		if err := k.store.SetRetention(ctx, environment, days, now); err != nil {
			return err
		}
		at.done = true
	}
	k.since[environment] = at
	if !settled {
		return nil
	}
	if err := k.store.NoteRetention(ctx, environment, days, now); err != nil {
		return err
	}
	k.noted[environment] = days
	delete(k.since, environment)
	return nil
}

// keepRows is the part of the node that does so.
func (n *node) keepRows(ctx context.Context) error {
	owns := func() bool { _, owned := n.ownership.Owned(0); return owned }
	k := &keeping{store: n.db, owns: owns, apps: n.collectors.Applications, now: n.now, logger: n.logger}
	return k.run(ctx)
}
