package identity

import (
	"context"

	"svc"
	"svc/actors/grain"
)

// Seats lists the seats of an organization: first the members, the longest seated first, and then the offered seats.
func (i *Identity) Seats(ctx context.Context, org string) ([]svc.Seat, error) {
	return organizationSeats.Ask(ctx, i.Actors, org, grain.None{})
}

// OfferSeat changes the role of a member, or invites the owner of an e-mail address, on behalf of a member with a role.
// Its actions and its answer do not depend on whether the address has an account elsewhere. The organization's
// invitation decides and is written first. If the user's own list cannot be updated, the call fails, and a retry
// updates it.
func (i *Identity) OfferSeat(ctx context.Context, org string, actor svc.Role, by svc.User, spec svc.MemberSpec) (svc.Seat, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return svc.Seat{}, svc.Invalid(problems...)
	}
	email, _ := svc.NormaliseEmail(spec.Email)
	now := i.Now()
	invitation := svc.Invitation{
		ID: i.Random.NewID(ctx, "inv_"), Email: email, Name: spec.Name, Role: spec.Role, InvitedBy: svc.LedgerActor{ID: by.ID, Name: by.Name},
		CreatedAt: now, ExpiresAt: now.Add(svc.InvitationTime),
	}
	seat, err := organizationOffer.Ask(ctx, i.Actors, org, offerSeat{Actor: actor, Invitation: invitation})
	if err != nil || seat.Invitation == nil {
		return seat, err
	}
	_, err = userNoteOffer.Ask(ctx, i.Actors, userIdentity(email), noteOffer{Org: org, Name: spec.Name, ExpiresAt: seat.Invitation.ExpiresAt})
	return seat, err
}

// WithdrawSeat withdraws an invitation on behalf of a member with a role.
func (i *Identity) WithdrawSeat(ctx context.Context, org string, actor svc.Role, email string) (svc.Invitation, error) {
	normal, ok := svc.NormaliseEmail(email)
	if !ok {
		return svc.Invitation{}, svc.NotFound("member")
	}
	invitation, err := organizationWithdrawOffer.Ask(ctx, i.Actors, org, removeMember{Actor: actor, Email: normal})
	if err != nil {
		return invitation, err
	}
	return invitation, i.forgetOffer(ctx, userIdentity(normal), org)
}

func (i *Identity) forgetOffer(ctx context.Context, person, org string) error {
	_, err := userForgetOffer.Ask(ctx, i.Actors, person, noteOffer{Org: org})
	return err
}

// Offers lists the open invitations of a user, by the slugs of the organizations.
func (i *Identity) Offers(ctx context.Context, person svc.User) ([]svc.Offer, error) {
	identity := userIdentity(person.Email)
	slugs, err := userOffers.Ask(ctx, i.Actors, identity, grain.None{})
	if err != nil {
		return nil, err
	}
	offers := []svc.Offer{}
	for _, slug := range slugs {
		offer, err := organizationGetOffer.Ask(ctx, i.Actors, slug, answerOffer{Person: identity})
		if svc.CodeOf(err) == svc.CodeNotFound {
			continue // withdrawn, or answered meanwhile
		}
		if err != nil {
			return nil, err
		}
		offers = append(offers, offer)
	}
	return offers, nil
}

// AcceptOffer seats a user in an organization that invited this user. The organization's list decides. The user's own
// list may be ahead, so it is written first.
func (i *Identity) AcceptOffer(ctx context.Context, person svc.User, org string) (svc.Membership, error) {
	identity := userIdentity(person.Email)
	if _, err := organizationGetOffer.Ask(ctx, i.Actors, org, answerOffer{Person: identity}); err != nil {
		return svc.Membership{}, noInvitation(err)
	}
	if err := i.join(svc.WithCarrier(ctx, nil), person.Email, org); err != nil {
		return svc.Membership{}, err
	}
	membership, err := organizationAcceptOffer.Ask(ctx, i.Actors, org, answerOffer{Person: identity, User: person})
	if err != nil {
		return membership, noInvitation(err)
	}
	return membership, i.forgetOffer(ctx, identity, org)
}

// DeclineOffer refuses an invitation.
func (i *Identity) DeclineOffer(ctx context.Context, person svc.User, org string) error {
	identity := userIdentity(person.Email)
	if _, err := organizationDeclineOffer.Ask(ctx, i.Actors, org, answerOffer{Person: identity}); err != nil {
		return noInvitation(err)
	}
	return i.forgetOffer(ctx, identity, org)
}

// noInvitation gives the same answer for an organization that does not exist and for one that has not
// invited the address.
func noInvitation(err error) error {
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.NotFound("invitation")
	}
	return err
}
