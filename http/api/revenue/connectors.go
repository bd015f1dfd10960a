package revenue

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"svc/domain"
	"svc/domain/revenue"
	"svc/http/api"
	"svc/http/route"
)

// Connectors stores the billing connectors of applications.
type Connectors interface {
	// List returns the connectors of an application, ordered by id.
	List(ctx context.Context, ref domain.AppRef) ([]revenue.ConnectedBilling, error)
	// Put makes or replaces the connector with an id; empty secrets leave the stored ones unchanged.
	Put(ctx context.Context, app *domain.Application, id string, spec revenue.BillingSpec, apiKey, signing domain.Secret) (revenue.ConnectedBilling, error)
	// Delete removes a connector and returns it.
	Delete(ctx context.Context, ref domain.AppRef, id string) (revenue.ConnectedBilling, error)
}

// Coverage reads the state of the billing data.
type Coverage interface {
	// Connected returns the connectors of an environment with their states.
	Connected(ref domain.AppRef, environment uint64) []revenue.ConnectedBilling
}

// connectorRoutes returns the rows of billing connectors.
func (r handlers) connectorRoutes() []route.Route {
	row := func(method, path, operation, summary string) route.Route {
		return route.Route{
			Surface: route.Console, Method: method, Path: "/apps/{org}/{app}/billing" + path, Operation: operation, Module: domain.ModuleRevenue, Rate: domain.RateDefault,
			Scope: domain.ScopeAdmin, Permission: domain.PermAppsWrite, Effect: route.Destructive, Summary: summary, Codes: []domain.Code{domain.CodeNotAvailable},
		}
	}
	list := row("GET", "", "console.billing.list", "List the billing connectors with their last synchronization and its error")
	list.Scope, list.Permission, list.Effect, list.Handler = domain.ScopeRead, domain.PermRevenueRead, route.Read, route.Typed(r.listConnectors)
	put := row("PUT", "/{id}", "console.billing.put", "Connect a billing system, or change how; the credential goes to the vault and is never shown")
	put.Ledger, put.Handler, put.Codes = "billing.connected", route.Typed(r.putConnector), append(put.Codes, domain.CodeConflict)
	remove := row("DELETE", "/{id}", "console.billing.delete", "Disconnect a billing system; what it said stays")
	remove.Ledger, remove.Handler = "billing.disconnected", route.Typed(r.deleteConnector)
	return []route.Route{list, put, remove}
}

// billingConnector is a billing connector as answers show it.
type billingConnector struct {
	ID               string                   `json:"id"`
	Provider         revenue.BillingProvider  `json:"provider" open:"true"`
	Environment      string                   `json:"environment"`
	Enabled          bool                     `json:"enabled"`
	Customers        revenue.BillingCustomers `json:"customers" doc:"By what a customer is known as a person: the metadata distinct_id, or without it the e-mail address too."`
	Live             bool                     `json:"live" doc:"false where the provider's test mode is read."`
	HasAPIKey        bool                     `json:"hasApiKey"`
	HasSigningSecret bool                     `json:"hasSigningSecret" doc:"false where webhooks are refused; the provider is then asked once a minute alone."`
	WebhookPath      *string                  `json:"webhookPath" doc:"Where the provider's webhook is to be sent, below the service's address."`
	State            revenue.BillingState     `json:"state" doc:"off, waiting (nothing was sent yet), syncing (the first reading is under way), current or failing."`
	LastSyncAt       *route.Time              `json:"lastSyncAt" doc:"When the provider was last read; null where it never was."`
	Through          *route.Time              `json:"through" doc:"Until when everything is known; null before the first complete reading."`
	LastError        *string                  `json:"lastError" doc:"Why the last reading failed: key_refused, permission_missing, rate_limited, provider_unavailable, request_refused, wrong_mode, log_unavailable or credential_missing; null where it did not."`
	FailingSince     *route.Time              `json:"lastErrorAt" doc:"When it last failed."`
	Items            uint64                   `json:"items" doc:"Billing items that were read; what was read again counts again."`
	CreatedAt        route.Time               `json:"createdAt"`
	UpdatedAt        route.Time               `json:"updatedAt"`
}

