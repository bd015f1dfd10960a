package apitest

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/ingest"
)

func (m *Memory) person(email, name string) domain.User {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.personLocked(email, name)
}

func (m *Memory) personLocked(email, name string) domain.User {
	person, seen := m.users[email]
	if !seen {
		person = domain.User{ID: m.newID("usr"), Email: email}
	}
	if name != "" {
		person.Name = name
	}
	m.users[email] = person
	return person
}

// Authorize implements route.Authority.
func (m *Memory) Authorize(_ context.Context, secret string, class domain.RateClass, org string) (domain.Grant, domain.RateState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.tokens[domain.HashSecretHex(secret)]
	if held == nil || !held.token.Live(m.now()) {
		return domain.Grant{}, domain.RateState{}, domain.Errorf(domain.CodeUnauthorized, "unknown")
	}
	if held.token.Kind == domain.TokenPersonal || held.token.Kind == domain.TokenOrganization {
		if used := held.token.Used(m.now()); used != nil {
			held.token.LastUsedAt = used
		}
	}
	grant := domain.Grant{Token: held.token, Permissions: []domain.Permission{}}
	state, wait := m.take(held.token.ID, class)
	if wait > 0 {
		return grant, state, &domain.Error{Code: domain.CodeRateLimited, Message: "The token's limit is used up.", RetryAfter: wait}
	}
	if org == "" {
		least := domain.RoleOwner
		for _, membership := range m.memberships(held.token) {
			if least.AtLeast(membership.Role) {
				least = membership.Role
			}
		}
		grant.Permissions = domain.EffectivePermissions(least, held.token.Scopes)
		return grant, state, nil
	}
	for _, membership := range m.memberships(held.token) {
		if membership.Slug == org {
			grant.Role = membership.Role
			grant.Permissions = domain.EffectivePermissions(membership.Role, held.token.Scopes)
			return grant, state, nil
		}
	}
	return grant, state, domain.NotFound("organization")
}

// take counts one request; a limit of zero answers with the default quota untouched.
func (m *Memory) take(token string, class domain.RateClass) (domain.RateState, time.Duration) {
	if m.limit == 0 {
		return domain.RateState{Class: class, Quota: domain.DefaultPerMinute, Window: time.Minute, Remaining: domain.DefaultPerMinute - 1, Reset: 100 * time.Millisecond}, 0
	}
	if m.meters[token] == nil {
		m.meters[token] = &domain.Meter{}
	}
	return m.meters[token].Take(m.now(), class, m.limit)
}

// Memberships implements accounts.Organizations.
func (m *Memory) Memberships(_ context.Context, grant domain.Grant) ([]domain.Membership, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.memberships(grant.Token), nil
}

func (m *Memory) memberships(token domain.Token) []domain.Membership {
	var out []domain.Membership
	for _, org := range m.orgs {
		for _, member := range org.members {
			if token.User != nil && member.User.ID == token.User.ID && (token.Org == "" || token.Org == org.Slug) {
				out = append(out, domain.Membership{Organization: org.Organization, Role: member.Role})
			}
		}
	}
	slices.SortFunc(out, func(a, b domain.Membership) int { return strings.Compare(a.Slug, b.Slug) })
	return out
}

// CreateOrganization implements accounts.Organizations.
func (m *Memory) CreateOrganization(_ context.Context, owner domain.User, spec domain.OrgSpec) (domain.Organization, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	slug := spec.Slug
	if slug == "" {
		slug = domain.DeriveSlug(spec.Name, func(s string) bool { return m.orgs[s] != nil })
	}
	if m.orgs[slug] != nil {
		return domain.Organization{}, domain.Errorf(domain.CodeConflict, "The slug %q is taken.", slug)
	}
	m.orgs[slug] = &organization{
		Organization: domain.Organization{ID: m.newID("org"), Slug: slug, Name: spec.Name},
		members:      []domain.Member{{User: owner, Role: domain.RoleOwner, JoinedAt: m.now()}},
	}
	return m.orgs[slug].Organization, nil
}

// RenameOrganization implements accounts.Organizations.
func (m *Memory) RenameOrganization(_ context.Context, org, name string) (domain.Organization, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.orgs[org].Name = name
	return m.orgs[org].Organization, nil
}

// DeleteOrganization implements accounts.Organizations.
func (m *Memory) DeleteOrganization(_ context.Context, org string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.orgs, org)
	return nil
}

