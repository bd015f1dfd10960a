package actors

import (
	"context"
	"encoding/binary"
	"time"

	"svc"
)

// Applications is the client of the application actors and of the organizations
// that know their slugs.
type Applications struct {
	Actors caller
	Chance Chance
	Now    func() time.Time
	// Sync makes a change known to this node before it is answered, where the
	// owner is another one; nil where there are no others.
	Sync func(ctx context.Context, kind, identity string) error
}

// changed is the answer to a change, once this node's snapshot has it. A change
// that is not here in time is on its way: it was announced.
func (a *Applications) changed(ctx context.Context, ref svc.AppRef, err error) error {
	if err != nil || a.Sync == nil {
		return err
	}
	_ = a.Sync(ctx, kindApplication, ref.String()) // see above
	return nil
}

// List returns applications of an organization by slug, and whether more follow.
func (a *Applications) List(ctx context.Context, org, after string, limit int) ([]svc.Application, bool, error) {
	list, err := ask[appList](ctx, a.Actors, kindOrganization, org, "apps", listApps{After: after, Limit: limit})
	if err != nil {
		return nil, false, err
	}
	apps := make([]svc.Application, 0, len(list.Apps))
	for _, record := range list.Apps {
		app, err := a.Get(ctx, svc.AppRef{Org: org, App: record.Slug})
		if err != nil {
			return nil, false, err
		}
		apps = append(apps, app)
	}
	return apps, list.More, nil
}

// Get returns an application. One whose creation was cut short after its slug
// was taken is completed here.
func (a *Applications) Get(ctx context.Context, ref svc.AppRef) (svc.Application, error) {
	record, err := ask[appRecord](ctx, a.Actors, kindApplication, ref.String(), "get", none{})
	if svc.CodeOf(err) != svc.CodeNotFound || err == nil {
		return record.application(), err
	}
	reserved, reservedErr := ask[appRecord](ctx, a.Actors, kindOrganization, ref.Org, "app.find", findApp{Slug: ref.App})
	if reservedErr != nil {
		if svc.CodeOf(reservedErr) == svc.CodeNotFound {
			return svc.Application{}, svc.NotFound("application")
		}
		return svc.Application{}, reservedErr
	}
	return a.finish(ctx, ref, reserved)
}

func (a *Applications) finish(ctx context.Context, ref svc.AppRef, record appRecord) (svc.Application, error) {
	created, err := ask[appRecord](ctx, a.Actors, kindApplication, ref.String(), "create", createApp{App: record})
	return created.application(), a.changed(ctx, ref, err)
}

// Create makes an application with its three environments.
func (a *Applications) Create(ctx context.Context, org string, spec svc.AppSpec) (svc.Application, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.Application{}, svc.Invalid(problems...)
	}
	ids := svc.AppIDs{App: a.Chance.ID("app_")}
	for n := range ids.Environments {
		ids.Environments[n] = a.Chance.ID("env_")
		// 53 bits, so that every JSON reader keeps the number exactly.
		ids.Numbers[n] = binary.LittleEndian.Uint64(a.Chance.Bytes(8))>>11 | 1
	}
	record, err := ask[appRecord](ctx, a.Actors, kindOrganization, org, "app.reserve", reserveApp{Spec: spec, IDs: ids})
	if err != nil {
		return svc.Application{}, err
	}
	return a.finish(ctx, svc.AppRef{Org: org, App: record.Slug}, record)
}

// Update changes settings; with ifMatch only where the revision is that one.
func (a *Applications) Update(ctx context.Context, ref svc.AppRef, patch svc.AppPatch, ifMatch *uint64) (svc.Application, error) {
	if _, err := a.Get(ctx, ref); err != nil {
		return svc.Application{}, err
	}
	record, err := ask[appRecord](ctx, a.Actors, kindApplication, ref.String(), "update", updateApp{Patch: patch, IfMatch: ifMatch})
	return record.application(), a.changed(ctx, ref, err)
}

// Keys lists the live ingest keys of an application, the newest first.
func (a *Applications) Keys(ctx context.Context, ref svc.AppRef) ([]svc.IngestKey, error) {
	if _, err := a.Get(ctx, ref); err != nil {
		return nil, err
	}
	records, err := ask[[]keyRecord](ctx, a.Actors, kindApplication, ref.String(), "keys", none{})
	keys := make([]svc.IngestKey, 0, len(records))
	for _, record := range records {
		keys = append(keys, record.key())
	}
	return keys, err
}

// MintKey makes an ingest key; the key itself is returned this once. It works
// when MintKey returns.
func (a *Applications) MintKey(ctx context.Context, ref svc.AppRef, spec svc.KeySpec) (svc.IngestKey, svc.Secret, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.IngestKey{}, "", svc.Invalid(problems...)
	}
	if _, err := a.Get(ctx, ref); err != nil {
		return svc.IngestKey{}, "", err
	}
	prefix := svc.KeyPrefix(spec.Kind, spec.Environment)
	secret := svc.MintSecret(prefix+"_", a.Chance.Bytes(32))
	clear := secret.Reveal()
	key := svc.IngestKey{
		ID: a.Chance.ID("key_"), Kind: spec.Kind, Environment: spec.Environment, Label: spec.Label,
		Prefix: prefix, Last4: clear[len(clear)-4:], CreatedAt: a.Now(),
	}
	record := keyRecord{IngestKey: key, Hash: svc.HashSecretHex(clear)}
	stored, err := ask[keyRecord](ctx, a.Actors, kindApplication, ref.String(), "key.mint", mintKey{Key: record})
	if err := a.changed(ctx, ref, err); err != nil {
		return svc.IngestKey{}, "", err
	}
	return stored.key(), secret, nil
}

// RevokeKey ends an ingest key: the next request with it is refused.
func (a *Applications) RevokeKey(ctx context.Context, ref svc.AppRef, id string) error {
	if _, err := a.Get(ctx, ref); err != nil {
		return err
	}
	_, err := ask[none](ctx, a.Actors, kindApplication, ref.String(), "key.revoke", revokeKey{ID: id})
	return a.changed(ctx, ref, err)
}
