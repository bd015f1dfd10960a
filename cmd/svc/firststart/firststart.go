// Package firststart creates the initial objects of a server: an organization with its owner, an application, keys and
// an access token. Their secrets are shown once.
package firststart

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"svc/actors/apps"
	"svc/actors/identity"
	"svc/cmd/svc/integrity"
	"svc/domain"
	"svc/http/admin"
	"svc/storage/datadir"
)

// The objects of the first start.
const (
	Org   = "acme"
	App   = "web"
	Owner = "owner@acme.example"
)

// FirstStart is the first start of a node, or of several that start together.
type FirstStart struct {
	Store        Facts
	Identity     *identity.Identity
	Applications *apps.Applications
	Replays      *identity.Replays
	Ledger       Ledger
	// SetupLink creates the link that signs the owner in to the console.
	SetupLink func(ctx context.Context, owner domain.User) (string, error)
	// URL is the base URL of the service for clients, and Operator the address of the operator's listener.
	URL, Operator string
	// File receives the secrets as JSON if it is set.
	File string
	Now  func() time.Time
}

// Facts are the store's facts about the whole service.
type Facts interface {
	Facts(ctx context.Context) (map[string]string, error)
	NoteFact(ctx context.Context, name, value string) (string, error)
}

// Ledger records the created objects.
type Ledger interface {
	Record(ctx context.Context, entry domain.LedgerEntry) error
}

// Secrets are the secrets that the first start shows once, in the form of the bootstrap file.
type Secrets struct {
	Organization string          `json:"organization"`
	App          string          `json:"app"`
	Token        string          `json:"token"`
	Keys         map[string]Keys `json:"keys"`
	URL          string          `json:"url"`
	// Console is the link that signs the owner in once.
	Console string `json:"console"`
}

// Keys are the keys of one environment.
type Keys struct {
	Public string `json:"public"`
	Secret string `json:"secret"`
}

// Run creates the first organization with its owner, application and keys, and shows their secrets. Afterwards it
// records in the store that they were shown. A start that was interrupted before is repeated, with new secrets in place
// of the unseen ones. Run returns false if there was nothing to do. If several nodes start together, one does it, and
// the others wait until it is done.
func (f *FirstStart) Run(ctx context.Context, stdout io.Writer) (made bool, err error) {
	facts, err := f.Store.Facts(ctx)
	if _, shown := facts[integrity.FirstStartFact]; err != nil || shown {
		return false, err
	}
	const claimant, key = "svc", "first start"
	done, err := f.Replays.Begin(ctx, claimant, key, [32]byte{})
	switch {
	case domain.CodeOf(err) == domain.CodeConflict:
		return false, domain.Errorf(domain.CodeUnavailable, "Another node makes the first start, or was lost while it did; this one looks again.")
	case err != nil || done.Sealed != nil:
		return false, err
	}
	err = f.makeAndShow(ctx, stdout)
	var mark []byte
	if err == nil {
		mark = []byte("made")
	}
	return err == nil, errors.Join(err, f.Replays.Finish(ctx, claimant, key, [32]byte{}, mark))
}

func (f *FirstStart) makeAndShow(ctx context.Context, stdout io.Writer) error {
	if err := f.checkBootstrapFile(); err != nil {
		return err
	}
	owner, err := f.Identity.User(ctx, Owner, "Owner")
	if err != nil {
		return err
	}
	if err := f.dropUnseen(ctx, owner); err != nil {
		return err
	}
	made, err := f.makeFirst(ctx, owner)
	if err != nil {
		return err
	}
	if made.Console, err = f.SetupLink(ctx, owner); err != nil {
		return err
	}
	if err := f.announce(stdout, *made); err != nil {
		return err
	}
	_, err = f.Store.NoteFact(ctx, integrity.FirstStartFact, "shown")
	return err
}

// label is the name of the token and the keys of the first start.
const label = "first start"

// dropUnseen revokes the secrets that an earlier attempt created and never showed.
func (f *FirstStart) dropUnseen(ctx context.Context, owner domain.User) error {
	tokens, err := f.Identity.Tokens(ctx, domain.TokenOwner{User: owner})
	if err != nil {
		return err
	}
	for _, token := range tokens {
		if token.Name == label {
			if err := f.Identity.RevokeToken(ctx, domain.TokenOwner{User: owner}, token.ID); err != nil {
				return err
			}
		}
	}
	ref := domain.AppRef{Org: Org, App: App}
	keys, err := f.Applications.Keys(ctx, ref)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil // the attempt did not get that far
	}
	for _, key := range keys {
		if key.Label == label {
			err = errors.Join(err, f.Applications.RevokeKey(ctx, ref, key.ID))
		}
	}
	return err
}

