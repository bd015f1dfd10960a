package actors

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

	"svc"
	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/protos"
)

// clients are the clients of a node of its own.
type clients struct {
	*actorstest.Host
	t          *testing.T
	store      *actorstest.Store
	collectors *Collectors
	shares     *Shares
	identity   *Identity
	apps       *Applications
	replays    *Replays
	// refuse, where set, says which calls fail instead of reaching an actor.
	refuse func(call *protos.Call) error

	mu      sync.Mutex
	numbers map[string]int
	bytes   uint64
}

// withClients runs a test of the clients under virtual time.
func withClients(t *testing.T, limits Limits, test func(t *testing.T, c *clients)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &clients{t: t, store: actorstest.NewStore(), collectors: NewCollectors(), shares: NewShares(), numbers: map[string]int{}}
		c.Host = actorstest.NewHost(t, Kinds(Deps{
			Store: c.store, Collectors: c.collectors, Shares: c.shares, Limits: limits, Now: clock, Logger: slog.New(slog.DiscardHandler),
		})...)
		random := grain.Random{ID: c.id, Bytes: c.random}
		c.identity = &Identity{Actors: c, Random: random, Now: clock}
		c.apps = &Applications{Actors: c, Random: random, Now: clock}
		c.replays = &Replays{Actors: c}
		test(t, c)
	})
}

// clock is the bubble's, in the form in which times come back from JSON.
func clock() time.Time { return time.Now().UTC().Round(0) }

// Call is the caller of the clients.
func (c *clients) Call(ctx context.Context, call *protos.Call) (*protos.Answer, error) {
	if c.refuse != nil {
		if err := c.refuse(call); err != nil {
			return nil, err
		}
	}
	return c.Host.Call(ctx, call)
}

// id counts the ids of each prefix.
func (c *clients) id(prefix string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers[prefix]++
	return fmt.Sprintf("%s%d", prefix, c.numbers[prefix])
}

// random returns bytes that count.
func (c *clients) random(n int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes++
	out := make([]byte, max(n, 8))
	binary.LittleEndian.PutUint64(out, c.bytes<<16)
	return out[:n]
}

func (c *clients) user(email, name string) svc.User {
	c.t.Helper()
	user, err := c.identity.User(c.t.Context(), email, name)
	noError(c.t, err)
	return user
}

// organization makes an organization with its owner.
func (c *clients) organization(name string, owner svc.User) svc.Organization {
	c.t.Helper()
	org, err := c.identity.CreateOrganization(c.t.Context(), owner, svc.OrgSpec{Name: name})
	noError(c.t, err)
	return org
}

// seat seats a user in acme.
func (c *clients) seat(user svc.User, role svc.Role) {
	c.t.Helper()
	_, err := c.identity.PutMember(c.t.Context(), "acme", svc.RoleOwner, svc.MemberSpec{Email: user.Email, Role: role})
	noError(c.t, err)
}

func (c *clients) mint(owner svc.TokenOwner, scopes ...svc.Scope) (svc.Token, string) {
	c.t.Helper()
	token, secret, err := c.identity.MintToken(c.t.Context(), owner, svc.TokenSpec{Name: "ci", Scopes: scopes})
	noError(c.t, err)
	return token, secret.Reveal()
}

// authorize asks for a route of no class, which no limit governs.
func (c *clients) authorize(secret, org string) (svc.Grant, error) {
	grant, _, err := c.identity.Authorize(c.t.Context(), secret, svc.RateNone, org)
	return grant, err
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t *testing.T, what string, got error, want *svc.Error) {
	t.Helper()
	if !actorstest.SameError(got, want) {
		t.Errorf("%s fails with %#v, want %#v", what, got, want)
	}
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is\n%+v, want\n%+v", what, got, want)
	}
}

// app makes an application of acme.
func (c *clients) app(name string) svc.Application {
	c.t.Helper()
	app, err := c.apps.Create(c.t.Context(), "acme", svc.AppSpec{Name: name})
	noError(c.t, err)
	return app
}
