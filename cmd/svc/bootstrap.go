package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"svc"
	"svc/actors"
)

// What the first start makes (decisions, section P).
const (
	firstOrg   = "acme"
	firstApp   = "web"
	firstOwner = "owner@acme.example"
)

// bootstrap is what the first start shows once.
type bootstrap struct {
	Organization string                   `json:"organization"`
	App          string                   `json:"app"`
	Token        string                   `json:"token"`
	Keys         map[string]bootstrapKeys `json:"keys"`
	URL          string                   `json:"url"`
}

type bootstrapKeys struct {
	Public string `json:"public"`
	Secret string `json:"secret"`
}

// greetTime bounds the first start's work.
const greetTime = time.Minute

// greetPause is the time between two attempts at it.
const greetPause = 500 * time.Millisecond

// greet waits for the listener, makes what a first start makes, and says how to
// go on.
func (n *node) greet(ctx context.Context, stdout io.Writer) error {
	select {
	case n.publicAddr = <-n.public.Bound():
	case <-ctx.Done():
		return nil
	}
	var operator net.Addr
	select {
	case operator = <-n.operator.Bound():
	case <-ctx.Done():
		return nil
	}
	made, err := n.firstStart(ctx)
	if made == nil && ctx.Err() != nil {
		return nil //nolint:nilerr // a stop is no failure
	}
	if err != nil {
		return fmt.Errorf("preparing the first start: %w", err)
	}
	n.logger.Info("serving", "url", n.url(), "admin", "http://"+operator.String())
	if made == nil {
		fmt.Fprintf(stdout, "svc serves %s (operator: http://%s)\n", n.url(), operator)
		return nil
	}
	return n.announce(stdout, *made, operator)
}

// firstStart makes what a first start makes. It tries again while parts of the group
// have no owner: a node may join just when another was lost.
func (n *node) firstStart(ctx context.Context) (*bootstrap, error) {
	ctx, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	for {
		made, err := n.bootstrap(ctx)
		if err == nil || svc.CodeOf(err) != svc.CodeUnavailable {
			return made, err
		}
		n.logger.Warn("trying the first start again", "error", err)
		select {
		case <-time.After(greetPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// url returns how clients reach the service.
func (n *node) url() string {
	return n.config.urlAt(n.publicAddr.String())
}

// bootstrap makes the first organization with its owner, application and keys;
// nil where they are there already. Made in the order in which a start that was
// cut short can repeat it: the organization's token list says whether it ended.
func (n *node) bootstrap(ctx context.Context) (*bootstrap, error) {
	owner, err := n.identity.User(ctx, firstOwner, "Owner")
	if err != nil {
		return nil, err
	}
	tokens, err := n.identity.Tokens(ctx, svc.TokenOwner{User: owner})
	if err != nil {
		return nil, err
	}
	if len(tokens) > 0 {
		return nil, nil
	}
	// Of several nodes that start together, one makes it.
	const claimant, key = "svc", "first start"
	replays := &actors.Replays{Actors: n.cluster}
	done, err := replays.Begin(ctx, claimant, key, [32]byte{})
	switch {
	case err != nil && svc.CodeOf(err) == svc.CodeConflict, len(done) > 0:
		return nil, nil // the conflict says that another node makes it
	case err != nil:
		return nil, err
	}
	made, err := n.makeFirst(ctx, owner)
	var mark []byte
	if err == nil {
		mark = []byte("made")
	}
	return made, errors.Join(err, replays.Finish(ctx, claimant, key, [32]byte{}, mark))
}

// makeFirst makes what a first start makes.
func (n *node) makeFirst(ctx context.Context, owner svc.User) (*bootstrap, error) {
	if _, err := n.identity.CreateOrganization(ctx, owner, svc.OrgSpec{Name: "Acme", Slug: firstOrg}); err != nil && svc.CodeOf(err) != svc.CodeConflict {
		return nil, err
	}
	spec := svc.AppSpec{Name: "Web", Slug: firstApp, Platform: "web", Modules: svc.Modules()}
	if _, err := n.apps.Create(ctx, firstOrg, spec); err != nil && svc.CodeOf(err) != svc.CodeConflict {
		return nil, err
	}
	ref := svc.AppRef{Org: firstOrg, App: firstApp}
	if _, err := n.apps.Update(ctx, ref, svc.AppPatch{AllowedOrigins: &[]string{"*"}}, nil); err != nil {
		return nil, err
	}
	made := &bootstrap{Organization: firstOrg, App: firstApp, URL: n.url(), Keys: map[string]bootstrapKeys{}}
	for _, env := range svc.EnvironmentSlugs() {
		_, public, publicErr := n.apps.MintKey(ctx, ref, svc.KeySpec{Kind: svc.KeyPublic, Environment: env, Label: "first start"})
		_, secret, secretErr := n.apps.MintKey(ctx, ref, svc.KeySpec{Kind: svc.KeySecret, Environment: env, Label: "first start"})
		if err := errors.Join(publicErr, secretErr); err != nil {
			return nil, err
		}
		made.Keys[env] = bootstrapKeys{Public: public.Reveal(), Secret: secret.Reveal()}
	}
	_, token, err := n.identity.MintToken(ctx, svc.TokenOwner{User: owner}, svc.TokenSpec{Name: "first start", Scopes: svc.Scopes()})
	made.Token = token.Reveal()
	return made, err
}

// announce writes the bootstrap file where one is asked for, and shows the
// first steps.
func (n *node) announce(stdout io.Writer, made bootstrap, operator net.Addr) error {
	if file := n.config.BootstrapFile; file != "" {
		encoded, err := json.MarshalIndent(made, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the bootstrap file: %w", err)
		}
		if err := os.WriteFile(file+".partial", append(encoded, '\n'), 0o600); err != nil {
			return fmt.Errorf("writing the bootstrap file: %w", err)
		}
		if err := os.Rename(file+".partial", file); err != nil {
			return fmt.Errorf("writing the bootstrap file: %w", err)
		}
	}
	key := made.Keys[svc.DefaultEnvironment]
	fmt.Fprintf(stdout, `svc serves %[1]s (operator: http://%[2]s)

First start: these secrets are shown once.

  access token           %[3]s
  production, public     %[4]s
  production, secret     %[5]s
  staging, public        %[6]s
  staging, secret        %[7]s
  development, public    %[8]s
  development, secret    %[9]s

Send an event:

  curl -sS %[1]s/api/v1/events -H 'Authorization: Bearer %[4]s' -H 'Content-Type: application/json' -d '{"name":"page_view","distinctId":"me","url":"https://example.com/hello?utm_source=readme"}'

Ask for it:

  curl -sS '%[1]s/api/v1/apps/acme/web/events?limit=5' -H 'Authorization: Bearer %[3]s'
  curl -sS '%[1]s/api/v1/apps/acme/web/analytics/overview?range=24h' -H 'Authorization: Bearer %[3]s'

`, made.URL, operator, made.Token, key.Public, key.Secret,
		made.Keys["staging"].Public, made.Keys["staging"].Secret, made.Keys["development"].Public, made.Keys["development"].Secret)
	return nil
}
