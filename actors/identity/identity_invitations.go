package identity

import (
	"context"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/signin"
)

// Seats lists the seats of an organization: first the members, the longest seated first, and then the offered seats.
func (i *Identity) Seats(ctx context.Context, org string) ([]signin.Seat, error) {
	return organizationSeats.Ask(ctx, i.Actors, org, grain.None{})
}

// OfferSeat changes the role of a member, or invites the owner of an e-mail address, on behalf of a member with a role.
// Its actions and its answer do not depend on whether the address has an account elsewhere. The organization's
// invitation decides and is written first. If the user's own list cannot be updated, the call fails, and a retry
// updates it.
func (i *Identity) OfferSeat(ctx context.Context, org string, actor domain.Role, by domain.User, spec domain.MemberSpec) (signin.Seat, error) {
	if problems := spec.Validate(); len(problems) > 0 {
		return signin.Seat{}, domain.Invalid(problems...)
	}
	email, _ := domain.NormaliseEmail(spec.Email)
	now := i.Now()
	invitation := signin.Invitation{
		ID: i.Random.NewID(ctx, "inv_"), Email: email, Name: spec.Name, Role: spec.Role, InvitedBy: domain.LedgerActor{ID: by.ID, Name: by.Name},
		CreatedAt: now, ExpiresAt: now.Add(signin.InvitationTime),
	}
	seat, err := organizationOffer.Ask(ctx, i.Actors, org, offerSeat{Actor: actor, Invitation: invitation})
	if err != nil || seat.Invitation == nil {
		return seat, err
	}
	_, err = userNoteOffer.Ask(ctx, i.Actors, userIdentity(email), noteOffer{Org: org, Name: spec.Name, ExpiresAt: seat.Invitation.ExpiresAt})
	return seat, err
}

// WithdrawSeat withdraws an invitation on behalf of a member with a role.
func (i *Identity) WithdrawSeat(ctx context.Context, org string, actor domain.Role, email string) (signin.Invitation, error) {
	normal, ok := domain.NormaliseEmail(email)
	if !ok {
		return signin.Invitation{}, domain.NotFound("member")
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
func (i *Identity) Offers(ctx context.Context, person domain.User) ([]signin.Offer, error) {
	identity := userIdentity(person.Email)
	slugs, err := userOffers.Ask(ctx, i.Actors, identity, grain.None{})
	if err != nil {
		return nil, err
	}
	offers := []signin.Offer{}
	for _, slug := range slugs {
		offer, err := organizationGetOffer.Ask(ctx, i.Actors, slug, answerOffer{Person: identity})
		if domain.CodeOf(err) == domain.CodeNotFound {
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
func (i *Identity) AcceptOffer(ctx context.Context, person domain.User, org string) (domain.Membership, error) {
	identity := userIdentity(person.Email)
	if _, err := organizationGetOffer.Ask(ctx, i.Actors, org, answerOffer{Person: identity}); err != nil {
		return domain.Membership{}, noInvitation(err)
	}
	if err := i.join(domain.WithCarrier(ctx, nil), person.Email, org); err != nil {
		return domain.Membership{}, err
	}
	membership, err := organizationAcceptOffer.Ask(ctx, i.Actors, org, answerOffer{Person: identity, User: person})
	if err != nil {
		return membership, noInvitation(err)
	}
	return membership, i.forgetOffer(ctx, identity, org)
}

// DeclineOffer refuses an invitation.
func (i *Identity) DeclineOffer(ctx context.Context, person domain.User, org string) error {
	identity := userIdentity(person.Email)
	if _, err := organizationDeclineOffer.Ask(ctx, i.Actors, org, answerOffer{Person: identity}); err != nil {
		return noInvitation(err)
	}
	return i.forgetOffer(ctx, identity, org)
}

// noInvitation gives the same answer for an organization that does not exist and for one that has not
// invited the address.
func noInvitation(err error) error {
	if domain.CodeOf(err) == domain.CodeNotFound {
		return domain.NotFound("invitation")
	}
	return err
}
