package connector

import (
	"strings"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/connector"
)

// Index is this node's snapshot of all connectors. The zero value is an empty one.
type Index struct {
	connectors grain.Snapshot[domain.AppRef, domain.AppRef, *connector.Connector]
}

// Connector returns the connector of an application, or nil. It must not be changed.
func (x *Index) Connector(ref domain.AppRef) *connector.Connector {
	found, _ := x.connectors.Find(ref)
	return found
}

// Publish replaces the connector of an application, unless a later version is known.
func (x *Index) Publish(version domain.Version, ref domain.AppRef, c *connector.Connector) {
	values := map[domain.AppRef]*connector.Connector{}
	if c != nil {
		values[ref] = c
	}
	x.connectors.Replace(version, ref, values)
}

// EntityKinds returns the kinds of the entities in the snapshot.
func (x *Index) EntityKinds() []string { return []string{kindConnector} }

// PublishEntities publishes the connector among the entities of one owner.
func (x *Index) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	identity, version, records, ours := grain.DecodeOwned[record](entities, kindConnector, kindConnector, skipped)
	if !ours {
		return
	}
	var connector *connector.Connector
	if len(records) > 0 {
		connector = &records[0].Connector
	}
	x.Publish(version, refOf(identity), connector)
}

// refOf returns the application of an identity.
func refOf(identity string) domain.AppRef {
	org, app, _ := strings.Cut(identity, "/")
	return domain.AppRef{Org: org, App: app}
}
