package billing

import (
	"sync"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/revenue"
)

// Index is this node's snapshot of all billing connectors and of the positions of their readings.
type Index struct {
	mu    sync.RWMutex
	apps  map[string]indexed   // by application
	hooks map[string][2]string // by the connector's name in the address of its webhook: the application and the id
}

// indexed holds the connectors of one application.
type indexed struct {
	version domain.Version
	all     []revenue.ConnectedBilling
}

// NewIndex returns an empty snapshot.
func NewIndex() *Index { return &Index{apps: map[string]indexed{}, hooks: map[string][2]string{}} }

// Publish replaces the connectors of an application, unless a later version is known.
func (x *Index) Publish(version domain.Version, app string, all []revenue.ConnectedBilling) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.apps[app]
	if version.Number() < before.version.Number() {
		return
	}
	for _, one := range before.all {
		delete(x.hooks, one.Hook)
	}
	for _, one := range all {
		x.hooks[one.Hook] = [2]string{app, one.ID}
	}
	x.apps[app] = indexed{version, all}
}

// EntityKinds returns the kinds of the entities in the snapshot.
func (x *Index) EntityKinds() []string { return []string{kindConnector, kindSync} }

// PublishEntities publishes the connectors among the entities of one owner. A connector that cannot be decoded is
// skipped.
func (x *Index) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	app, version, connectors, ours := grain.DecodeOwned[revenue.BillingConnector](entities, kindBook, kindConnector, skipped)
	if !ours {
		return
	}
	syncs := map[string]revenue.BillingSync{}
	for _, entity := range entities {
		if entity.Deleted || entity.Kind != kindSync {
			continue
		}
		if one := grain.DecodeOrSkip[revenue.BillingSync](entity, skipped); one != nil {
			syncs[entity.ID] = *one
		}
	}
	all := make([]revenue.ConnectedBilling, len(connectors))
	for n, connector := range connectors {
		all[n] = revenue.ConnectedBilling{BillingConnector: connector, Sync: syncs[connector.ID]}
	}
	x.Publish(version, app, all)
}

// Connected returns the connectors of an environment. The result must not be changed.
func (x *Index) Connected(ref domain.AppRef, environment uint64) (of []revenue.ConnectedBilling) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, one := range x.apps[ref.String()].all {
		if one.Number == environment {
			of = append(of, one)
		}
	}
	return of
}

// hooked returns the connector that the address of a webhook names, and its application, or nil.
func (x *Index) hooked(hook string) (ref domain.AppRef, connector *revenue.BillingConnector) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	name, known := x.hooks[hook]
	if !known {
		return ref, nil
	}
	for n := range x.apps[name[0]].all {
		if one := &x.apps[name[0]].all[n]; one.ID == name[1] {
			found := one.BillingConnector
			return refOf(name[0]), &found
		}
	}
	return ref, nil
}
