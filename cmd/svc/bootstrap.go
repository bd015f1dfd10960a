package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"svc"
	"svc/actors/identity"
	"svc/cmd/svc/integrity"
	"svc/http/admin"
	"svc/storage/datadir"
)

// What the first start makes (decisions, section P).
const (
	firstOrg   = "acme"
	firstApp   = "web"
	firstOwner = "owner@acme.example"
)

// bootstrap holds the secrets that the first start shows once.
type bootstrap struct {
	Organization string                   `json:"organization"`
	App          string                   `json:"app"`
	Token        string                   `json:"token"`
	Keys         map[string]bootstrapKeys `json:"keys"`
	URL          string                   `json:"url"`
	// Console is the link that signs the owner in once.
	Console string `json:"console"`
}

type bootstrapKeys struct {
	Public string `json:"public"`
	Secret string `json:"secret"`
}

// greetPause and greetLongPause bound the time between two attempts at it.
const (
	greetPause     = 500 * time.Millisecond
	greetLongPause = 10 * time.Second
)

// greet waits for the listener, performs the first start if this is one, and prints how to
// go on. The node is ready once that is done.
func (n *node) greet(ctx context.Context, stdout io.Writer) error {
	select {
	case n.publicAddr = <-n.public.Bound():
	case <-ctx.Done():
		return nil
	}
	made, err := n.firstStart(ctx, stdout)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a stop is no failure
	}
	if err != nil {
		return fmt.Errorf("preparing the first start: %w", err)
	}
	n.logger.Info("serving", "url", n.url(), "admin", "http://"+n.operatorAddr.String())
	if !made {
		fmt.Fprintf(stdout, "svc serves %s (operator: http://%s)\n", n.url(), n.operatorAddr)
	}
	n.start.finish()
	return nil
}

// firstStart makes and shows what a first start makes. It tries again for as long as the
// store is away or parts of the group have no owner.
func (n *node) firstStart(ctx context.Context, stdout io.Writer) (made bool, err error) {
	const doing = "looking whether this is the first start"
	n.start.note(doing, nil)
	for pause := greetPause; ; pause = min(2*pause, greetLongPause) {
		made, err = n.bootstrap(ctx, stdout)
		if err == nil || svc.CodeOf(err) != svc.CodeUnavailable {
			return made, err
		}
		n.start.note(doing, err)
		n.logger.Warn("trying the first start again", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, err
		}
	}
}

// url returns how clients reach the service.
func (n *node) url() string {
	return n.config.URLAt(n.publicAddr.String())
}

// bootstrap makes the first organization with its owner, application and keys, and shows
// their secrets. That they were shown is noted in the store afterwards: a start that was cut
// short before is repeated, with new secrets in place of those that were never shown. It
// returns false where there was nothing to do; of several nodes that start together, one
// makes it, and the others wait until it is done.
func (n *node) bootstrap(ctx context.Context, stdout io.Writer) (made bool, err error) {
	facts, err := n.db.Facts(ctx)
	if _, shown := facts[integrity.FirstStartFact]; err != nil || shown {
		return false, err
	}
	const claimant, key = "svc", "first start"
	replays := &identity.Replays{Actors: n.cluster}
	done, err := replays.Begin(ctx, claimant, key, [32]byte{})
	switch {
	case svc.CodeOf(err) == svc.CodeConflict:
		return false, svc.Errorf(svc.CodeUnavailable, "Another node makes the first start, or was lost while it did; this one looks again.")
	case err != nil || len(done) > 0:
		return false, err
	}
	err = n.makeAndShow(ctx, stdout)
	var mark []byte
	if err == nil {
		mark = []byte("made")
	}
	return err == nil, errors.Join(err, replays.Finish(ctx, claimant, key, [32]byte{}, mark))
}

func (n *node) makeAndShow(ctx context.Context, stdout io.Writer) error {
	if err := n.checkBootstrapFile(); err != nil {
		return err
	}
	owner, err := n.identity.User(ctx, firstOwner, "Owner")
	if err != nil {
		return err
	}
	if err := n.dropUnseen(ctx, owner); err != nil {
		return err
	}
	made, err := n.makeFirst(ctx, owner)
	if err != nil {
		return err
	}
	if made.Console, err = n.setupLink(ctx, owner); err != nil {
		return err
	}
	if err := n.announce(stdout, *made); err != nil {
		return err
	}
	_, err = n.db.NoteFact(ctx, integrity.FirstStartFact, "shown")
	return err
}

// madeFirst names the token and the keys of the first start.
const madeFirst = "first start"

// dropUnseen revokes what an earlier attempt made and never showed.
func (n *node) dropUnseen(ctx context.Context, owner svc.User) error {
	tokens, err := n.identity.Tokens(ctx, svc.TokenOwner{User: owner})
	if err != nil {
		return err
	}
	for _, token := range tokens {
		if token.Name == madeFirst {
			if err := n.identity.RevokeToken(ctx, svc.TokenOwner{User: owner}, token.ID); err != nil {
				return err
			}
		}
	}
	ref := svc.AppRef{Org: firstOrg, App: firstApp}
	keys, err := n.apps.Keys(ctx, ref)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return nil // the attempt did not come so far
	}
	for _, key := range keys {
		if key.Label == madeFirst {
			err = errors.Join(err, n.apps.RevokeKey(ctx, ref, key.ID))
		}
	}
	return err
}

