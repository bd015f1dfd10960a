package flags

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"svc"
)

// Segments knows which segments persons are in.
type Segments interface {
	// SegmentsOf returns the ids of the segments of an environment that a person is in.
	SegmentsOf(ctx context.Context, environment uint64, person *svc.Person) ([]string, error)
}

// PersonStore reads people.
type PersonStore interface {
	// Person fails with not_found where nobody has the visitor.
	Person(ctx context.Context, environment, visitor uint64) (svc.Person, error)
}

// Sizes of what a node knows of persons.
const (
	// knownPersons is how many persons a node knows at most.
	knownPersons = 1 << 16
	// freshFor is how long what is known counts as fresh. It is used beyond that until it was read again, so a condition sees
	// a change of a person at the second evaluation after it, or up to freshFor later.
	freshFor = 10 * time.Second
	// lookups bounds those that wait, and readers how many are read at a time; lookupTime bounds one.
	lookups    = 4096
	readers    = 2
	lookupTime = 5 * time.Second
)

// Persons caches stored fields of persons on this node, for the conditions that need them. An evaluation never waits for
// it: an unknown person is looked up in the background and found by a later evaluation. That the store has no row of a
// visitor is cached as well.
type Persons struct {
	Store PersonStore
	// Segments may be nil: conditions on segments are then judged unknown.
	Segments Segments
	Now      func() time.Time
	Logger   *slog.Logger

	known [knownPersons]atomic.Pointer[knownPerson]
	wants chan wantedPerson
}

type knownPerson struct {
	wantedPerson
	person *svc.FlagPerson
	readAt time.Time
	// asked is set once somebody has asked for it to be read again.
	asked atomic.Bool
}

type wantedPerson struct{ environment, visitor uint64 }

// NewPersons returns a node's knowledge, which is empty.
func NewPersons(store PersonStore, segments Segments, now func() time.Time, logger *slog.Logger) *Persons {
	return &Persons{Store: store, Segments: segments, Now: now, Logger: logger, wants: make(chan wantedPerson, lookups)}
}

func (p *Persons) place(w wantedPerson) *atomic.Pointer[knownPerson] {
	return &p.known[(w.visitor^w.environment*0x9E3779B97F4A7C15)%knownPersons]
}

// Person returns what is known of a visitor; nil where nothing is, and then it is looked up.
func (p *Persons) Person(environment, visitor uint64) *svc.FlagPerson {
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

// want asks for a person to be read, unless too many wait.
func (p *Persons) want(wanted wantedPerson) {
	select {
	case p.wants <- wanted:
	default:
	}
}

// Run reads those who were asked for until ctx ends.
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
						continue // several asked
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

// learn reads a person. One that cannot be read stays as it was known, and is asked for again.
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

// Known reads what is known of a visitor now; nil where nothing can be said.
func (p *Persons) Known(ctx context.Context, environment, visitor uint64) *svc.FlagPerson {
	person, err := p.read(ctx, wantedPerson{environment, visitor})
	if err != nil {
		return nil
	}
	return person
}

func (p *Persons) read(ctx context.Context, wanted wantedPerson) (*svc.FlagPerson, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	person, err := p.Store.Person(ctx, wanted.environment, wanted.visitor)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return &svc.FlagPerson{NoSegments: p.Segments == nil}, nil
	}
	if err != nil {
		return nil, err
	}
	known := svc.FlagPersonOf(&person)
	if p.Segments == nil {
		known.NoSegments = true
		return known, nil
	}
	segments, err := p.Segments.SegmentsOf(ctx, wanted.environment, &person)
	if err != nil {
		return nil, err
	}
	known.Values["segment"] = svc.ListFlagValue(segments)
	return known, nil
}