// RemoveMember implements accounts.Members.
func (m *Memory) RemoveMember(_ context.Context, org string, actor domain.Role, email string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := domain.CheckMemberChange(m.orgs[org].members, actor, email, ""); err != nil {
		return err
	}
	m.orgs[org].members = slices.DeleteFunc(m.orgs[org].members, func(seat domain.Member) bool { return seat.User.Email == email })
	return nil
}

// Tokens implements accounts.Tokens.
func (m *Memory) Tokens(_ context.Context, owner domain.TokenOwner) ([]domain.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []domain.Token
	for _, held := range m.tokens {
		if m.owns(owner, held) {
			out = append(out, held.token)
		}
	}
	return out, nil
}

// owns reports whether a token is in an owner's list.
func (m *Memory) owns(owner domain.TokenOwner, held *heldToken) bool {
	if owner.Org != "" {
		return held.token.Kind == domain.TokenOrganization && held.owner.Org == owner.Org
	}
	return held.token.Kind == domain.TokenPersonal && held.owner.User.ID == owner.User.ID
}

// MintToken implements accounts.Tokens.
func (m *Memory) MintToken(_ context.Context, owner domain.TokenOwner, spec domain.TokenSpec) (domain.Token, domain.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kind := domain.TokenPersonal
	if owner.Org != "" {
		kind = domain.TokenOrganization
	}
	token, secret := m.mint(kind, owner, spec)
	return token, secret, nil
}

func (m *Memory) mint(kind domain.TokenKind, owner domain.TokenOwner, spec domain.TokenSpec) (domain.Token, domain.Secret) {
	secret := domain.MintSecret(kind.Prefix(), m.random())
	hash := domain.HashSecretHex(secret.Reveal())
	person := owner.User
	m.tokens[hash] = &heldToken{owner: owner, token: domain.Token{
		ID: m.newID("tok"), Kind: kind, Name: spec.Name, Scopes: spec.Scopes, User: &person, Org: owner.Org,
		Last4: secret.Reveal()[len(secret)-4:], CreatedAt: m.now(), ExpiresAt: spec.ExpiresAt, Hash: hash,
	}}
	return m.tokens[hash].token, secret
}

// RevokeToken implements accounts.Tokens.
func (m *Memory) RevokeToken(_ context.Context, owner domain.TokenOwner, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, held := range m.tokens {
		if held.token.ID == id && m.owns(owner, held) && held.token.RevokedAt == nil {
			now := m.now()
			held.token.RevokedAt = &now
			return nil
		}
	}
	return domain.NotFound("token")
}

// AdoptToken implements accounts.Tokens.
func (m *Memory) AdoptToken(ctx context.Context, owner domain.TokenOwner, id string) (domain.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, held := range m.tokens {
		if held.token.ID != id || !m.owns(owner, held) {
			continue
		}
		if held.token.User.ID != owner.User.ID && len(m.memberships(held.token)) > 0 {
			return domain.Token{}, &domain.Error{Code: domain.CodeConflict, Reason: "not_orphaned", Message: "The token acts as a member; only one whose person has left can be adopted."}
		}
		if held.token.User.ID == owner.User.ID { // The actor answers the same if it has nothing to save.
			carrier := domain.CarrierOf(ctx)
			trail, err := carrier.Lend()
			carrier.Return(trail, false, true)
			return held.token, err
		}
		held.token.User = &owner.User
		return held.token, nil
	}
	return domain.Token{}, domain.NotFound("token")
}

// Append implements route.Auditor.
func (m *Memory) Append(_ context.Context, row domain.AuditRow) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.audit = append(m.audit, row)
	return nil
}

// Begin implements route.Replays.
func (m *Memory) Begin(_ context.Context, token, key string, body [sha256.Size]byte) (ingest.ReplayClaim, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.claims[token+key]
	if held == nil {
		held = &claim{body: body}
		m.claims[token+key] = held
	}
	switch {
	case held.body != body:
		return ingest.ReplayClaim{}, &domain.Error{Code: domain.CodeConflict, Reason: "idempotency_key_reused", Message: "The Idempotency-Key belongs to another request."}
	case held.running:
		return ingest.ReplayClaim{}, &domain.Error{Code: domain.CodeConflict, Reason: "in_progress", Message: "The same request is still in progress."}
	}
	held.running = held.sealed == nil
	return ingest.ReplayClaim{At: m.now(), Sealed: held.sealed}, nil
}

// Finish implements route.Replays.
func (m *Memory) Finish(_ context.Context, token, key string, _ [sha256.Size]byte, sealed []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims[token+key].running = false
	m.claims[token+key].sealed = sealed
	return nil
}
