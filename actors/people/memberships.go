package people

import (
	"context"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/segment"
)

// MembershipAge bounds the age of an answer of Memberships. A person that enters or leaves a segment, and a definition
// that changes, become visible at most that much later.
const MembershipAge = 2 * time.Second

// maxMemberships bounds the people that Memberships caches on a node, at a few hundred bytes each.
const maxMemberships = 20_000

// MembershipStore finds the segments of one person.
type MembershipStore interface {
	// SegmentsOf returns the ids of some segments that contain the person with a visitor.
	SegmentsOf(ctx context.Context, environment, visitor uint64, segments []segment.Segment, now time.Time) ([]string, error)
}

// Memberships finds the segments of a person, for callers that often ask about single people, such as the evaluation of
// flags. Each node caches answers for MembershipAge. Its methods may be called concurrently.
type Memberships struct {
	Segments interface {
		Segments(ctx context.Context, app domain.Application) ([]segment.Segment, error)
	}
	Store MembershipStore
	Now   func() time.Time

	mutex       sync.Mutex
	definitions map[string]remembered[[]segment.Segment]
	persons     map[membershipKey]remembered[[]string]
}

// membershipKey names a visitor of an environment.
type membershipKey struct{ environment, visitor uint64 }

// remembered is an answer and the time of its request.
type remembered[T any] struct {
	value T
	at    time.Time
}

// SegmentsOf returns the ids of the segments of an application that contain a person, by the number of one of the
// person's visitors. It returns none if the environment does not have the visitor.
func (m *Memberships) SegmentsOf(ctx context.Context, app domain.Application, environment, visitor uint64) ([]string, error) {
	now := m.Now()
	key := membershipKey{environment, visitor}
	m.mutex.Lock()
	known, found := m.persons[key]
	m.mutex.Unlock()
	if found && now.Sub(known.at) < MembershipAge {
		return known.value, nil
	}
	segments, since, err := m.segments(ctx, app, now)
	if err != nil {
		return nil, err
	}
	ids, err := m.Store.SegmentsOf(ctx, environment, visitor, segments, now)
	if err != nil {
		return nil, err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.persons == nil || len(m.persons) >= maxMemberships {
		m.persons = map[membershipKey]remembered[[]string]{}
	}
	m.persons[key] = remembered[[]string]{ids, since}
	return ids, nil
}

// segments returns the definitions of an application and the time of their request.
func (m *Memberships) segments(ctx context.Context, app domain.Application, now time.Time) ([]segment.Segment, time.Time, error) {
	m.mutex.Lock()
	known, found := m.definitions[app.ID]
	m.mutex.Unlock()
	if found && now.Sub(known.at) < MembershipAge/2 {
		return known.value, known.at, nil
	}
	segments, err := m.Segments.Segments(ctx, app)
	if err != nil {
		return nil, time.Time{}, err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.definitions == nil || len(m.definitions) >= maxMemberships {
		m.definitions = map[string]remembered[[]segment.Segment]{}
	}
	m.definitions[app.ID] = remembered[[]segment.Segment]{segments, now}
	return segments, now, nil
}
