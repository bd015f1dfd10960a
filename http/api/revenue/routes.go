// Package revenue has the routes of subscription revenue and of the connectors to billing systems.
package revenue

import (
	"context"

	"svc/domain"
	"svc/domain/revenue"
	"svc/http/route"
)

// Ledgers reads the revenue of environments.
type Ledgers interface {
	// RevenueLedger returns the ledger of an environment in a currency; an empty currency means the currency of its
	// first item.
	RevenueLedger(ctx context.Context, environment uint64, currency string) (*revenue.Ledger, error)
}

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Ledgers    Ledgers
	Connectors Connectors
	Coverage   Coverage
	Log        Log
}

// Log accepts billing items.
type Log interface {
	// AppendBilling returns once the log has acknowledged the items.
	AppendBilling(ctx context.Context, items []revenue.BillingRow) error
}

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	r := handlers{ports}
	return append([]route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/revenue/overview", Operation: "revenue.overview", Module: domain.ModuleRevenue, Scope: domain.ScopeRead, Permission: domain.PermRevenueRead, Effect: route.Read, Rate: domain.RateQuery,
			Codes: []domain.Code{domain.CodeNotAvailable}, Summary: "MRR, ARR, churn and movement", Handler: route.Typed(r.overview),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/revenue/movements", Operation: "revenue.movements", Module: domain.ModuleRevenue, Scope: domain.ScopeRead, Permission: domain.PermRevenueRead, Effect: route.Read, Rate: domain.RateQuery,
			Codes: []domain.Code{domain.CodeNotAvailable}, Summary: "Every new, expansion, contraction and churn with its subscription, the newest first", Handler: route.Typed(r.movements),
		},
	}, r.connectorRoutes()...)
}

// handlers serves the routes.
type handlers struct{ ports Ports }
