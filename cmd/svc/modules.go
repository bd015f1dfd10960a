package main

import (
	"fmt"
	"net/http"
	"slices"

	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/people"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/http/route"
	"svc/http/tools"
)

// module declares everything that one part of the product brings to a node. A member that a module does not need
// stays empty. The functions are called while the node opens, in the order in which they stand here.
type module struct {
	name string
	// listeners learn what is stored; see [pipeline.Listener].
	listeners func() []pipeline.Listener
	// snapshots are what every node keeps in memory of the entities of all actors, besides the keys.
	snapshots func() []apps.Snapshot
	// wire makes what the module keeps for itself. The sink is there, and the cluster of the actors may be
	// handed on but not called yet.
	wire func() error
	// kinds are its kinds of actors; node holds what all actors share.
	kinds func(node *grain.Node) []cluster.Kind
	// routes are its rows of the route table. They are also asked for to print the table, of a node that
	// has opened nothing.
	routes func() ([]route.Route, error)
	// callers are its rows that call the routes of all modules, as tools.
	callers func(tools *tools.Set) []route.Route
	// segmentUsers are what depends on segments; while one of them uses a segment, it is not deleted.
	segmentUsers func() []people.SegmentUser
	// below run below the actors: they start before these and end after. parts run above the
	// actors, which they call.
	below, parts func() []part
}

// modules lists the parts of the product. Listeners are run in this order.
func (n *node) modules() []module {
	return append([]module{
		n.identityModule(),
		n.applicationsModule(),
		n.errorsModule(),
		n.metricsModule(),
		n.alertingModule(),
		n.analyticsModule(),
		n.peopleModule(),
		n.exportsModule(),
		n.reportsModule(),
		n.flagsModule(),
		n.revenueModule(),
		n.destinationsModule(),
		n.connectorModule(),
		n.communicationsModule(),
		n.assistantModule(),
		n.documentationModule(),
		n.telemetryModule(),
		n.consoleModule(),
		n.ingestModule(),
	}, n.more...)
}

// each collects what every module brings.
func each[T any](modules []module, member func(m module) func() []T) (all []T) {
	for _, m := range modules {
		if list := member(m); list != nil {
			all = append(all, list()...)
		}
	}
	return all
}

// kinds are the kinds of actors of this node.
func (n *node) kinds() (kinds []cluster.Kind) {
	for _, m := range n.modules() {
		if m.kinds != nil {
			kinds = append(kinds, m.kinds(n.grains)...)
		}
	}
	return kinds
}

// do calls a member of every module that has it.
func do(modules []module, member func(m module) func() error) error {
	for _, m := range modules {
		if call := member(m); call != nil {
			if err := call(); err != nil {
				return fmt.Errorf("module %s: %w", m.name, err)
			}
		}
	}
	return nil
}

// rows are the routes of all modules, without those that call others.
func (n *node) rows() (table []route.Route, err error) {
	for _, m := range n.modules() {
		if m.routes == nil {
			continue
		}
		rows, err := m.routes()
		if err != nil {
			return nil, err
		}
		table = slices.Concat(table, rows)
	}
	return table, nil
}

// callers are the rows that call others, which a handler serves.
func (n *node) callers(handler http.Handler, rows []route.Route) (callers []route.Route, err error) {
	made, err := tools.New(rows, handler, n.dependents())
	if err != nil {
		return nil, fmt.Errorf("making the tools: %w", err)
	}
	for _, m := range n.modules() {
		if m.callers != nil {
			callers = append(callers, m.callers(made)...)
		}
	}
	return callers, nil
}
