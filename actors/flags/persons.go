package flags

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"svc/domain"
	"svc/domain/flag"
	"svc/domain/person"
)

// Segments finds the segments of persons.
type Segments interface {
	// SegmentsOf returns the ids of the segments of an environment that contain a person.
	SegmentsOf(ctx context.Context, environment uint64, person *person.Person) ([]string, error)
}

// PersonStore reads people.
type PersonStore interface {
	// Person returns the person with a visitor. It fails with not_found if no person has the visitor.
	Person(ctx context.Context, environment, visitor uint64) (person.Person, error)
}

// Limits of the cache of persons on a node.
const (
	// knownPersons bounds the cached persons of a node.
	knownPersons = 1 << 16
	// freshFor is how long a cached person counts as fresh. Beyond that, it is used until it was read again. So a
	// condition sees a change of a person at the second evaluation after it, or up to freshFor later.
	freshFor = 10 * time.Second
	// lookups bounds the waiting look-ups; readers is the number of concurrent ones; lookupTime bounds one.
	lookups    = 4096
	readers    = 2
	lookupTime = 5 * time.Second
)

// Persons caches stored fields of persons on this node, for the conditions that need them. An evaluation never waits
// for it: an unknown person is looked up in the background and found by a later evaluation. If the store has no row of
// a visitor, that is cached as well.
type Persons struct {
	Store PersonStore
	// Segments may be nil: then conditions on segments are unknown.
	Segments Segments
	Now      func() time.Time
	Logger   *slog.Logger

	known [knownPersons]atomic.Pointer[knownPerson]
	wants chan wantedPerson
}

type knownPerson struct {
	wantedPerson
	person *flag.Person
	readAt time.Time
	// asked is set once a new read was requested.
	asked atomic.Bool
}

type wantedPerson struct{ environment, visitor uint64 }

// NewPersons returns an empty cache.
func NewPersons(store PersonStore, segments Segments, now func() time.Time, logger *slog.Logger) *Persons {
	return &Persons{Store: store, Segments: segments, Now: now, Logger: logger, wants: make(chan wantedPerson, lookups)}
}

func (p *Persons) place(w wantedPerson) *atomic.Pointer[knownPerson] {
	return &p.known[(w.visitor^w.environment*0x9E3779B97F4A7C15)%knownPersons]
}

// Person returns the cached person of a visitor. It returns nil and starts a look-up if the visitor is not cached.
func (p *Persons) Person(environment, visitor uint64) *flag.Person {
	wanted := wantedPerson{environment, visitor}
	found := p.place(wanted).Load()
	if found == nil || found.wantedPerson != wanted {
		p.want(wanted)
		return nil
	}
	if p.Now().Sub(found.readAt) > freshFor && !found.asked.Swap(true) {
		p.want(wanted)
	}
	return found.person
}

// want requests a read of a person, unless too many wait.
func (p *Persons) want(wanted wantedPerson) {
	select {
	case p.wants <- wanted:
	default:
	}
}

// Run reads the requested persons until ctx ends.
func (p *Persons) Run(ctx context.Context) error {
	done := make(chan struct{}, readers)
	for range readers {
		go func() {
			defer func() { done <- struct{}{} }()
			for {
				select {
				case <-ctx.Done():
					return
				case wanted := <-p.wants:
					if found := p.place(wanted).Load(); found != nil && found.wantedPerson == wanted && p.Now().Sub(found.readAt) <= freshFor {
						continue // it was requested more than once
					}
					p.learn(ctx, wanted)
				}
			}
		}()
	}
	for range readers {
		<-done
	}
	return nil
}

// learn reads a person. If that fails, the cached person stays, and a later evaluation requests it again.
func (p *Persons) learn(ctx context.Context, wanted wantedPerson) {
	person, err := p.read(ctx, wanted)
	if err != nil {
		if ctx.Err() == nil {
			p.Logger.Warn("looking up a person for flags failed", "error", err)
		}
		if found := p.place(wanted).Load(); found != nil {
			found.asked.Store(false)
		}
		return
	}
	p.place(wanted).Store(&knownPerson{wantedPerson: wanted, person: person, readAt: p.Now()})
}

// Known reads a visitor now; it returns nil if that fails.
func (p *Persons) Known(ctx context.Context, environment, visitor uint64) *flag.Person {
	person, err := p.read(ctx, wantedPerson{environment, visitor})
	if err != nil {
		return nil
	}
	return person
}

func (p *Persons) read(ctx context.Context, wanted wantedPerson) (*flag.Person, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	person, err := p.Store.Person(ctx, wanted.environment, wanted.visitor)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return &flag.Person{NoSegments: p.Segments == nil}, nil
	}
	if err != nil {
		return nil, err
	}
	known := flag.PersonOf(&person)
	if p.Segments == nil {
		known.NoSegments = true
		return known, nil
	}
	segments, err := p.Segments.SegmentsOf(ctx, wanted.environment, &person)
	if err != nil {
		return nil, err
	}
	known.Values["segment"] = flag.ListFlagValue(segments)
	return known, nil
}
