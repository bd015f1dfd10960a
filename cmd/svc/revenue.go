//go:build !norevenue

package main

import (
	"context"
	"slices"

	"svc/actors/apps"
	"svc/actors/billing"
	"svc/actors/grain"
	"svc/cluster"
	"svc/cmd/svc/adapter"
	"svc/domain"
	"svc/domain/person"
	peopleapi "svc/http/api/people"
	revenueapi "svc/http/api/revenue"
	billinghooks "svc/http/billing"
	"svc/http/outbound"
	"svc/http/outbound/stripe"
	"svc/http/route"
	"svc/storage/clickhouse/revenue"
)

// hasRevenue says whether the program was built with the module.
const hasRevenue = true

// subscriptions holds the parts of the revenue module.
type subscriptions struct {
	store      *revenue.Store
	index      *billing.Index
	connectors *billing.Connectors
	stripe     *stripe.Client
	log        adapter.Billing
	ports      *billing.Ports
}

// revenueModule adds the revenue of subscriptions: the items of billing systems, and the ledger that is computed from
// them.
func (n *node) revenueModule() module {
	of := &n.subscribed
	return module{
		name: "revenue",
		snapshots: func() []apps.Snapshot {
			of.index = billing.NewIndex()
			return []apps.Snapshot{of.index}
		},
		wire:  n.wireRevenue,
		kinds: func(node *grain.Node) []cluster.Kind { return billing.Kinds(node, of.ports) },
		routes: func() ([]route.Route, error) {
			hooks := &billinghooks.Hooks{Connectors: of.connectors, Provider: of.stripe, Signed: stripe.Signed, Log: of.log, Allowed: n.bills, Now: n.now}
			return append(revenueapi.Routes(revenueapi.Ports{Ledgers: of.store, Connectors: of.connectors, Coverage: of.index, Log: of.log}), hooks.Routes()...), nil
		},
	}
}

// wireRevenue creates the parts of the module.
func (n *node) wireRevenue() error {
	of := &n.subscribed
	store, err := revenue.New(n.db.Conn, n.erased.Visitors)
	if err != nil {
		return err
	}
	box, err := n.vault.Box("billing")
	if err != nil {
		return err
	}
	of.store = store
	of.stripe = stripe.New(outbound.NewDialer(n.config.MonitorAllow).Client(), n.config.StripeURL, n.now)
	of.log = adapter.Billing{Producer: adapter.Producer{Producer: n.producer, Disk: n.disk}, Shape: n.shape(), Now: n.now}
	of.connectors = &billing.Connectors{Actors: n.cluster, Index: of.index, Random: n.random, Sealer: box, Now: n.now, Sync: n.syncSnapshot}
	of.ports = &billing.Ports{
		Actors: n.cluster, Index: of.index, Provider: of.stripe, Log: of.log, Opener: box, Allowed: n.bills, Slots: make(chan struct{}, billing.Slots), Logger: n.logger,
	}
	return nil
}

// bills reports whether an application has the module revenue.
func (n *node) bills(ctx context.Context, ref domain.AppRef) (bool, error) {
	app, err := n.apps.Get(ctx, ref)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return false, nil
	}
	return slices.Contains(app.Modules, domain.ModuleRevenue), err
}

// billed returns people with their revenue.
func (n *node) billed(people peopleapi.People) peopleapi.People {
	return billedPeople{people: people, node: n}
}

// billedPeople adds revenue to the other data of people.
type billedPeople struct {
	people peopleapi.People
	node   *node
}

// People returns a page of people.
func (b billedPeople) People(ctx context.Context, query person.Query) (person.List, error) {
	list, err := b.people.People(ctx, query)
	if err != nil || len(list.Rows) == 0 {
		return list, err
	}
	return list, b.bill(ctx, query.Environment.Number, list.Rows)
}

// Person returns one person.
func (b billedPeople) Person(ctx context.Context, environment, visitor uint64) (person.Person, error) {
	p, err := b.people.Person(ctx, environment, visitor)
	if err != nil {
		return p, err
	}
	people := []person.Person{p}
	err = b.bill(ctx, environment, people)
	return people[0], err
}

// bill sets the revenue of people of an environment.
func (b billedPeople) bill(ctx context.Context, environment uint64, people []person.Person) error {
	ledger, err := b.node.subscribed.store.RevenueLedger(ctx, environment, "")
	if err != nil {
		return err
	}
	person.AddRevenue(ledger, people, b.node.now())
	return nil
}
