package apitest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc"
)

// Members implements accounts.Members.
func (m *Memory) Members(_ context.Context, org string) ([]svc.Member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.orgs[org].members), nil
}

// Seats implements accounts.Members.
func (m *Memory) Seats(_ context.Context, org string) ([]svc.Seat, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seats := []svc.Seat{}
	for _, member := range m.orgs[org].members {
		seats = append(seats, svc.Seat{Member: member})
	}
	for _, email := range slices.Sorted(maps.Keys(m.orgs[org].invited)) {
		invitation := m.orgs[org].invited[email]
		if invitation.Open(m.now()) {
			seats = append(seats, svc.Seat{Invitation: &invitation})
		}
	}
	return seats, nil
}

// OfferSeat implements accounts.Members.
func (m *Memory) OfferSeat(_ context.Context, org string, actor svc.Role, by svc.User, spec svc.MemberSpec) (svc.Seat, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	email, _ := svc.NormaliseEmail(spec.Email)
	members := m.orgs[org].members
	if err := svc.CheckMemberChange(members, actor, email, spec.Role); err != nil {
		return svc.Seat{}, err
	}
	for i := range members {
		if members[i].User.Email == email {
			members[i].Role = spec.Role
			return svc.Seat{Member: members[i]}, nil
		}
	}
	invitation := svc.Invitation{
		ID: m.newID("inv"), Email: email, Name: spec.Name, Role: spec.Role, InvitedBy: svc.LedgerActor{ID: by.ID, Name: by.Name},
		CreatedAt: m.now(), ExpiresAt: m.now().Add(svc.InvitationTime),
	}
	if m.orgs[org].invited == nil {
		m.orgs[org].invited = map[string]svc.Invitation{}
	}
	m.orgs[org].invited[email] = invitation
	return svc.Seat{Invitation: &invitation}, nil
}

// WithdrawSeat implements accounts.Members.
func (m *Memory) WithdrawSeat(_ context.Context, org string, _ svc.Role, email string) (svc.Invitation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.withdraw(org, email, "member")
}

func (m *Memory) withdraw(org, email, what string) (svc.Invitation, error) {
	if m.orgs[org] == nil {
		return svc.Invitation{}, svc.NotFound(what)
	}
	invitation, found := m.orgs[org].invited[email]
	if !found || !invitation.Open(m.now()) {
		return svc.Invitation{}, svc.NotFound(what)
	}
	delete(m.orgs[org].invited, email)
	return invitation, nil
}

// Offers implements accounts.Invitations.
func (m *Memory) Offers(_ context.Context, person svc.User) ([]svc.Offer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var offers []svc.Offer
	for _, org := range m.orgs {
		if invitation, found := org.invited[person.Email]; found && invitation.Open(m.now()) {
			offers = append(offers, svc.Offer{Organization: org.Organization, Invitation: invitation})
		}
	}
	slices.SortFunc(offers, func(a, b svc.Offer) int { return strings.Compare(a.Organization.Slug, b.Organization.Slug) })
	return offers, nil
}

// AcceptOffer implements accounts.Invitations.
func (m *Memory) AcceptOffer(_ context.Context, person svc.User, org string) (svc.Membership, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	invitation, err := m.withdraw(org, person.Email, "invitation")
	if err != nil {
		return svc.Membership{}, err
	}
	m.orgs[org].members = append(m.orgs[org].members, svc.Member{User: person, Role: invitation.Role, JoinedAt: m.now()})
	return svc.Membership{Organization: m.orgs[org].Organization, Role: invitation.Role}, nil
}

// DeclineOffer implements accounts.Invitations.
func (m *Memory) DeclineOffer(_ context.Context, person svc.User, org string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.withdraw(org, person.Email, "invitation")
	return err
}
