package block

import (
	"context"
	"log/slog"
	"time"

	"svc/domain"
)

const (
	// retentionsEvery is the interval between two checks of the applications' retentions.
	retentionsEvery = 5 * time.Second
	// retentionDone is how long a retention must be in force before it is stored as applied. All items that were
	// accepted under the previous retention are stored by then, and the change is repeated for them.
	retentionDone = time.Minute
)

// RetentionChanges applies changed retentions of applications to their stored rows. One node of a
// cluster does this.
type RetentionChanges struct {
	Store Retentions
	// Owns reports whether this node is the one.
	Owns func() bool
	// Apps returns all applications.
	Apps   func() []domain.Application
	Now    func() time.Time
	Logger *slog.Logger

	// noted is the last retention in the store. since is the instant at which the current one was first seen to differ.
	// Both are by the number of the environment.
	noted map[uint64]int
	since map[uint64]change
}

// change is a retention that is being applied.
type change struct {
	days  int
	since time.Time
	done  bool // to the rows that were stored
}

// Retentions changes the retention of the rows of environments. [Store] implements it.
type Retentions interface {
	Retentions(ctx context.Context) (map[uint64]int, error)
	SetRetention(ctx context.Context, environment uint64, days int, now time.Time) error
	NoteRetention(ctx context.Context, environment uint64, days int, now time.Time) error
}

// Run applies changes until ctx ends.
func (c *RetentionChanges) Run(ctx context.Context) error {
	ticker := time.NewTicker(retentionsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if c.Owns() {
				c.round(ctx)
			}
		}
	}
}

// round applies every retention that differs from the stored one. If one fails, the next round repeats it; it does not
// delay the others.
func (c *RetentionChanges) round(ctx context.Context) {
	if c.since == nil {
		c.since = map[uint64]change{}
	}
	read := false
	for _, app := range c.Apps() {
		for _, environment := range app.Environments {
			number, days := environment.Number, app.RetentionDays
			if c.isNoted(number, days) {
				continue
			}
			if !read { // another node may have stored it
				noted, err := c.Store.Retentions(ctx)
				if err != nil {
					c.Logger.Error("the retentions were not read", "error", err)
					return
				}
				c.noted, read = noted, true
			}
			if c.isNoted(number, days) {
				delete(c.since, number)
				continue
			}
			if err := c.apply(ctx, number, days); err != nil {
				c.Logger.Error("a retention was not applied", "application", app.Ref(), "environment", environment.Slug, "days", days, "error", err)
			}
		}
	}
}

// isNoted reports whether a retention equals the stored one.
func (c *RetentionChanges) isNoted(environment uint64, days int) bool {
	noted, changed := c.noted[environment]
	if !changed {
		noted = domain.DefaultRetentionDays
	}
	return noted == days
}

// apply changes the stored rows at once, and again after all items that were accepted before are stored.
func (c *RetentionChanges) apply(ctx context.Context, environment uint64, days int) error {
	now := c.Now()
	at, known := c.since[environment]
	if !known || at.days != days {
		at = change{days: days, since: now}
	}
	done := now.Sub(at.since) >= retentionDone
	if !at.done || done {
		if err := c.Store.SetRetention(ctx, environment, days, now); err != nil {
			return err
		}
		at.done = true
	}
	c.since[environment] = at
	if !done {
		return nil
	}
	if err := c.Store.NoteRetention(ctx, environment, days, now); err != nil {
		return err
	}
	c.noted[environment] = days
	delete(c.since, environment)
	return nil
}
