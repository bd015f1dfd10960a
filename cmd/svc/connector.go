package main

import (
	"svc/actors/apps"
	"svc/actors/connector"
	"svc/actors/grain"
	"svc/cluster"
	"svc/http/outbound"
)

// connecting holds the parts of the connector module.
type connecting struct {
	index      *connector.Index
	ports      *connector.Ports
	connectors *connector.Connectors
}

// connectorModule probes the handlers of tenants. Its routes are among the routes of applications, whose answers show
// the status.
func (n *node) connectorModule() module {
	c := &n.connecting
	return module{
		name: "connector",
		snapshots: func() []apps.Snapshot {
			c.index = &connector.Index{}
			return []apps.Snapshot{c.index}
		},
		wire:  n.wireConnectors,
		kinds: func(node *grain.Node) []cluster.Kind { return []cluster.Kind{connector.Kind(node, c.ports)} },
	}
}

// wireConnectors creates the parts of the module.
func (n *node) wireConnectors() error {
	box, err := n.vault.Box("connectors")
	if err != nil {
		return err
	}
	c, dialer := &n.connecting, outbound.NewDialer(n.config.MonitorAllow)
	c.ports = &connector.Ports{
		Actors: n.cluster, Index: c.index, Prober: outbound.NewConnectorProber(dialer, n.now), Opener: box, Random: n.random, Logger: n.logger,
	}
	c.connectors = &connector.Connectors{Ports: c.ports, Allowed: n.config.MonitorAllow, Targets: dialer, Sealer: box, Now: n.now, Sync: n.syncSnapshot}
	return nil
}
