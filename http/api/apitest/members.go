package apitest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc/domain"
	"svc/domain/signin"
)

// Members implements accounts.Members.
func (m *Memory) Members(_ context.Context, org string) ([]domain.Member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.orgs[org].members), nil
}

// Seats implements accounts.Members.
func (m *Memory) Seats(_ context.Context, org string) ([]signin.Seat, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seats := []signin.Seat{}
	for _, member := range m.orgs[org].members {
		seats = append(seats, signin.Seat{Member: member})
	}
	for _, email := range slices.Sorted(maps.Keys(m.orgs[org].invited)) {
		invitation := m.orgs[org].invited[email]
		if invitation.Open(m.now()) {
			seats = append(seats, signin.Seat{Invitation: &invitation})
		}
	}
	return seats, nil
}

// OfferSeat implements accounts.Members.
func (m *Memory) OfferSeat(_ context.Context, org string, actor domain.Role, by domain.User, spec domain.MemberSpec) (signin.Seat, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	email, _ := domain.NormaliseEmail(spec.Email)
	members := m.orgs[org].members
	if err := domain.CheckMemberChange(members, actor, email, spec.Role); err != nil {
		return signin.Seat{}, err
	}
	for i := range members {
		if members[i].User.Email == email {
			members[i].Role = spec.Role
			return signin.Seat{Member: members[i]}, nil
		}
	}
	invitation := signin.Invitation{
		ID: m.newID("inv"), Email: email, Name: spec.Name, Role: spec.Role, InvitedBy: domain.LedgerActor{ID: by.ID, Name: by.Name},
		CreatedAt: m.now(), ExpiresAt: m.now().Add(signin.InvitationTime),
	}
	if m.orgs[org].invited == nil {
		m.orgs[org].invited = map[string]signin.Invitation{}
	}
	m.orgs[org].invited[email] = invitation
	return signin.Seat{Invitation: &invitation}, nil
}

// WithdrawSeat implements accounts.Members.
func (m *Memory) WithdrawSeat(_ context.Context, org string, _ domain.Role, email string) (signin.Invitation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.withdraw(org, email, "member")
}

func (m *Memory) withdraw(org, email, what string) (signin.Invitation, error) {
	if m.orgs[org] == nil {
		return signin.Invitation{}, domain.NotFound(what)
	}
	invitation, found := m.orgs[org].invited[email]
	if !found || !invitation.Open(m.now()) {
		return signin.Invitation{}, domain.NotFound(what)
	}
	delete(m.orgs[org].invited, email)
	return invitation, nil
}

// Offers implements accounts.Invitations.
func (m *Memory) Offers(_ context.Context, person domain.User) ([]signin.Offer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var offers []signin.Offer
	for _, org := range m.orgs {
		if invitation, found := org.invited[person.Email]; found && invitation.Open(m.now()) {
			offers = append(offers, signin.Offer{Organization: org.Organization, Invitation: invitation})
		}
	}
	slices.SortFunc(offers, func(a, b signin.Offer) int { return strings.Compare(a.Organization.Slug, b.Organization.Slug) })
	return offers, nil
}

// AcceptOffer implements accounts.Invitations.
func (m *Memory) AcceptOffer(_ context.Context, person domain.User, org string) (domain.Membership, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	invitation, err := m.withdraw(org, person.Email, "invitation")
	if err != nil {
		return domain.Membership{}, err
	}
	m.orgs[org].members = append(m.orgs[org].members, domain.Member{User: person, Role: invitation.Role, JoinedAt: m.now()})
	return domain.Membership{Organization: m.orgs[org].Organization, Role: invitation.Role}, nil
}

// DeclineOffer implements accounts.Invitations.
func (m *Memory) DeclineOffer(_ context.Context, person domain.User, org string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.withdraw(org, person.Email, "invitation")
	return err
}
