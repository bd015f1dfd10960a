package destinations

import (
	"strings"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/destination"
)

// Index is this node's snapshot of all destinations: by application and id for the dispatchers, by environment and event
// for the listener. It is read without a lock.
type Index struct {
	destinations grain.Snapshot[domain.AppRef, destinationKey, *destination.Destination]
	environments grain.Snapshot[domain.AppRef, uint64, *forwards] // by the number of the environment
}

// destinationKey names a destination.
type destinationKey struct {
	app domain.AppRef
	id  string
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
	if x.environments.Len() == 0 {
		return nil
	}
	found, _ := x.environments.Find(environment)
	return found
}

// Destination returns a destination of an application, or nil if this node does not know the id.
func (x *Index) Destination(ref domain.AppRef, id string) *destination.Destination {
	found, _ := x.destinations.Find(destinationKey{ref, id})
	return found
}

// Publish replaces the destinations of an application, unless a later version is known.
func (x *Index) Publish(version domain.Version, ref domain.AppRef, destinations []destination.Destination) {
	byID, byEnvironment := map[destinationKey]*destination.Destination{}, map[uint64]*forwards{}
	for i := range destinations {
		d := &destinations[i]
		byID[destinationKey{ref, d.ID}] = d
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
	x.destinations.Replace(version, ref, byID)
	x.environments.Replace(version, ref, byEnvironment)
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
