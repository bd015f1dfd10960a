//go:build norevenue

package main

import (
	"context"

	"svc/domain"
	"svc/domain/revenue"
	peopleapi "svc/http/api/people"
	revenueapi "svc/http/api/revenue"
	billinghooks "svc/http/billing"
	"svc/http/route"
)

// hasRevenue says whether the program was built with the module.
const hasRevenue = false

// subscriptions holds the parts of the revenue module. It is empty because the program is built without the module.
type subscriptions struct{}

// revenueModule adds the rows of the module, which answer that it is absent.
func (n *node) revenueModule() module {
	return module{name: "revenue", routes: func() ([]route.Route, error) {
		rows := revenueapi.Routes(revenueapi.Ports{Ledgers: n.subscribed, Connectors: n.subscribed, Coverage: n.subscribed})
		return append(rows, (&billinghooks.Hooks{Absent: true}).Routes()...), nil
	}}
}

// errAbsent returns the error that the module is absent.
func errAbsent() error {
	return domain.Errorf(domain.CodeNotAvailable, "This deployment was built without the module revenue.")
}

// List returns the error that the module is absent.
func (subscriptions) List(context.Context, domain.AppRef) ([]revenue.ConnectedBilling, error) {
	return nil, errAbsent()
}

// Put returns the error that the module is absent.
func (subscriptions) Put(context.Context, *domain.Application, string, revenue.BillingSpec, domain.Secret, domain.Secret) (revenue.ConnectedBilling, error) {
	return revenue.ConnectedBilling{}, errAbsent()
}

// Delete returns the error that the module is absent.
func (subscriptions) Delete(context.Context, domain.AppRef, string) (revenue.ConnectedBilling, error) {
	return revenue.ConnectedBilling{}, errAbsent()
}

// Connected returns no connectors.
func (subscriptions) Connected(domain.AppRef, uint64) []revenue.ConnectedBilling { return nil }

// RevenueLedger returns the error that the module is absent.
func (subscriptions) RevenueLedger(context.Context, uint64, string) (*revenue.Ledger, error) {
	return nil, errAbsent()
}

// billed returns people unchanged, because there is no revenue.
func (n *node) billed(people peopleapi.People) peopleapi.People { return people }