// makeFirst makes what a first start makes, and enters it into the ledger.
func (n *node) makeFirst(ctx context.Context, owner svc.User) (*bootstrap, error) {
	org, err := n.identity.CreateOrganization(ctx, owner, svc.OrgSpec{Name: "Acme", Slug: firstOrg})
	if err == nil {
		err = n.enterFirst(ctx, "organization.created", "", org.ID)
	}
	if err != nil && svc.CodeOf(err) != svc.CodeConflict {
		return nil, err
	}
	app, err := n.apps.Create(ctx, firstOrg, svc.AppSpec{Name: "Web", Slug: firstApp, Platform: "web", Modules: svc.Modules()})
	if err == nil {
		err = n.enterFirst(ctx, "app.created", firstApp, app.ID)
	}
	if err != nil && svc.CodeOf(err) != svc.CodeConflict {
		return nil, err
	}
	ref := svc.AppRef{Org: firstOrg, App: firstApp}
	if _, err := n.apps.Update(ctx, ref, svc.AppPatch{AllowedOrigins: &[]string{"*"}}, nil); err != nil {
		return nil, err
	}
	made := &bootstrap{Organization: firstOrg, App: firstApp, URL: n.url(), Keys: map[string]bootstrapKeys{}}
	for _, env := range svc.EnvironmentSlugs() {
		public, publicErr := n.mintFirst(ctx, ref, svc.KeyPublic, env)
		secret, secretErr := n.mintFirst(ctx, ref, svc.KeySecret, env)
		if err := errors.Join(publicErr, secretErr); err != nil {
			return nil, err
		}
		made.Keys[env] = bootstrapKeys{Public: public.Reveal(), Secret: secret.Reveal()}
	}
	token, secret, err := n.identity.MintToken(ctx, svc.TokenOwner{User: owner}, svc.TokenSpec{Name: madeFirst, Scopes: svc.Scopes()})
	if err != nil {
		return nil, err
	}
	made.Token = secret.Reveal()
	return made, n.enterFirst(ctx, "token.created", "", token.ID)
}

// mintFirst makes one of the first start's keys.
func (n *node) mintFirst(ctx context.Context, ref svc.AppRef, kind svc.KeyKind, env string) (svc.Secret, error) {
	key, secret, err := n.apps.MintKey(ctx, ref, svc.KeySpec{Kind: kind, Environment: env, Label: madeFirst})
	if err != nil {
		return "", err
	}
	return secret, n.enterFirst(ctx, "key.created", ref.App, key.ID)
}

// enterFirst tells the ledger of something that the first start has made.
func (n *node) enterFirst(ctx context.Context, kind svc.LedgerKind, app, subject string) error {
	return n.ledgers().Record(ctx, svc.LedgerEntry{
		At: n.now(), Org: firstOrg, App: app, Kind: kind, Actor: admin.OperatorActor(), Subject: subject, Metadata: []byte(`{"via":"first start"}`),
	})
}

// checkBootstrapFile fails where the bootstrap file could not be written, before anything is
// made whose secrets would be lost with it.
func (n *node) checkBootstrapFile() error {
	file := n.config.BootstrapFile
	if file == "" {
		return nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("SVC_BOOTSTRAP_FILE=%s is no regular file; nothing was made yet", file)
	}
	if err := os.WriteFile(file+".partial", nil, 0o600); err != nil {
		return fmt.Errorf("SVC_BOOTSTRAP_FILE=%s cannot be written, and nothing was made yet: %w", file, err)
	}
	return nil
}

// writeBootstrapFile replaces the bootstrap file as a whole, forced to disk.
func writeBootstrapFile(file string, made bootstrap) error {
	encoded, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the bootstrap file: %w", err)
	}
	if err := datadir.Replace(file, append(encoded, '\n')); err != nil {
		return fmt.Errorf("writing the bootstrap file: %w", err)
	}
	return nil
}

// announce writes the bootstrap file where one is asked for, and shows the
// first steps.
func (n *node) announce(stdout io.Writer, made bootstrap) error {
	if file := n.config.BootstrapFile; file != "" {
		if err := writeBootstrapFile(file, made); err != nil {
			return err
		}
	}
	key := made.Keys[svc.DefaultEnvironment]
	_, err := fmt.Fprintf(stdout, `svc serves %[1]s (operator: http://%[2]s)

Open %[10]s

First start: these secrets are shown once. The link above serves once, within 15 minutes.

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

`, made.URL, n.operatorAddr, made.Token, key.Public, key.Secret,
		made.Keys["staging"].Public, made.Keys["staging"].Secret, made.Keys["development"].Public, made.Keys["development"].Secret, made.Console)
	if err != nil {
		return fmt.Errorf("showing the secrets of the first start: %w", err)
	}
	return nil
}
