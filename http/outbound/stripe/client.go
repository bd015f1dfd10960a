package stripe

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/revenue"
)

// Version is the version of the API in requests.
const Version = "2025-02-24.acacia"

// DefaultBase is the address of Stripe's API.
const DefaultBase = "https://api.stripe.com"

// Bounds of exchanges.
const (
	callTime    = 40 * time.Second
	maxAnswer   = 64 << 20
	maxKnown    = 50_000 // This bounds the cached customers and prices.
	maxCustomer = event.MaxIDBytes
)

// Client reads the API of Stripe. Its methods may be called from any number of goroutines at the same time. New makes one.
type Client struct {
	http *http.Client
	base string
	now  func() time.Time

	mu        sync.Mutex
	customers map[string]customer // The key is the account and the id. It is guarded by mu.
	prices    map[string]price
}

// New returns a client that reaches the API at a base address.
func New(client *http.Client, base string, now func() time.Time) *Client {
	return &Client{http: client, base: strings.TrimSuffix(base, "/"), now: now, customers: map[string]customer{}, prices: map[string]price{}}
}

// get reads one object or list. It returns the time at which Stripe answered. A failure is a *revenue.BillingProblemError,
// or errMissing.
func (c *Client) get(ctx context.Context, key domain.Secret, path string, query url.Values, into any) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return time.Time{}, errAway()
	}
	request.Header.Set("Authorization", "Bearer "+key.Reveal())
	request.Header.Set("Stripe-Version", Version)
	answer, err := c.http.Do(request)
	if err != nil {
		return time.Time{}, errAway()
	}
	defer func() { _ = answer.Body.Close() }() // The body was read.
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return time.Time{}, errAway()
	}
	if answer.StatusCode != http.StatusOK {
		return time.Time{}, problemOf(answer, body)
	}
	if err := domain.DecodeJSON(body, into); err != nil {
		return time.Time{}, errAway()
	}
	at, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		at = c.now()
	}
	return at.Truncate(time.Second), nil
}

// errAway is the error of a request without a complete answer.
func errAway() error {
	return &revenue.BillingProblemError{Problem: revenue.BillingProviderAway}
}

// errMissing means that Stripe has no object with an id.
type errMissing struct{}

func (errMissing) Error() string { return "Stripe knows no such object" }

// problemOf reads the refusal of a request. It drops the text, which may quote the key.
func problemOf(answer *http.Response, body []byte) error {
	var refusal struct {
		Error struct {
			Type string `json:"type"`
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = domain.DecodeJSON(body, &refusal) // An unreadable body has no code.
	problem := &revenue.BillingProblemError{Problem: revenue.BillingRefused}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		problem.RetryAfter = time.Duration(seconds) * time.Second
	}
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized:
		problem.Problem = revenue.BillingKeyRefused
	case status == http.StatusForbidden:
		problem.Problem = revenue.BillingForbidden
	case status == http.StatusTooManyRequests:
		problem.Problem = revenue.BillingLimited
	case status == http.StatusNotFound || refusal.Error.Code == "resource_missing":
		return errMissing{}
	case status >= http.StatusInternalServerError || status == http.StatusConflict:
		problem.Problem = revenue.BillingProviderAway
	}
	return problem
}

// keep caches a value in a map that is emptied when it is full.
func keep[T any](known map[string]T, name string, value T) {
	if len(known) >= maxKnown {
		clear(known)
	}
	known[name] = value
}

// account is one connector during a read.
type account struct {
	client    *Client
	connector *revenue.BillingConnector
	key       domain.Secret
}

// customer returns the data of a customer; an expanded one is cached.
func (a *account) customer(ctx context.Context, of customer) (customer, error) {
	if of.ID == "" {
		return of, nil
	}
	c, name := a.client, a.connector.Hook+" "+of.ID
	if of.expanded {
		c.mu.Lock()
		defer c.mu.Unlock()
		keep(c.customers, name, of)
		return of, nil
	}
	c.mu.Lock()
	known, found := c.customers[name]
	c.mu.Unlock()
	if found {
		return known, nil
	}
	read := of
	if _, err := c.get(ctx, a.key, "/v1/customers/"+url.PathEscape(of.ID), nil, &read); err != nil {
		if _, gone := err.(errMissing); !gone { //nolint:errorlint // get returns it as it is
			return of, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	keep(c.customers, name, read)
	return read, nil
}

// price completes a price if the answer lacks its tiers or its product's name.
func (a *account) price(ctx context.Context, of price) (price, error) {
	named := of.Nickname != "" || of.Product.Name != ""
	if named && (of.Scheme != "tiered" || len(of.Tiers) > 0) {
		return of, nil
	}
	c, name := a.client, a.connector.Hook+" "+of.ID
	c.mu.Lock()
	known, found := c.prices[name]
	c.mu.Unlock()
	if !found {
		known = of
		query := url.Values{"expand[]": {"product", "tiers"}}
		if _, err := c.get(ctx, a.key, "/v1/prices/"+url.PathEscape(of.ID), query, &known); err != nil {
			if _, gone := err.(errMissing); !gone { //nolint:errorlint // get returns it as it is
				return of, err
			}
		}
		c.mu.Lock()
		keep(c.prices, name, known)
		c.mu.Unlock()
	}
	of.Product, of.Tiers, of.TiersMode = known.Product, known.Tiers, known.TiersMode
	return of, nil
}
