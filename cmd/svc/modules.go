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

// module declares everything that one area of the product adds to a node. Unneeded fields are nil. The functions are
// called while the node opens, in the order of the fields.
type module struct {
	name string
	// listeners receive stored rows; see [pipeline.Listener].
	listeners func() []pipeline.Listener
	// snapshots are the in-memory copies, on every node, of entities of all actors, in addition to the keys.
	snapshots func() []apps.Snapshot
	// wire creates the module's own components. The sink exists. The cluster of the actors may be passed on but not
	// called yet.
	wire func() error
	// kinds are its kinds of actors; node holds the resources that all actors share.
	kinds func(node *grain.Node) []cluster.Kind
	// routes are its rows of the route table. To print the table, they are also requested from a node that is not open.
	routes func() ([]route.Route, error)
	// callers are its rows that call the routes of all modules, as tools.
	callers func(tools *tools.Set) []route.Route
	// segmentUsers list the users of segments; a segment in use cannot be deleted.
	segmentUsers func() []people.SegmentUser
	// below run below the actors: they start before the actors and end after them. parts run above the actors, which
	// they call.
	below, parts func() []part
}

// modules lists the modules of the product. Listeners are run in this order.
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

// each collects one member of every module.
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

// rows are the routes of all modules, except the ones that call others.
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

// callers are the rows that call other routes; handler serves these calls.
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
