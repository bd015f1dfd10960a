package owned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// sealTime bounds the handing over of entries to one ledger, sealsAtOnce their number: a call
	// between nodes holds half a megabyte.
	sealTime    = 5 * time.Second
	sealsAtOnce = 100
)

// Seal implements [state.Journal].
func (s *Store) Seal(ctx context.Context) error {
	if err := s.Await(ctx); err != nil {
		return err
	}
	if err := s.seals.Commit(ctx, true); err != nil {
		return away("The ledger", err)
	}
	return nil
}

// keepSealing hands the entries that changes left in this process's partitions to their ledgers
// until ctx ends.
func (s *Store) keepSealing(ctx context.Context) {
	pause := moveEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = moveEvery
		if err := s.seals.Commit(ctx, false); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Warn("entries wait for their places in ledgers", "error", err)
			pause = movePause
		}
	}
}

// seal hands entries to their ledgers: those of all partitions, if a caller wants all, else those of
// the partitions that this process owns. Any node may do it, since a ledger knows what it has. An
// organization whose ledger does not answer keeps no other's entries back.
func (s *Store) seal(ctx context.Context, all []bool) error {
	if s.cfg.Seal == nil {
		return nil
	}
	wanted := func(partition int) bool { return anyOf(all) || s.owner(partition) != nil }
	var failed []error
	for org, left := range s.tail.unsealed(wanted) {
		for some := range slices.Chunk(left, sealsAtOnce) {
			ctx, cancel := context.WithTimeout(ctx, sealTime)
			err := s.cfg.Seal(ctx, org, some)
			cancel()
			if err != nil {
				failed = append(failed, fmt.Errorf("sealing entries of %s: %w", org, err))
				break
			}
			s.tail.sealed(some)
		}
	}
	return errors.Join(failed...)
}