func (r handlers) connectorOf(call *route.Call, c *revenue.ConnectedBilling, anyItems bool) billingConnector {
	out := billingConnector{
		ID: c.ID, Provider: c.Provider, Environment: c.Environment, Enabled: c.Enabled, Customers: c.Customers, Live: c.Live, HasAPIKey: len(c.Sealed) > 0,
		HasSigningSecret: c.HasSigningSecret, State: c.State(anyItems, call.Now), LastError: api.OrNull(string(c.Sync.Problem)), Items: c.Sync.Items,
		CreatedAt: route.Time(c.CreatedAt), UpdatedAt: route.Time(c.UpdatedAt),
	}
	if c.Provider == revenue.BillingStripe {
		out.WebhookPath = api.OrNull("/api/v1/revenue/stripe/" + c.Hook)
	}
	if !c.Sync.LastSyncAt.IsZero() {
		out.LastSyncAt = route.TimeOf(&c.Sync.LastSyncAt)
	}
	if !c.Sync.Through.IsZero() {
		out.Through = route.TimeOf(&c.Sync.Through)
	}
	if c.Sync.Problem != "" {
		out.FailingSince = route.TimeOf(&c.Sync.FailedAt)
	}
	return out
}

type listConnectors struct {
	api.AppPath
	api.Paging
}

func (r handlers) listConnectors(ctx context.Context, call *route.Call, in listConnectors) (domain.Page[billingConnector], error) {
	all, err := r.ports.Connectors.List(ctx, call.Ref())
	if err != nil {
		return domain.Page[billingConnector]{}, err
	}
	rows := make([]billingConnector, len(all))
	for n := range all {
		anyItems, err := r.anyItems(ctx, &all[n])
		if err != nil {
			return domain.Page[billingConnector]{}, err
		}
		rows[n] = r.connectorOf(call, &all[n], anyItems)
	}
	return api.PageOfAll(call, rows, in.Paging, func(row billingConnector) string { return row.ID })
}

// anyItems reports whether the environment of a generic connector has received any items.
func (r handlers) anyItems(ctx context.Context, c *revenue.ConnectedBilling) (bool, error) {
	if c.Provider != revenue.BillingGeneric {
		return false, nil
	}
	ledger, err := r.ports.Ledgers.RevenueLedger(ctx, c.Number, "")
	if err != nil {
		return false, err
	}
	return ledger.Any, nil
}

type connectorPath struct {
	api.AppPath
	ID string `path:"id" doc:"The connector's id, which whoever makes it chooses: lower-case letters, digits and dashes."`
}

type putConnector struct {
	connectorPath
	Body newBillingConnector `body:"json"`
}

// newBillingConnector is the body of PUT …/billing/{id}.
type newBillingConnector struct {
	Provider      revenue.BillingProvider   `json:"provider" required:"true" doc:"stripe, or generic for a system that sends its items with a secret key."`
	Environment   string                    `json:"environment" doc:"The environment that is filled; production where it is absent. A key of Stripe's test mode needs another one."`
	Enabled       *bool                     `json:"enabled" doc:"Whether the provider is read; true where it is absent."`
	Customers     *revenue.BillingCustomers `json:"customers" doc:"By what a customer is known as a person: metadata (default) takes distinct_id of the metadata; email takes the e-mail address where there is none."`
	APIKey        *string                   `json:"apiKey" doc:"A restricted key of Stripe that reads subscriptions, customers, prices, products, invoices, charges, refunds and events. What is absent stays."`
	SigningSecret *string                   `json:"signingSecret" doc:"The signing secret of the webhook; one that it replaces verifies for a day beside it. What is absent stays."`
	Rates         []revenue.ExchangeRate    `json:"rates" doc:"Exchange rates for the environment, at most 1000: the last one given for a day holds, and all are kept, whatever becomes of the connector."`
}

// maxRates bounds the rates of a request.
const maxRates = 1000

// rateRows returns the billing items of the rates, and the problems of the rates.
func (b *newBillingConnector) rateRows(environment uint64) (rows []revenue.BillingRow, problems []domain.FieldError) {
	if len(b.Rates) > maxRates {
		return nil, []domain.FieldError{{Field: "rates", Code: "out_of_range", Message: "At most 1000 rates are taken at a time."}}
	}
	for n, rate := range b.Rates {
		row, wrong := rate.Row(environment)
		for _, problem := range wrong {
			problem.Field = "rates[" + strconv.Itoa(n) + "]." + problem.Field
			problems = append(problems, problem)
		}
		rows = append(rows, row)
	}
	return rows, problems
}