// makeFirst creates the objects of a first start, and records them in the ledger.
func (f *FirstStart) makeFirst(ctx context.Context, owner domain.User) (*Secrets, error) {
	_, err := entered(ctx, f, "organization.created", "", func(ctx context.Context) (domain.Organization, error) {
		return f.Identity.CreateOrganization(ctx, owner, domain.OrgSpec{Name: "Acme", Slug: Org})
	}, func(org domain.Organization) string { return org.ID })
	if err != nil && domain.CodeOf(err) != domain.CodeConflict {
		return nil, err
	}
	_, err = entered(ctx, f, "app.created", App, func(ctx context.Context) (domain.Application, error) {
		return f.Applications.Create(ctx, Org, domain.AppSpec{Name: "Web", Slug: App, Platform: "web", Modules: domain.Modules()})
	}, func(app domain.Application) string { return app.ID })
	if err != nil && domain.CodeOf(err) != domain.CodeConflict {
		return nil, err
	}
	ref := domain.AppRef{Org: Org, App: App}
	if _, err := f.Applications.Update(ctx, ref, domain.AppPatch{AllowedOrigins: &[]string{"*"}}, nil); err != nil {
		return nil, err
	}
	made := &Secrets{Organization: Org, App: App, URL: f.URL, Keys: map[string]Keys{}}
	for _, env := range domain.EnvironmentSlugs() {
		public, publicErr := f.mintFirst(ctx, ref, domain.KeyPublic, env)
		secret, secretErr := f.mintFirst(ctx, ref, domain.KeySecret, env)
		if err := errors.Join(publicErr, secretErr); err != nil {
			return nil, err
		}
		made.Keys[env] = Keys{Public: public.Reveal(), Secret: secret.Reveal()}
	}
	_, err = entered(ctx, f, "token.created", "", func(ctx context.Context) (token domain.Token, err error) {
		var secret domain.Secret
		token, secret, err = f.Identity.MintToken(ctx, domain.TokenOwner{User: owner}, domain.TokenSpec{Name: label, Scopes: domain.Scopes()})
		made.Token = secret.Reveal()
		return token, err
	}, func(token domain.Token) string { return token.ID })
	return made, err
}

// mintFirst creates one of the first start's keys.
func (f *FirstStart) mintFirst(ctx context.Context, ref domain.AppRef, kind domain.KeyKind, env string) (domain.Secret, error) {
	var secret domain.Secret
	_, err := entered(ctx, f, "key.created", ref.App, func(ctx context.Context) (key domain.IngestKey, err error) {
		key, secret, err = f.Applications.MintKey(ctx, ref, domain.KeySpec{Kind: kind, Environment: env, Label: label})
		return key, err
	}, func(key domain.IngestKey) string { return key.ID })
	return secret, err
}

// entered creates an object. Its first saved change carries a ledger entry, in the same write.
func entered[T any](ctx context.Context, f *FirstStart, kind domain.LedgerKind, app string, make func(ctx context.Context) (T, error), idOf func(T) string) (T, error) {
	entry := domain.LedgerEntry{
		At: f.Now(), Org: Org, App: app, Kind: kind, Actor: admin.OperatorActor(), Metadata: []byte(`{"via":"first start"}`),
	}
	trail := domain.Trail{ID: rand.Text(), Entries: []domain.LedgerEntry{entry}}
	carrier := domain.NewCarrier(func() (domain.Trail, bool) { return trail, true })
	made, err := make(domain.WithCarrier(ctx, carrier))
	if err != nil || carrier.Left() || carrier.Needless() {
		return made, err
	}
	entry.Subject = idOf(made)
	return made, f.Ledger.Record(ctx, entry)
}

// checkBootstrapFile fails if the bootstrap file could not be written. It runs before anything is created, because the
// secrets would be lost with the file.
func (f *FirstStart) checkBootstrapFile() error {
	file := f.File
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

// writeBootstrapFile replaces the bootstrap file atomically and syncs it to disk.
func writeBootstrapFile(file string, made Secrets) error {
	encoded, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the bootstrap file: %w", err)
	}
	if err := datadir.Replace(file, append(encoded, '\n')); err != nil {
		return fmt.Errorf("writing the bootstrap file: %w", err)
	}
	return nil
}

// announce writes the bootstrap file if one is requested, and shows the first steps.
func (f *FirstStart) announce(stdout io.Writer, made Secrets) error {
	if file := f.File; file != "" {
		if err := writeBootstrapFile(file, made); err != nil {
			return err
		}
	}
	key := made.Keys[domain.DefaultEnvironment]
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

`, made.URL, f.Operator, made.Token, key.Public, key.Secret,
		made.Keys["staging"].Public, made.Keys["staging"].Secret, made.Keys["development"].Public, made.Keys["development"].Secret, made.Console)
	if err != nil {
		return fmt.Errorf("showing the secrets of the first start: %w", err)
	}
	return nil
}
