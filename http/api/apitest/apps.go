package apitest

import (
	"context"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/share"
)

// List implements apps.Apps.
func (m *Memory) List(_ context.Context, org, after string, limit int) (page []domain.Application, more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, held := range m.apps {
		if ref.Org == org && ref.App > after {
			page = append(page, held.app)
		}
	}
	slices.SortFunc(page, func(a, b domain.Application) int { return strings.Compare(a.Slug, b.Slug) })
	return page[:min(limit, len(page))], len(page) > limit, nil
}

// Get implements apps.Apps.
func (m *Memory) Get(_ context.Context, ref domain.AppRef) (domain.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held := m.apps[ref]; held != nil {
		return held.app, nil
	}
	return domain.Application{}, domain.NotFound("application")
}

// Read implements route.Applications.
func (m *Memory) Read(ctx context.Context, ref domain.AppRef, part share.AppPart) (app domain.Application, parts share.AppParts, err error) {
	if app, err = m.Get(ctx, ref); err != nil {
		return app, parts, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch part {
	case share.AppGoals:
		parts.Goals = slices.Clone(m.apps[ref].goals)
	case share.AppFunnels:
		parts.Funnels = slices.Clone(m.apps[ref].funnels)
	case share.AppShare:
		parts.Share = &share.Share{}
	}
	return app, parts, nil
}

// Create implements apps.Apps.
func (m *Memory) Create(_ context.Context, org string, spec domain.AppSpec) (domain.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := func(slug string) bool { return m.apps[domain.AppRef{Org: org, App: slug}] != nil }
	slug := spec.Slug
	if slug == "" {
		slug = domain.DeriveSlug(spec.Name, taken)
	}
	if taken(slug) {
		return domain.Application{}, domain.Errorf(domain.CodeConflict, "The slug %q is already used in this organization.", slug)
	}
	ids := domain.AppIDs{App: m.newID("app")}
	for i := range ids.Environments {
		ids.Environments[i], ids.Numbers[i] = m.newID("env"), m.ids
	}
	held := &heldApp{app: domain.NewApplication(spec, slug, m.orgs[org].Organization, ids, m.now())}
	m.apps[held.app.Ref()] = held
	return held.app, nil
}

// Update implements apps.Apps.
func (m *Memory) Update(_ context.Context, ref domain.AppRef, patch domain.AppPatch, ifMatch *uint64) (domain.Application, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	if held == nil {
		return domain.Application{}, domain.NotFound("application")
	}
	if ifMatch != nil && *ifMatch != held.app.Revision {
		return domain.Application{}, domain.Errorf(domain.CodePrecondition, "The application has changed.")
	}
	_, err := held.app.Apply(patch, m.now())
	return held.app, err
}

// Delete implements apps.Apps.
func (m *Memory) Delete(_ context.Context, ref domain.AppRef) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.apps, ref)
	return nil
}

// Keys implements apps.Keys.
func (m *Memory) Keys(_ context.Context, ref domain.AppRef) ([]domain.IngestKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].keys), nil
}

// MintKey implements apps.Keys.
func (m *Memory) MintKey(_ context.Context, ref domain.AppRef, spec domain.KeySpec) (domain.IngestKey, domain.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	prefix := domain.KeyPrefix(spec.Kind, spec.Environment)
	secret := domain.MintSecret(prefix+"_", m.random())
	key := domain.IngestKey{
		ID: m.newID("key"), Kind: spec.Kind, Environment: spec.Environment, Label: spec.Label, Prefix: prefix,
		Last4: secret.Reveal()[len(secret)-4:], CreatedAt: m.now(),
	}
	m.apps[ref].keys = append(m.apps[ref].keys, key)
	return key, secret, nil
}

// RevokeKey implements apps.Keys.
func (m *Memory) RevokeKey(_ context.Context, ref domain.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.apps[ref].keys {
		if key := &m.apps[ref].keys[i]; key.ID == id && key.RevokedAt == nil {
			now := m.now()
			key.RevokedAt = &now
			return nil
		}
	}
	return domain.NotFound("key")
}
