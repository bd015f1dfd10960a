package actors

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"svc"
)

// The organization's invitations, of the organization actor: seats that are offered to
// people by their e-mail addresses. An invitation is found by the identity of the person's
// actor, whether or not that person is known.
type (
	offerSeat struct {
		Actor      svc.Role       `json:"actor"`
		Invitation svc.Invitation `json:"invitation"`
	}
	answerOffer struct {
		// Person is the identity of the invited person's actor.
		Person string `json:"person"`
		// User is who accepts.
		User svc.User `json:"user"`
	}
)

func invitationHandlers() map[string]handler[*organization] {
	return map[string]handler[*organization]{
		"seats":          on((*organization).onSeats),
		"offer":          on((*organization).onOffer),
		"offer.get":      on((*organization).onGetOffer),
		"offer.accept":   on((*organization).onAcceptOffer),
		"offer.decline":  on((*organization).onDeclineOffer),
		"offer.withdraw": on((*organization).onWithdrawOffer),
	}
}

// onSeats returns the seats that are taken, the longest first, and then those that are
// offered, the newest last.
func (o *organization) onSeats(now time.Time, _ none) (outcome, error) {
	seats := []svc.Seat{}
	for _, member := range o.seats() {
		seats = append(seats, svc.Seat{Member: member})
	}
	for _, invitation := range o.offers() {
		if invitation.Open(now) {
			seats = append(seats, svc.Seat{Invitation: &invitation})
		}
	}
	return outcome{answer: seats}, nil
}

// offers returns the invitations, the oldest first.
func (o *organization) offers() []svc.Invitation {
	return slices.SortedFunc(maps.Values(o.invitations), func(a, b svc.Invitation) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// onOffer changes the role of a member, or invites the person, again where an invitation is
// open. What has expired is forgotten on the way.
func (o *organization) onOffer(now time.Time, m offerSeat) (outcome, error) {
	for _, member := range o.members {
		if email, _ := svc.NormaliseEmail(member.User.Email); email == m.Invitation.Email {
			result, err := o.onPutMember(now, putMember{Actor: m.Actor, User: member.User, Role: m.Invitation.Role})
			if err != nil {
				return result, err
			}
			result.answer = svc.Seat{Member: o.members[member.User.ID]}
			return result, nil
		}
	}
	person := userIdentity(m.Invitation.Email)
	present, again := o.invitations[person]
	switch err := svc.CheckMemberChange(o.seats(), m.Actor, m.Invitation.Email, m.Invitation.Role); {
	case err != nil:
		return outcome{}, err
	case again && present.Open(now) && present.Role == svc.RoleOwner && m.Actor != svc.RoleOwner:
		return outcome{}, &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an owner makes or unmakes owners."}
	}
	var writes []write
	for _, id := range slices.Sorted(maps.Keys(o.invitations)) {
		if old := o.invitations[id]; !old.Open(now) && id != person {
			writes = append(writes, write{"invitation", id, nil})
		}
	}
	if !again && len(o.invitations)-len(writes) >= svc.MaxInvitations {
		return outcome{}, &svc.Error{Code: svc.CodeConflict, Reason: "too_many_invitations", Message: "The organization has 200 open invitations; withdraw one, or wait for answers."}
	}
	for _, expired := range writes {
		delete(o.invitations, expired.id)
	}
	o.invitations[person] = m.Invitation
	return outcome{answer: svc.Seat{Invitation: &m.Invitation}, writes: append(writes, write{"invitation", person, m.Invitation})}, nil
}

// offer returns the open invitation of a person.
func (o *organization) offer(now time.Time, person string) (svc.Invitation, error) {
	invitation, found := o.invitations[person]
	if !found || !invitation.Open(now) {
		return svc.Invitation{}, svc.NotFound("invitation")
	}
	return invitation, nil
}

func (o *organization) onGetOffer(now time.Time, m answerOffer) (outcome, error) {
	invitation, err := o.offer(now, m.Person)
	if err != nil {
		return outcome{}, err
	}
	return outcome{answer: svc.Offer{Organization: *o.org, Invitation: invitation}}, nil
}

// onAcceptOffer seats the invited person. Whoever is seated already keeps the present role.
func (o *organization) onAcceptOffer(now time.Time, m answerOffer) (outcome, error) {
	if member, seated := o.members[m.User.ID]; seated {
		result := outcome{answer: svc.Membership{Organization: *o.org, Role: member.Role}}
		result.writes = o.forget(m.Person)
		return result, nil
	}
	invitation, err := o.offer(now, m.Person)
	if err != nil {
		return outcome{}, err
	}
	member := svc.Member{User: m.User, Role: invitation.Role, JoinedAt: now}
	o.members[m.User.ID] = member
	return outcome{
		answer: svc.Membership{Organization: *o.org, Role: member.Role},
		writes: append([]write{{"member", m.User.ID, member}}, o.forget(m.Person)...),
	}, nil
}

func (o *organization) onDeclineOffer(now time.Time, m answerOffer) (outcome, error) {
	if _, err := o.offer(now, m.Person); err != nil {
		return outcome{}, err
	}
	return outcome{answer: none{}, writes: o.forget(m.Person)}, nil
}

// onWithdrawOffer takes an invitation back on behalf of a member of a role.
func (o *organization) onWithdrawOffer(now time.Time, m removeMember) (outcome, error) {
	person := userIdentity(m.Email)
	invitation, err := o.offer(now, person)
	switch {
	case err != nil:
		return outcome{}, svc.NotFound("member")
	case !m.Actor.AtLeast(svc.RoleAdmin):
		return outcome{}, &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an administrator changes members."}
	case invitation.Role == svc.RoleOwner && m.Actor != svc.RoleOwner:
		return outcome{}, &svc.Error{Code: svc.CodeForbidden, Reason: "role_required", Message: "Only an owner makes or unmakes owners."}
	}
	return outcome{answer: invitation, writes: o.forget(person)}, nil
}

// forget removes the invitation of a person, if there is one.
func (o *organization) forget(person string) []write {
	if _, found := o.invitations[person]; !found {
		return nil
	}
	delete(o.invitations, person)
	return []write{{"invitation", person, nil}}
}
