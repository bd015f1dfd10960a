package billing

import (
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/revenue"
)

// Index is this node's snapshot of all billing connectors and of the positions of their readings.
type Index struct {
	apps  grain.Snapshot[string, string, []revenue.ConnectedBilling] // by application
	hooks grain.Snapshot[string, string, hooked]                     // by the connector's name in the address of its webhook
}

// hooked is a connector with its application.
type hooked struct {
	app       domain.AppRef
	connector revenue.BillingConnector
}

// NewIndex returns an empty snapshot.
func NewIndex() *Index { return &Index{} }

// Publish replaces the connectors of an application, unless a later version is known.
func (x *Index) Publish(version domain.Version, app string, all []revenue.ConnectedBilling) {
	hooks := map[string]hooked{}
	for _, one := range all {
		hooks[one.Hook] = hooked{refOf(app), one.BillingConnector}
	}
	x.apps.Replace(version, app, map[string][]revenue.ConnectedBilling{app: all})
	x.hooks.Replace(version, app, hooks)
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
	all, _ := x.apps.Find(ref.String())
	for _, one := range all {
		if one.Number == environment {
			of = append(of, one)
		}
	}
	return of
}

// hooked returns the connector that the address of a webhook names, and its application, or nil.
func (x *Index) hooked(hook string) (ref domain.AppRef, connector *revenue.BillingConnector) {
	found, known := x.hooks.Find(hook)
	if !known {
		return ref, nil
	}
	return found.app, &found.connector
}
