package main

import (
	"time"

	"svc/actors/apps"
	"svc/actors/destinations"
	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/cluster"
	destinationsapi "svc/http/api/destinations"
	"svc/http/outbound"
	"svc/http/outbound/forward"
	"svc/http/route"
	deliverystore "svc/storage/clickhouse/destinations"
)

// forwarding holds the parts of the destinations module.
type forwarding struct {
	index        *destinations.Index
	ports        *destinations.Ports
	log          *deliverystore.Writer
	destinations *destinations.Destinations
}

// deliveriesEvery is the interval at which outcomes of deliveries are stored.
const deliveriesEvery = 250 * time.Millisecond

// destinationsModule forwards conversions to advertising platforms, webhooks and chats.
func (n *node) destinationsModule() module {
	f := &n.forwarding
	return module{
		name: "destinations",
		listeners: func() []pipeline.Listener {
			return []pipeline.Listener{&destinations.Listener{
				Index: f.index, Actors: n.cluster, Applications: n.collectors.Applications, Delayed: n.outbox.Has, Logger: n.logger,
			}}
		},
		snapshots: func() []apps.Snapshot {
			f.index = destinations.NewIndex()
			return []apps.Snapshot{f.index}
		},
		wire:  n.wireDestinations,
		kinds: func(node *grain.Node) []cluster.Kind { return destinations.Kinds(node, f.ports) },
		routes: func() ([]route.Route, error) {
			return destinationsapi.Routes(destinationsapi.Ports{Destinations: f.destinations, Deliveries: f.destinations}), nil
		},
		below: func() []part {
			return []part{
				{"deliveries", "Dispatchers append outcomes until they have stopped; then the last batch is stored.", f.log.Run},
			}
		},
		parts: func() []part {
			repair := destinations.Repair{Index: f.index, Applications: n.collectors.Applications, Actors: n.cluster, Logger: n.logger}
			return []part{
				{"repair of destinations", "It calls actors, and ends when all destinations have their environments.", repair.Run},
			}
		},
	}
}

// wireDestinations creates the parts of the module.
func (n *node) wireDestinations() error {
	box, err := n.vault.Box("destinations")
	if err != nil {
		return err
	}
	f := &n.forwarding
	dialer := outbound.NewDialer(n.config.MonitorAllow)
	sender := forward.NewSender(dialer.Client(), forward.Platforms(), n.now)
	f.log = &deliverystore.Writer{Store: n.db.DeliveryStore, Interval: deliveriesEvery, Name: n.random.ID("run_"), Logger: n.logger}
	f.ports = &destinations.Ports{
		Actors: n.cluster, Index: f.index, Sender: sender, Opener: box, Contacts: n.db.PeopleStore, Log: f.log, Life: n.erased.Life,
		Restored: n.restoredAt, Slots: make(chan struct{}, destinations.Slots), Logger: n.logger,
	}
	f.destinations = &destinations.Destinations{
		Actors: n.cluster, Random: n.random, Allowed: n.config.MonitorAllow, Targets: dialer, Sealer: box, Sender: sender, Log: f.log, Now: n.now, Sync: n.syncSnapshot,
	}
	return nil
}
