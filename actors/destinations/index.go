package destinations

import (
	"strings"
	"sync"
	"sync/atomic"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/destination"
)

// Index is this node's snapshot of all destinations: by application for the dispatchers, by environment and event for
// the listener. It is read without a lock.
type Index struct {
	environments sync.Map // the number of an environment → *forwards
	known        sync.Map // an application → *indexed
	count        atomic.Int64

	mu sync.Mutex
}

// indexed holds the destinations of one application. It never changes.
type indexed struct {
	version      domain.Version
	destinations map[string]*destination.Destination
	environments []uint64
}

// forwards are the destinations of one environment by event name. It never changes.
type forwards struct {
	app     domain.AppRef
	byEvent map[string][]forward
}

// forward is one rule of one destination.
type forward struct {
	destination *destination.Destination
	rule        *destination.Rule
	environment string
}

// NewIndex returns an empty snapshot.
func NewIndex() *Index { return &Index{} }

// find returns the forwards of an environment, or nil.
func (x *Index) find(environment uint64) *forwards {
	if x.count.Load() == 0 {
		return nil
	}
	found, _ := x.environments.Load(environment)
	out, _ := found.(*forwards)
	return out
}

// Destination returns a destination of an application, or nil if this node does not know the id.
func (x *Index) Destination(ref domain.AppRef, id string) *destination.Destination {
	found, _ := x.known.Load(ref)
	if app, ok := found.(*indexed); ok {
		return app.destinations[id]
	}
	return nil
}

// Publish replaces the destinations of an application, unless a later version is known.
func (x *Index) Publish(version domain.Version, ref domain.AppRef, destinations []destination.Destination) {
	next, byEnvironment := &indexed{version: version, destinations: map[string]*destination.Destination{}}, map[uint64]*forwards{}
	for i := range destinations {
		d := &destinations[i]
		next.destinations[d.ID] = d
		if !d.Enabled {
			continue
		}
		for n, number := range d.Numbers {
			if byEnvironment[number] == nil {
				byEnvironment[number] = &forwards{app: ref, byEvent: map[string][]forward{}}
			}
			events := byEnvironment[number].byEvent
			for r := range d.Mapping {
				rule := &d.Mapping[r]
				events[rule.Event] = append(events[rule.Event], forward{d, rule, d.Environments[n]})
			}
		}
	}
	for number := range byEnvironment {
		next.environments = append(next.environments, number)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	found, _ := x.known.Load(ref)
	before, _ := found.(*indexed)
	if before == nil {
		before = &indexed{}
	}
	if version.Number() < before.version.Number() {
		return
	}
	for number, forwarded := range byEnvironment {
		x.environments.Store(number, forwarded)
	}
	for _, number := range before.environments {
		if byEnvironment[number] == nil {
			x.environments.Delete(number)
		}
	}
	x.count.Add(int64(len(next.environments) - len(before.environments)))
	x.known.Store(ref, next)
}

// EntityKinds returns the kinds of the entities in the snapshot.
func (x *Index) EntityKinds() []string { return []string{kindDestination} }

// PublishEntities publishes the destinations among the entities of one owner. A destination that cannot be decoded is
// skipped.
func (x *Index) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	identity, version, destinations, ours := grain.DecodeOwned[destination.Destination](entities, kindBook, kindDestination, skipped)
	if !ours {
		return
	}
	x.Publish(version, refOf(identity), destinations)
}

// refOf returns the application at the beginning of an identity.
func refOf(identity string) domain.AppRef {
	org, rest, _ := strings.Cut(identity, "/")
	app, _, _ := strings.Cut(rest, "/")
	return domain.AppRef{Org: org, App: app}
}
