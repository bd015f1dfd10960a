// Package nodetest runs the identity and application actors of one node for tests of their
// clients.
package nodetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/protos"
)

// Clients are the clients of a separate node.
type Clients struct {
	*actorstest.Host
	T          *testing.T
	Store      *actorstest.Store
	Collectors *apps.Collectors
	Shares     *apps.Shares
	Identity   *identity.Identity
	Apps       *apps.Applications
	Replays    *identity.Replays
	// Refuse, if set, returns the error of a call that must not reach an actor.
	Refuse func(call *protos.Call) error

	mu      sync.Mutex
	numbers map[string]int
	bytes   uint64
}

// WithClients runs a test of the clients under virtual time.
func WithClients(t *testing.T, limits identity.Limits, test func(t *testing.T, c *Clients)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &Clients{T: t, Store: actorstest.NewStore(), Collectors: apps.NewCollectors(), Shares: apps.NewShares(), numbers: map[string]int{}}
		node := &grain.Node{Store: c.Store, Workers: grain.NewWorkers(), Now: Clock, Logger: slog.New(slog.DiscardHandler)}
		c.Host = actorstest.NewHost(t, append(identity.Kinds(node, limits), apps.Kinds(node, c.Collectors, c.Shares)...)...)
		random := grain.Random{ID: c.id, Bytes: c.random}
		c.Identity = &identity.Identity{Actors: c, Random: random, Now: Clock}
		c.Apps = &apps.Applications{Actors: c, Random: random, Now: Clock}
		c.Replays = &identity.Replays{Actors: c}
		test(t, c)
	})
}

// Clock is the virtual clock of a test, in the form of times that were decoded from JSON.
func Clock() time.Time { return time.Now().UTC().Round(0) } //nolint:forbidigo // the clock is that of a synctest bubble

// Call implements the caller of the clients.
func (c *Clients) Call(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
	if c.Refuse != nil {
		if err := c.Refuse(call); err != nil {
			return nil, err
		}
	}
	return c.Host.Call(ctx, call)
}

// id returns ids that count for each prefix.
func (c *Clients) id(prefix string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers[prefix]++
	return fmt.Sprintf("%s%d", prefix, c.numbers[prefix])
}

// random returns bytes that count.
func (c *Clients) random(n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes++
	out := make([]byte, max(n, 8))
	binary.LittleEndian.PutUint64(out, c.bytes<<16)
	return out[:n]
}

// User returns the user of an e-mail address, and makes it if necessary.
func (c *Clients) User(email, name string) domain.User {
	c.T.Helper()
	user, err := c.Identity.User(c.T.Context(), email, name)
	NoError(c.T, err)
	return user
}

// Organization makes an organization with its owner.
func (c *Clients) Organization(name string, owner domain.User) domain.Organization {
	c.T.Helper()
	org, err := c.Identity.CreateOrganization(c.T.Context(), owner, domain.OrgSpec{Name: name})
	NoError(c.T, err)
	return org
}

// Seat seats a user in acme.
func (c *Clients) Seat(user domain.User, role domain.Role) {
	c.T.Helper()
	_, err := c.Identity.PutMember(c.T.Context(), "acme", domain.RoleOwner, domain.MemberSpec{Email: user.Email, Role: role})
	NoError(c.T, err)
}

// Mint makes a token and returns it with its secret.
func (c *Clients) Mint(owner domain.TokenOwner, scopes ...domain.Scope) (domain.Token, string) {
	c.T.Helper()
	token, secret, err := c.Identity.MintToken(c.T.Context(), owner, domain.TokenSpec{Name: "ci", Scopes: scopes})
	NoError(c.T, err)
	return token, secret.Reveal()
}

// Authorize authorizes a route without a class, to which no limit applies.
func (c *Clients) Authorize(secret, org string) (domain.Grant, error) {
	grant, _, err := c.Identity.Authorize(c.T.Context(), secret, domain.RateNone, org)
	return grant, err
}

// NoError ends a test if a call failed.
func NoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantError checks that a call failed with an error, or succeeded if want is nil.
func WantError(t *testing.T, what string, got error, want *domain.Error) {
	t.Helper()
	if !actorstest.SameError(got, want) {
		t.Errorf("%s fails with %#v, want %#v", what, got, want)
	}
}

// WantEqual compares two values in depth.
func WantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%+v, want\n%+v", what, got, want)
	}
}

// App makes an application of acme.
func (c *Clients) App(name string) domain.Application {
	c.T.Helper()
	app, err := c.Apps.Create(c.T.Context(), "acme", domain.AppSpec{Name: name})
	NoError(c.T, err)
	return app
}