// connectorID matches the ids of connectors.
func connectorID() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`) }

// Check refuses invalid ids of connectors, and invalid rates.
func (p *putConnector) Check(*route.Call) []domain.FieldError {
	_, problems := p.Body.rateRows(0)
	if !connectorID().MatchString(p.ID) {
		problems = append(problems, domain.FieldError{Field: "id", Code: "invalid_value", Message: "An id has 1 to 40 lower-case letters, digits and dashes, and begins with no dash."})
	}
	return problems
}

func (r handlers) putConnector(ctx context.Context, call *route.Call, in putConnector) (billingConnector, error) {
	spec := revenue.BillingSpec{Provider: in.Body.Provider, Environment: in.Body.Environment, Enabled: in.Body.Enabled == nil || *in.Body.Enabled, Customers: revenue.CustomersByMetadata}
	if spec.Environment == "" {
		spec.Environment = domain.DefaultEnvironment
	}
	if in.Body.Customers != nil {
		spec.Customers = *in.Body.Customers
	}
	put, err := r.ports.Connectors.Put(ctx, &call.App, in.ID, spec, secretOf(in.Body.APIKey), secretOf(in.Body.SigningSecret))
	if err != nil {
		return billingConnector{}, err
	}
	if rows, _ := in.Body.rateRows(put.Number); len(rows) > 0 { // Check has validated them.
		if err := r.ports.Log.AppendBilling(ctx, rows); err != nil {
			return billingConnector{}, err
		}
	}
	return r.connectorOf(call, &put, false), nil
}

// secretOf returns a secret of a body, empty if it has none.
func secretOf(text *string) domain.Secret {
	if text == nil {
		return ""
	}
	return domain.Secret(*text)
}

// disconnectedBilling is the answer to a deletion: the removed and the remaining data.
type disconnectedBilling struct {
	ID      string `json:"id"`
	Removed string `json:"removed"`
	Kept    string `json:"kept"`
}

func (r handlers) deleteConnector(ctx context.Context, call *route.Call, in connectorPath) (disconnectedBilling, error) {
	gone, err := r.ports.Connectors.Delete(ctx, call.Ref(), in.ID)
	if err != nil {
		return disconnectedBilling{}, err
	}
	out := disconnectedBilling{ID: gone.ID, Removed: "The connector and its credential. The provider is not read any more.", Kept: "All billing items that it brought, and the revenue made of them, as of now."}
	if gone.Provider == revenue.BillingGeneric {
		out.Removed, out.Kept = "The connector.", "All billing items that were sent, and the revenue made of them. Items that are sent with a secret key still count."
	}
	return out, nil
}

// revenueCoverage describes the completeness of the billing data.
type revenueCoverage struct {
	State      revenue.BillingState `json:"state" doc:"The worst of the connectors' states: failing, then syncing, current, waiting, off. off where there is no connector."`
	Complete   bool                 `json:"complete" doc:"false where a connector's first reading is under way or its last one failed: the figures may be too low, and zeros say nothing."`
	Through    *route.Time          `json:"through" doc:"Until when everything is known of all that is read from a provider; null where nothing is, or not completely yet."`
	Connectors []coveringConnector  `json:"connectors"`
}

// coveringConnector is one connector of the environment.
type coveringConnector struct {
	ID         string                  `json:"id"`
	Provider   revenue.BillingProvider `json:"provider" open:"true"`
	State      revenue.BillingState    `json:"state"`
	LastSyncAt *route.Time             `json:"lastSyncAt"`
	LastError  *string                 `json:"lastError"`
}

// coverageOf returns the coverage of an environment, and whether its zeros are real zeros.
func (r handlers) coverageOf(call *route.Call, environment uint64, anyItems bool) (coverage revenueCoverage, connected bool) {
	coverage = revenueCoverage{State: revenue.BillingOff, Complete: true, Connectors: []coveringConnector{}}
	connected = anyItems
	all := r.ports.Coverage.Connected(call.Ref(), environment)
	rank := func(state revenue.BillingState) int {
		switch state {
		case revenue.BillingFailing:
			return 4
		case revenue.BillingSyncing:
			return 3
		case revenue.BillingCurrent:
			return 2
		case revenue.BillingWaiting:
			return 1
		case revenue.BillingOff:
		}
		return 0
	}
	for n := range all {
		shown := r.connectorOf(call, &all[n], anyItems)
		coverage.Connectors = append(coverage.Connectors, coveringConnector{shown.ID, shown.Provider, shown.State, shown.LastSyncAt, shown.LastError})
		if rank(shown.State) > rank(coverage.State) {
			coverage.State = shown.State
		}
		connected = connected || all[n].Known()
		if shown.Through != nil && (coverage.Through == nil || all[n].Sync.Through.Before(time.Time(*coverage.Through))) {
			coverage.Through = shown.Through
		}
	}
	coverage.Complete = rank(coverage.State) < rank(revenue.BillingSyncing)
	if !coverage.Complete && coverage.State == revenue.BillingSyncing {
		coverage.Through = nil
	}
	return coverage, connected
}
