package identity

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/signin"
)

// The organization's invitations, part of the organization actor: seats that are offered by e-mail address. An
// invitation is found by the identity of the user's actor, whether or not that user is known.
type (
	offerSeat struct {
		Actor      domain.Role       `json:"actor"`
		Invitation signin.Invitation `json:"invitation"`
	}
	answerOffer struct {
		// Person is the identity of the invited user's actor.
		Person string `json:"person"`
		// User is the user that accepts.
		User domain.User `json:"user"`
	}
)

// The methods of the organization actor.
var (
	organizationSeats         = grain.On(organizationKind, "seats", (*organization).onSeats, grain.Repeatable)
	organizationOffer         = grain.On(organizationKind, "offer", (*organization).onOffer)
	organizationGetOffer      = grain.On(organizationKind, "offer.get", (*organization).onGetOffer, grain.Repeatable)
	organizationAcceptOffer   = grain.On(organizationKind, "offer.accept", (*organization).onAcceptOffer)
	organizationDeclineOffer  = grain.On(organizationKind, "offer.decline", (*organization).onDeclineOffer)
	organizationWithdrawOffer = grain.On(organizationKind, "offer.withdraw", (*organization).onWithdrawOffer)
)

// onSeats returns the taken seats, the longest first, and then the offered ones, the newest last.
func (o *organization) onSeats(now time.Time, _ grain.None) (grain.Outcome[[]signin.Seat], error) {
	seats := []signin.Seat{}
	for _, member := range o.seats() {
		seats = append(seats, signin.Seat{Member: member})
	}
	for _, invitation := range o.offers() {
		if invitation.Open(now) {
			seats = append(seats, signin.Seat{Invitation: &invitation})
		}
	}
	return grain.Answer(seats), nil
}

// offers returns the invitations, the oldest first.
func (o *organization) offers() []signin.Invitation {
	return slices.SortedFunc(maps.Values(o.invitations), func(a, b signin.Invitation) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// onOffer changes the role of a member, or invites the user. If an invitation is already open, it invites again. It
// also drops expired invitations.
func (o *organization) onOffer(now time.Time, m offerSeat) (grain.Outcome[signin.Seat], error) {
	for _, member := range o.members {
		if email, _ := domain.NormaliseEmail(member.User.Email); email == m.Invitation.Email {
			changed, err := o.onPutMember(now, putMember{Actor: m.Actor, User: member.User, Role: m.Invitation.Role})
			changed.About = member.User.ID
			return grain.Outcome[signin.Seat]{Answer: signin.Seat{Member: changed.Answer}, Effects: changed.Effects}, err
		}
	}
	person := userIdentity(m.Invitation.Email)
	present, again := o.invitations[person]
	if again && present.ID == m.Invitation.ID && present.Role == m.Invitation.Role {
		return grain.Again(signin.Seat{Invitation: &present}), nil
	}
	switch err := domain.CheckMemberChange(o.seats(), m.Actor, m.Invitation.Email, m.Invitation.Role); {
	case err != nil:
		return grain.Outcome[signin.Seat]{}, err
	case again && present.Open(now) && present.Role == domain.RoleOwner && m.Actor != domain.RoleOwner:
		return grain.Outcome[signin.Seat]{}, &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an owner makes or unmakes owners."}
	}
	var writes []grain.Write
	for _, id := range slices.Sorted(maps.Keys(o.invitations)) {
		if old := o.invitations[id]; !old.Open(now) && id != person {
			writes = append(writes, grain.Delete("invitation", id))
		}
	}
	if !again && len(o.invitations)-len(writes) >= signin.MaxInvitations {
		return grain.Outcome[signin.Seat]{}, &domain.Error{Code: domain.CodeConflict, Reason: "too_many_invitations", Message: "The organization has 200 open invitations; withdraw one, or wait for answers."}
	}
	for _, expired := range writes {
		delete(o.invitations, expired.ID)
	}
	o.invitations[person] = m.Invitation
	result := grain.Answer(signin.Seat{Invitation: &m.Invitation}, append(writes, grain.Put("invitation", person, m.Invitation))...)
	result.Happened, result.About = "member.invited", m.Invitation.ID
	return result, nil
}

// offer returns the open invitation of a user.
func (o *organization) offer(now time.Time, person string) (signin.Invitation, error) {
	invitation, found := o.invitations[person]
	if !found || !invitation.Open(now) {
		return signin.Invitation{}, domain.NotFound("invitation")
	}
	return invitation, nil
}

func (o *organization) onGetOffer(now time.Time, m answerOffer) (grain.Outcome[signin.Offer], error) {
	invitation, err := o.offer(now, m.Person)
	if err != nil {
		return grain.Outcome[signin.Offer]{}, err
	}
	return grain.Answer(signin.Offer{Organization: o.org.Organization, Invitation: invitation}), nil
}

// onAcceptOffer makes the invited user a member. A user that is already a member retains the role.
func (o *organization) onAcceptOffer(now time.Time, m answerOffer) (grain.Outcome[domain.Membership], error) {
	if member, seated := o.members[m.User.ID]; seated {
		result := grain.Answer(domain.Membership{Organization: o.org.Organization, Role: member.Role})
		result.Writes = o.forget(m.Person)
		return result, nil
	}
	invitation, err := o.offer(now, m.Person)
	if err != nil {
		return grain.Outcome[domain.Membership]{}, err
	}
	member := domain.Member{User: m.User, Role: invitation.Role, JoinedAt: now}
	o.members[m.User.ID] = member
	return grain.Answer(domain.Membership{Organization: o.org.Organization, Role: member.Role}, append([]grain.Write{grain.Put("member", m.User.ID, member)}, o.forget(m.Person)...)...), nil
}

func (o *organization) onDeclineOffer(now time.Time, m answerOffer) (grain.Outcome[grain.None], error) {
	if _, err := o.offer(now, m.Person); err != nil {
		return grain.Outcome[grain.None]{}, err
	}
	return grain.Answer(grain.None{}, o.forget(m.Person)...), nil
}

// onWithdrawOffer withdraws an invitation on behalf of a member with a role.
func (o *organization) onWithdrawOffer(now time.Time, m removeMember) (grain.Outcome[signin.Invitation], error) {
	person := userIdentity(m.Email)
	invitation, err := o.offer(now, person)
	switch {
	case err != nil:
		return grain.Outcome[signin.Invitation]{}, domain.NotFound("member")
	case !m.Actor.AtLeast(domain.RoleAdmin):
		return grain.Outcome[signin.Invitation]{}, &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."}
	case invitation.Role == domain.RoleOwner && m.Actor != domain.RoleOwner:
		return grain.Outcome[signin.Invitation]{}, &domain.Error{Code: domain.CodeForbidden, Reason: "role_required", Message: "Only an owner makes or unmakes owners."}
	}
	return grain.Answer(invitation, o.forget(person)...), nil
}

// forget removes the invitation of a user, if it exists.
func (o *organization) forget(person string) []grain.Write {
	if _, found := o.invitations[person]; !found {
		return nil
	}
	delete(o.invitations, person)
	return []grain.Write{grain.Delete("invitation", person)}
}
