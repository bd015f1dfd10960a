package people

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/person"
)

// Eraser removes the rows of erased people. One node of a cluster does it.
type Eraser struct {
	Store *Store
	// Owns reports whether this node is the one.
	Owns func() bool
	// Open returns the erasures that are not complete, the oldest first.
	Open func() []person.Erasure
	// IDs returns the numbers of the ids of an erasure.
	IDs func(erasure person.Erasure) []uint64
	// Withdraw takes the person out of exports that began before.
	Withdraw func(ctx context.Context, erasure person.Erasure) error
	// Count stores durably the counts of the rows that a turn is about to remove. The first count of a turn holds.
	Count func(ctx context.Context, app domain.AppRef, id, turn string, counts person.ErasureCounts) error
	// Note stores durably the progress of an erasure.
	Note func(ctx context.Context, app domain.AppRef, id string, status person.ErasureStatus) error
	// Changed is called after rows of environments were removed.
	Changed func(environments []uint64)
	// Settle is the delay between a request and the removal of its rows; rows accepted before the request are stored by
	// then. Rows that arrive even later are removed after ten times the delay.
	Settle time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// erasuresARound bounds the erasures of an application in one round, so an application that erases many people does not
// delay the others.
const erasuresARound = 20

// Run removes rows until ctx ends.
func (e *Eraser) Run(ctx context.Context) error {
	ticker := time.NewTicker(max(e.Settle/4, 50*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if e.Owns() {
				e.round(ctx)
			}
		}
	}
}

// round removes the rows of due erasures. An erasure that fails is repeated in the next round and delays no other.
func (e *Eraser) round(ctx context.Context) {
	done := map[domain.AppRef]int{}
	for _, erasure := range e.Open() {
		turn, status, wait := "1", person.ErasureRemoved, e.Settle
		if erasure.Status == person.ErasureRemoved {
			turn, status, wait = "2", person.ErasureComplete, 10*e.Settle
		}
		if e.Now().Sub(erasure.At) < wait || done[erasure.App] >= erasuresARound || ctx.Err() != nil {
			continue
		}
		done[erasure.App]++
		if err := e.Store.conn.Change(func() error { return e.remove(ctx, erasure, turn, status) }); err != nil {
			e.Logger.Error("an erasure goes on later", "erasure", erasure.ID, "error", err)
		}
	}
}

// remove removes the rows of an erasure and stores its progress.
func (e *Eraser) remove(ctx context.Context, erasure person.Erasure, turn string, status person.ErasureStatus) error {
	counts, err := e.Store.CountErased(ctx, erasure)
	if err != nil {
		return err
	}
	if err := e.Count(ctx, erasure.App, erasure.ID, turn, counts); err != nil {
		return err
	}
	if err := e.Withdraw(ctx, erasure); err != nil {
		return err
	}
	if err := e.Store.ForgetIssues(ctx, erasure, turn+"-texts"); err != nil {
		return err
	}
	if err := e.Store.ForgetCustomers(ctx, erasure, e.IDs(erasure)); err != nil {
		return err
	}
	if err := e.Store.Remove(ctx, erasure, turn); err != nil {
		return err
	}
	if err := e.Note(ctx, erasure.App, erasure.ID, status); err != nil {
		return err
	}
	e.Changed(slices.Clone([]uint64{erasure.EnvironmentNumber}))
	return nil
}
