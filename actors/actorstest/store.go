// Package actorstest helps to test actors: it has a store in memory with scripted failures and delays, and a small
// cluster that hosts kinds.
package actorstest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"svc/cluster"
	"svc/domain"
)

// Put is one call of Store.Put.
type Put struct {
	Entities []domain.Entity
	Wakeups  []domain.Wakeup
	Trail    domain.Trail
}

// Store stores entities and wake-ups in memory; the highest version of each wins.
type Store struct {
	mu       sync.Mutex
	entities map[entityKey]domain.Entity
	wakeups  map[cluster.Due]wish
	puts     []Put
	loads    int

	failLoads, failPuts, losePuts failure
	holdLoads, holdPuts           chan struct{}
}

type entityKey struct{ owner, kind, id string }

type wish struct {
	due     time.Time
	version uint64
}

type failure struct {
	times int
	err   error
}

// take returns the error while failures are left.
func (f *failure) take() error {
	if f.times == 0 {
		return nil
	}
	f.times--
	return f.err
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{entities: map[entityKey]domain.Entity{}, wakeups: map[cluster.Due]wish{}}
}

// FailLoads makes the next loads fail.
func (s *Store) FailLoads(times int, err error) {
	s.script(func() { s.failLoads = failure{times, err} })
}

// FailPuts makes the next puts fail and store nothing.
func (s *Store) FailPuts(times int, err error) { s.script(func() { s.failPuts = failure{times, err} }) }

// LosePuts makes the next puts store their entities and fail nevertheless.
func (s *Store) LosePuts(times int, err error) { s.script(func() { s.losePuts = failure{times, err} }) }

func (s *Store) script(set func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
}

// HoldLoads makes loads wait until release is called.
func (s *Store) HoldLoads() (release func()) { return s.hold(&s.holdLoads) }

// HoldPuts makes puts wait, before they store anything, until release is called.
func (s *Store) HoldPuts() (release func()) { return s.hold(&s.holdPuts) }

func (s *Store) hold(gate *chan struct{}) (release func()) {
	opened := make(chan struct{})
	s.script(func() { *gate = opened })
	return sync.OnceFunc(func() {
		s.script(func() { *gate = nil })
		close(opened)
	})
}

// wait returns once the gate is open.
func (s *Store) wait(ctx context.Context, gate *chan struct{}) error {
	s.mu.Lock()
	closed := *gate
	s.mu.Unlock()
	if closed == nil {
		return nil
	}
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Present returns the entities of a kind that are not deleted, by owner and id.
func (s *Store) Present(kind string) (out []domain.Entity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entity := range s.entities {
		if entity.Kind == kind && !entity.Deleted {
			out = append(out, entity)
		}
	}
	slices.SortFunc(out, func(a, b domain.Entity) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Entries returns the ledger entries of the saves, in order.
func (s *Store) Entries() (out []domain.LedgerEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, put := range s.puts {
		out = append(out, put.Trail.Entries...)
	}
	return out
}

// Load returns the last version of every entity of an owner, including deleted ones, by kind and id.
func (s *Store) Load(ctx context.Context, owner string) ([]domain.Entity, error) {
	s.script(func() { s.loads++ })
	if err := s.wait(ctx, &s.holdLoads); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failLoads.take(); err != nil {
		return nil, err
	}
	return s.list(func(e domain.Entity) bool { return e.Owner == owner }), nil
}

// LoadKind returns the current entities of a kind of all owners.
func (s *Store) LoadKind(_ context.Context, kind string) ([]domain.Entity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failLoads.take(); err != nil {
		return nil, err
	}
	return s.list(func(e domain.Entity) bool { return e.Kind == kind && !e.Deleted }), nil
}

// LoadKinds returns the current entities of some kinds of all owners.
func (s *Store) LoadKinds(_ context.Context, kinds []string) ([]domain.Entity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.failLoads.take(); err != nil {
		return nil, err
	}
	return s.list(func(e domain.Entity) bool { return slices.Contains(kinds, e.Kind) && !e.Deleted }), nil
}

func (s *Store) list(wanted func(domain.Entity) bool) []domain.Entity {
	var out []domain.Entity
	for _, entity := range s.entities {
		if wanted(entity) {
			out = append(out, entity)
		}
	}
	slices.SortFunc(out, func(a, b domain.Entity) int {
		return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// errNoEntity is the error of wake-ups without an entity.
var errNoEntity = errors.New("storing wake-ups: no entity gives their version")

// Put stores entities and wake-ups. A wake-up without a due time removes the one with its name. Wake-ups have the
// version of their entities.
func (s *Store) Put(ctx context.Context, entities []domain.Entity, wakeups []domain.Wakeup, trail domain.Trail) error {
	if err := s.wait(ctx, &s.holdPuts); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(entities) == 0 && len(wakeups) > 0 {
		return errNoEntity
	}
	if err := s.failPuts.take(); err != nil {
		return err
	}
	s.puts = append(s.puts, Put{slices.Clone(entities), slices.Clone(wakeups), trail})
	var version uint64
	for _, entity := range entities {
		version = max(version, entity.Version.Number())
		key := entityKey{entity.Owner, entity.Kind, entity.ID}
		if present, known := s.entities[key]; !known || entity.Version.Number() > present.Version.Number() {
			s.entities[key] = entity
		}
	}
	for _, wakeup := range wakeups {
		key := cluster.Due{Kind: wakeup.Kind, Identity: wakeup.Identity, Name: wakeup.Name}
		if version > s.wakeups[key].version {
			s.wakeups[key] = wish{wakeup.Due, version}
		}
	}
	return s.losePuts.take()
}

// Due lists the wake-ups that are due at an instant, the oldest first.
func (s *Store) Due(_ context.Context, at time.Time, limit int) ([]cluster.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []cluster.Due
	for key, wish := range s.wakeups {
		if !wish.due.IsZero() && !wish.due.After(at) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b cluster.Due) int {
		return cmp.Or(s.wakeups[a].due.Compare(s.wakeups[b].due), cmp.Compare(a.Kind+"/"+a.Identity, b.Kind+"/"+b.Identity))
	})
	return due[:min(len(due), limit)], nil
}

// Loads returns the number of requested loads.
func (s *Store) Loads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads
}

// Puts returns the stored puts in order.
func (s *Store) Puts() []Put {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.puts)
}
