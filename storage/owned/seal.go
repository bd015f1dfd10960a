package owned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// sealTime limits one call to a ledger. sealsAtOnce limits the entries of one call: a call between nodes holds half
	// a megabyte.
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

// keepSealing passes the pending ledger entries of this process's partitions to their ledgers until ctx ends.
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

// seal passes pending entries to their ledgers. If any caller wants all, it covers all partitions, otherwise the
// partitions of this process. Any node may do it, because a ledger recognises the entries that it has. If the ledger of
// one organization does not answer, the entries of other organizations still pass.
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
