package apps

import (
	"context"
	"encoding/binary"
	"time"

	"svc"
	"svc/actors/grain"
	"svc/actors/identity"
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
func (a *Applications) changed(ctx context.Context, ref svc.AppRef, err error) error {
	if err != nil || a.Sync == nil {
		return err
	}
	_ = a.Sync(ctx, kindApplication, ref.String()) // see above
	return nil
}

// List returns applications of an organization by slug, and whether more follow.
func (a *Applications) List(ctx context.Context, org, after string, limit int) ([]svc.Application, bool, error) {
	slugs, more, err := a.slugs().List(ctx, org, after, limit)
	if err != nil {
		return nil, false, err
	}
	apps := make([]svc.Application, 0, len(slugs))
	for _, slug := range slugs {
		app, err := a.Get(ctx, svc.AppRef{Org: org, App: slug})
		if err != nil {
			return nil, false, err
		}
		apps = append(apps, app)
	}
	return apps, more, nil
}

// Get returns an application.
func (a *Applications) Get(ctx context.Context, ref svc.AppRef) (svc.Application, error) {
	app, _, err := a.Read(ctx, ref, "")
	return app, err
}

// Read returns an application and one part of it, or no part if part is empty. It asks the actor once.
func (a *Applications) Read(ctx context.Context, ref svc.AppRef, part svc.AppPart) (svc.Application, svc.AppParts, error) {
	read, err := ask(ctx, a, ref, applicationGet, getApp{Part: part})
	if err == nil && !read.Has(part) {
		// The actor lives on a node of an earlier version, which ignores the part.
		read.AppParts, err = a.part(ctx, ref, part)
	}
	return read.Whole(), read.AppParts, err
}

// part asks an application for one part by the method of that part.
func (a *Applications) part(ctx context.Context, ref svc.AppRef, part svc.AppPart) (parts svc.AppParts, err error) {
	switch part {
	case svc.AppGoals:
		parts.Goals, err = a.Goals(ctx, ref)
	case svc.AppFunnels:
		parts.Funnels, err = a.Funnels(ctx, ref)
	case svc.AppShare:
		var share svc.Share
		share, err = a.Share(ctx, ref)
		parts.Share = &share
	}
	return parts, err
}

// ask asks an application. If its creation was interrupted after its slug was reserved, ask completes the creation
// first.
func ask[M, R any](ctx context.Context, a *Applications, ref svc.AppRef, method grain.Method[M, R], message M) (answer R, err error) {
	answer, err = method.Ask(ctx, a.Actors, ref.String(), message)
	if err == nil || svc.CodeOf(err) != svc.CodeNotFound {
		return answer, err
	}
	reserved, reservedErr := a.slugs().Find(ctx, ref)
	switch {
	case reservedErr != nil && svc.CodeOf(reservedErr) == svc.CodeNotFound:
		return answer, err
	case reservedErr != nil:
		return answer, reservedErr
	}
	if _, err := a.finish(svc.WithCarrier(ctx, nil), ref, reserved); err != nil {
		return answer, err
	}
	return method.Ask(ctx, a.Actors, ref.String(), message)
}

// finish creates an application after its slug was reserved.
func (a *Applications) finish(ctx context.Context, ref svc.AppRef, record identity.AppRecord) (svc.Application, error) {
	created, err := applicationCreate.Ask(ctx, a.Actors, ref.String(), createApp{App: record})
	return created.Whole(), a.changed(ctx, ref, err)
}

// Create makes an application with its three environments.
func (a *Applications) Create(ctx context.Context, org string, spec svc.AppSpec) (svc.Application, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.Application{}, svc.Invalid(problems...)
	}
	ids := svc.AppIDs{App: a.Random.NewID(ctx, "app_")}
	shard := 0
	if a.Shard != nil {
		shard = a.Shard()
	}
	for n := range ids.Environments {
		ids.Environments[n] = a.Random.NewID(ctx, "env_")
		ids.Numbers[n] = svc.EnvironmentNumber(binary.LittleEndian.Uint64(a.Random.NewBytes(ctx, 8)), shard)
	}
	record, err := a.slugs().Reserve(svc.WithCarrier(ctx, nil), org, spec, ids)
	if err != nil {
		return svc.Application{}, err
	}
	return a.finish(ctx, svc.AppRef{Org: org, App: record.Slug}, record)
}

// Update changes settings. If ifMatch is set, it does so only for that revision.
func (a *Applications) Update(ctx context.Context, ref svc.AppRef, patch svc.AppPatch, ifMatch *uint64) (svc.Application, error) {
	record, err := ask(ctx, a, ref, applicationUpdate, updateApp{Patch: patch, IfMatch: ifMatch})
	return record.Whole(), a.changed(ctx, ref, err)
}

// Keys lists the live ingest keys of an application, the newest first.
func (a *Applications) Keys(ctx context.Context, ref svc.AppRef) ([]svc.IngestKey, error) {
	records, err := ask(ctx, a, ref, applicationKeys, grain.None{})
	keys := make([]svc.IngestKey, 0, len(records))
	for _, record := range records {
		keys = append(keys, record.key())
	}
	return keys, err
}

// MintKey makes an ingest key; the key itself is returned only this time. It works when MintKey returns.
func (a *Applications) MintKey(ctx context.Context, ref svc.AppRef, spec svc.KeySpec) (svc.IngestKey, svc.Secret, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.IngestKey{}, "", svc.Invalid(problems...)
	}
	prefix := svc.KeyPrefix(spec.Kind, spec.Environment)
	secret := svc.MintSecret(prefix+"_", a.Random.NewBytes(ctx, 32))
	clear := secret.Reveal()
	key := svc.IngestKey{
		ID: a.Random.NewID(ctx, "key_"), Kind: spec.Kind, Environment: spec.Environment, Label: spec.Label,
		Prefix: prefix, Last4: clear[len(clear)-4:], CreatedAt: a.Now(),
	}
	record := keyRecord{IngestKey: key, Hash: svc.HashSecretHex(clear)}
	stored, err := ask(ctx, a, ref, applicationMintKey, mintKey{Key: record})
	if err := a.changed(ctx, ref, err); err != nil {
		return svc.IngestKey{}, "", err
	}
	return stored.key(), secret, nil
}

// RevokeKey ends an ingest key: the next request with it is refused.
func (a *Applications) RevokeKey(ctx context.Context, ref svc.AppRef, id string) error {
	_, err := ask(ctx, a, ref, applicationRevokeKey, revokeKey{ID: id})
	return a.changed(ctx, ref, err)
}
