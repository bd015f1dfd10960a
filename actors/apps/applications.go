package apps

import (
	"context"
	"encoding/binary"
	"time"

	"svc/actors/grain"
	"svc/actors/identity"
	"svc/domain"
	"svc/domain/share"
)

// Applications is the client of the application actors and of the organizations that own their slugs.
type Applications struct {
	Actors grain.Caller
	Random grain.Random
	Now    func() time.Time
	// Sync publishes a change on this node before it is answered, if the owner is another node; nil if there are no
	// other nodes.
	Sync func(ctx context.Context, kind, identity string) error
	// ExclusionKey makes the hashes of the addresses with excluded traffic.
	ExclusionKey []byte
	// Shard returns the shard on which the environments of a new application live; nil is shard 0.
	Shard func() int
}

// slugs returns the client of the organizations.
func (a *Applications) slugs() identity.Slugs { return identity.Slugs{Actors: a.Actors} }

// changed returns the error of a change once this node's snapshot has the change. A change that does not arrive in time
// is on its way: it was announced.
func (a *Applications) changed(ctx context.Context, ref domain.AppRef, err error) error {
	if err != nil || a.Sync == nil {
		return err
	}
	_ = a.Sync(ctx, kindApplication, ref.String()) // see above
	return nil
}

// List returns applications of an organization by slug, and whether more follow.
func (a *Applications) List(ctx context.Context, org, after string, limit int) ([]domain.Application, bool, error) {
	slugs, more, err := a.slugs().List(ctx, org, after, limit)
	if err != nil {
		return nil, false, err
	}
	apps := make([]domain.Application, 0, len(slugs))
	for _, slug := range slugs {
		app, err := a.Get(ctx, domain.AppRef{Org: org, App: slug})
		if err != nil {
			return nil, false, err
		}
		apps = append(apps, app)
	}
	return apps, more, nil
}

// Get returns an application.
func (a *Applications) Get(ctx context.Context, ref domain.AppRef) (domain.Application, error) {
	app, _, err := a.Read(ctx, ref, "")
	return app, err
}

// Read returns an application and one part of it, or no part if part is empty. It asks the actor once.
func (a *Applications) Read(ctx context.Context, ref domain.AppRef, part share.AppPart) (domain.Application, share.AppParts, error) {
	read, err := ask(ctx, a, ref, applicationGet, getApp{Part: part})
	if err == nil && !read.Has(part) {
		// The actor lives on a node of an earlier version, which ignores the part.
		read.AppParts, err = a.part(ctx, ref, part)
	}
	return read.Whole(), read.AppParts, err
}

// part asks an application for one part by the method of that part.
func (a *Applications) part(ctx context.Context, ref domain.AppRef, part share.AppPart) (parts share.AppParts, err error) {
	switch part {
	case share.AppGoals:
		parts.Goals, err = a.Goals(ctx, ref)
	case share.AppFunnels:
		parts.Funnels, err = a.Funnels(ctx, ref)
	case share.AppShare:
		var share share.Share
		share, err = a.Share(ctx, ref)
		parts.Share = &share
	}
	return parts, err
}

// ask asks an application. If its creation was interrupted after its slug was reserved, ask completes the creation
// first.
func ask[M, R any](ctx context.Context, a *Applications, ref domain.AppRef, method grain.Method[M, R], message M) (answer R, err error) {
	answer, err = method.Ask(ctx, a.Actors, ref.String(), message)
	if err == nil || domain.CodeOf(err) != domain.CodeNotFound {
		return answer, err
	}
	reserved, reservedErr := a.slugs().Find(ctx, ref)
	switch {
	case reservedErr != nil && domain.CodeOf(reservedErr) == domain.CodeNotFound:
		return answer, err
	case reservedErr != nil:
		return answer, reservedErr
	}
	if _, err := a.finish(domain.WithCarrier(ctx, nil), ref, reserved); err != nil {
		return answer, err
	}
	return method.Ask(ctx, a.Actors, ref.String(), message)
}

// finish creates an application after its slug was reserved.
func (a *Applications) finish(ctx context.Context, ref domain.AppRef, record identity.AppRecord) (domain.Application, error) {
	created, err := applicationCreate.Ask(ctx, a.Actors, ref.String(), createApp{App: record})
	return created.Whole(), a.changed(ctx, ref, err)
}

// Create makes an application with its three environments.
func (a *Applications) Create(ctx context.Context, org string, spec domain.AppSpec) (domain.Application, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return domain.Application{}, domain.Invalid(problems...)
	}
	ids := domain.AppIDs{App: a.Random.NewID(ctx, "app_")}
	shard := 0
	if a.Shard != nil {
		shard = a.Shard()
	}
	for n := range ids.Environments {
		ids.Environments[n] = a.Random.NewID(ctx, "env_")
		ids.Numbers[n] = domain.EnvironmentNumber(binary.LittleEndian.Uint64(a.Random.NewBytes(ctx, 8)), shard)
	}
	record, err := a.slugs().Reserve(domain.WithCarrier(ctx, nil), org, spec, ids)
	if err != nil {
		return domain.Application{}, err
	}
	return a.finish(ctx, domain.AppRef{Org: org, App: record.Slug}, record)
}

// Update changes settings. If ifMatch is set, it does so only for that revision.
func (a *Applications) Update(ctx context.Context, ref domain.AppRef, patch domain.AppPatch, ifMatch *uint64) (domain.Application, error) {
	record, err := ask(ctx, a, ref, applicationUpdate, updateApp{Patch: patch, IfMatch: ifMatch})
	return record.Whole(), a.changed(ctx, ref, err)
}

// Keys lists the live ingest keys of an application, the newest first.
func (a *Applications) Keys(ctx context.Context, ref domain.AppRef) ([]domain.IngestKey, error) {
	records, err := ask(ctx, a, ref, applicationKeys, grain.None{})
	keys := make([]domain.IngestKey, 0, len(records))
	for _, record := range records {
		keys = append(keys, record.key())
	}
	return keys, err
}

// MintKey makes an ingest key; the key itself is returned only this time. It works when MintKey returns.
func (a *Applications) MintKey(ctx context.Context, ref domain.AppRef, spec domain.KeySpec) (domain.IngestKey, domain.Secret, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return domain.IngestKey{}, "", domain.Invalid(problems...)
	}
	prefix := domain.KeyPrefix(spec.Kind, spec.Environment)
	secret := domain.MintSecret(prefix+"_", a.Random.NewBytes(ctx, 32))
	clear := secret.Reveal()
	key := domain.IngestKey{
		ID: a.Random.NewID(ctx, "key_"), Kind: spec.Kind, Environment: spec.Environment, Label: spec.Label,
		Prefix: prefix, Last4: clear[len(clear)-4:], CreatedAt: a.Now(),
	}
	record := keyRecord{IngestKey: key, Hash: domain.HashSecretHex(clear)}
	stored, err := ask(ctx, a, ref, applicationMintKey, mintKey{Key: record})
	if err := a.changed(ctx, ref, err); err != nil {
		return domain.IngestKey{}, "", err
	}
	return stored.key(), secret, nil
}

// RevokeKey ends an ingest key: the next request with it is refused.
func (a *Applications) RevokeKey(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := ask(ctx, a, ref, applicationRevokeKey, revokeKey{ID: id})
	return a.changed(ctx, ref, err)
}
