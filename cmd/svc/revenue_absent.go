//go:build norevenue

package main

import (
	"context"

	"svc"
	peopleapi "svc/http/api/people"
	revenueapi "svc/http/api/revenue"
	billinghooks "svc/http/billing"
	"svc/http/route"
)

// hasRevenue says whether the program was built with the module.
const hasRevenue = false

// subscriptions holds the parts of the revenue module: none, since the program is built without it.
type subscriptions struct{}

// revenueModule has the rows of the module, which say that it is not there.
func (n *node) revenueModule() module {
	return module{name: "revenue", routes: func() ([]route.Route, error) {
		rows := revenueapi.Routes(revenueapi.Ports{Ledgers: n.subscribed, Connectors: n.subscribed, Coverage: n.subscribed})
		return append(rows, (&billinghooks.Hooks{Absent: true}).Routes()...), nil
	}}
}

// errAbsent says that the module is not there.
func errAbsent() error {
	return svc.Errorf(svc.CodeNotAvailable, "This deployment was built without the module revenue.")
}

// List says that there are none.
func (subscriptions) List(context.Context, svc.AppRef) ([]svc.ConnectedBilling, error) {
	return nil, errAbsent()
}

// Put says that there are none.
func (subscriptions) Put(context.Context, *svc.Application, string, svc.BillingSpec, svc.Secret, svc.Secret) (svc.ConnectedBilling, error) {
	return svc.ConnectedBilling{}, errAbsent()
}

// Delete says that there are none.
func (subscriptions) Delete(context.Context, svc.AppRef, string) (svc.ConnectedBilling, error) {
	return svc.ConnectedBilling{}, errAbsent()
}

// Connected returns none.
func (subscriptions) Connected(svc.AppRef, uint64) []svc.ConnectedBilling { return nil }

// RevenueLedger says that there is none.
func (subscriptions) RevenueLedger(context.Context, uint64, string) (*svc.Ledger, error) {
	return nil, errAbsent()
}

// billed returns people as they are: nobody has revenue.
func (n *node) billed(people peopleapi.People) peopleapi.People { return people }
