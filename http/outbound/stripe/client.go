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

	"svc"
)

// Version is the version of the API that requests name.
const Version = "2025-02-24.acacia"

// DefaultBase is where Stripe's API is.
const DefaultBase = "https://api.stripe.com"

// Bounds of exchanges.
const (
	callTime    = 40 * time.Second
	maxAnswer   = 64 << 20
	maxKnown    = 50_000 // customers and prices that are kept in memory
	maxCustomer = svc.MaxIDBytes
)

// Client reads the API of Stripe. Its methods may be called from any number of goroutines at the same time. New makes one.
type Client struct {
	http *http.Client
	base string
	now  func() time.Time

	mu        sync.Mutex
	customers map[string]customer // by account and id; guarded by mu
	prices    map[string]price
}

// New returns a client that reaches the API at a base address.
func New(client *http.Client, base string, now func() time.Time) *Client {
	return &Client{http: client, base: strings.TrimSuffix(base, "/"), now: now, customers: map[string]customer{}, prices: map[string]price{}}
}

// get asks for one object or list. It returns the time at which Stripe answered. A failure is a *svc.BillingProblemError, or
// errMissing.
func (c *Client) get(ctx context.Context, key svc.Secret, path string, query url.Values, into any) (time.Time, error) {
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
	defer func() { _ = answer.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return time.Time{}, errAway()
	}
	if answer.StatusCode != http.StatusOK {
		return time.Time{}, problemOf(answer, body)
	}
	if err := svc.DecodeJSON(body, into); err != nil {
		return time.Time{}, errAway()
	}
	at, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		at = c.now()
	}
	return at.Truncate(time.Second), nil
}

// errAway is the error of a request without a whole answer.
func errAway() error {
	return &svc.BillingProblemError{Problem: svc.BillingProviderAway}
}

// errMissing says that Stripe knows no object of an id.
type errMissing struct{}

func (errMissing) Error() string { return "Stripe knows no such object" }

// problemOf reads the refusal of a request. The text of it may quote the key and is not kept.
func problemOf(answer *http.Response, body []byte) error {
	var refusal struct {
		Error struct {
			Type string `json:"type"`
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = svc.DecodeJSON(body, &refusal) // what cannot be read has no code
	problem := &svc.BillingProblemError{Problem: svc.BillingRefused}
	if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
		problem.RetryAfter = time.Duration(seconds) * time.Second
	}
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized:
		problem.Problem = svc.BillingKeyRefused
	case status == http.StatusForbidden:
		problem.Problem = svc.BillingForbidden
	case status == http.StatusTooManyRequests:
		problem.Problem = svc.BillingLimited
	case status == http.StatusNotFound || refusal.Error.Code == "resource_missing":
		return errMissing{}
	case status >= http.StatusInternalServerError || status == http.StatusConflict:
		problem.Problem = svc.BillingProviderAway
	}
	return problem
}

// keep remembers a value, in a map that is emptied when it is full.
func keep[T any](known map[string]T, name string, value T) {
	if len(known) >= maxKnown {
		clear(known)
	}
	known[name] = value
}

// account is one connector as it is read.
type account struct {
	client    *Client
	connector *svc.BillingConnector
	key       svc.Secret
}

// customer returns who a customer is; an expanded one is remembered.
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

// price completes a price whose tiers or whose product's name are not in the answer.
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
