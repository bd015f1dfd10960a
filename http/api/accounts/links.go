package accounts

import (
	"context"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
	"svc/http/passkey"
	"svc/http/route"
)

// Links stores the links by which people without a passkey sign in.
type Links interface {
	// NewLink makes a link and returns its secret, once.
	NewLink(ctx context.Context, link signin.Link) (domain.Secret, error)
	// Link returns the link of a secret. It fails with unauthorized if the link is expired, spent or unknown.
	Link(ctx context.Context, secret domain.Secret) (signin.Link, error)
	// SpendLink uses a link up; of several concurrent calls one succeeds.
	SpendLink(ctx context.Context, secret domain.Secret) error
	// Enter returns the person of an e-mail address that the operator admits. It ends all sessions and passkeys of the
	// account that were opened without a proof of the address.
	Enter(ctx context.Context, email string) (domain.User, error)
	// MayRegister fails with conflict if the person of a link has an account that the link does not open.
	MayRegister(ctx context.Context, link signin.Link) error
	// Register makes the account of an invited person with its first passkey, under the rule of MayRegister.
	Register(ctx context.Context, link signin.Link, key conversation.Passkey) (domain.User, conversation.Passkey, error)
	// ProveAddress notes that a session of a person opened a link that was mailed to the address. If the address was
	// not proved before, only this session and its passkey remain.
	ProveAddress(ctx context.Context, person domain.User, session string) error
}

// byLink signs in the person of a link that the operator has made. It invalidates the link first: if two people open
// it, only one is signed in.
func (c consoleSessions) byLink(ctx context.Context, call *route.Call, secret domain.Secret) (session, error) {
	link, err := c.links.Link(ctx, secret)
	if err != nil {
		return session{}, err
	}
	if link.Invitation != "" {
		return session{}, conversation.PasskeyRequired("", "An invitation is answered with a passkey.")
	}
	person, err := c.links.Enter(ctx, link.User.Email)
	if err != nil {
		return session{}, err
	}
	if err := c.links.SpendLink(ctx, secret); err != nil {
		return session{}, err
	}
	keys, err := c.passkeys.Passkeys(ctx, person)
	if err != nil {
		return session{}, err
	}
	return c.open(ctx, call, signin.SessionSpec{Person: person, By: signin.SessionOfOperator, Method: signin.SignInLink}, len(keys))
}

// offer returns the open invitation that a link accepts by a registration. A person with an account must sign in first:
// a link that another person has made must not add a passkey to the account.
func (c consoleSessions) offer(ctx context.Context, link *signin.Link) (signin.Offer, error) {
	offers, err := c.invitations.Offers(ctx, link.User)
	if err != nil {
		return signin.Offer{}, err
	}
	at := slices.IndexFunc(offers, func(offer signin.Offer) bool { return link.Answers([]signin.Offer{offer}) })
	if at < 0 {
		return signin.Offer{}, domain.Errorf(domain.CodeUnauthorized, "The invitation is over, was withdrawn, or was answered. Ask for another one.")
	}
	return offers[at], c.links.MayRegister(ctx, *link)
}

// invited begins the registration that accepts an invitation.
func (c consoleSessions) invited(ctx context.Context, call *route.Call, party *passkey.Party, secret domain.Secret) (signInChallenge, error) {
	link, err := c.links.Link(ctx, secret)
	if err != nil {
		return signInChallenge{}, err
	}
	if link.Invitation == "" {
		return signInChallenge{}, domain.Invalid(domain.FieldError{Field: "link", Code: "invalid_value", Message: "This link signs in by itself."})
	}
	offer, err := c.offer(ctx, &link)
	if err != nil {
		return signInChallenge{}, err
	}
	person := link.User
	person.Name = offer.Invitation.Name
	options, state, err := party.Register(c.passkeys.NewCeremonyID(), &passkey.Candidate{
		Person: person, Handle: c.seal.Seal(sealedHandle, c.sessions.AddressOf(person)), Purpose: link.JoinPurpose(),
	}, call.Now)
	if err != nil {
		return signInChallenge{}, err
	}
	question, err := c.ask(options, &state)
	shown := invitationOf(&offer)
	return signInChallenge{Challenged: question, Invitation: &shown, Email: link.User.Email}, err
}

// join accepts an invitation: it registers the person with a passkey and makes them a member. The link is spent only
// after the passkey has been verified.
func (c consoleSessions) join(ctx context.Context, call *route.Call, body *sessionBody) (session, error) {
	secret := domain.Secret(body.Link)
	party, err := passkey.NewParty(call.Site())
	if err != nil {
		return session{}, err
	}
	state, err := c.asked(body.Ceremony)
	if err != nil {
		return session{}, err
	}
	if problems := checkPasskeyName(body.Name); len(problems) > 0 {
		return session{}, domain.Invalid(problems...)
	}
	link, err := c.links.Link(ctx, secret)
	if err != nil {
		return session{}, err
	}
	offer, err := c.offer(ctx, &link)
	if err != nil {
		return session{}, err
	}
	key, err := party.Registered(link.User, &state, link.JoinPurpose(), body.Credential, call.Now)
	if err != nil {
		return session{}, err
	}
	if err := c.links.SpendLink(ctx, secret); err != nil {
		return session{}, err
	}
	link.User.Name, key.Name = offer.Invitation.Name, body.Name
	person, key, err := c.links.Register(ctx, link, key)
	if err != nil {
		return session{}, err
	}
	if _, err := c.invitations.AcceptOffer(ctx, person, link.Org); err != nil {
		return session{}, err
	}
	call.Happened("member.joined")
	return c.open(ctx, call, signin.SessionSpec{Person: person, By: signin.SessionOfPasskey, Passkey: key.ID, Method: signin.SignInInvitation}, 1)
}

// linkTo returns the address of the console that carries a secret. The part after the # stays in the browser: no server
// and no log sees it before the page sends it.
func linkTo(site, what string, secret domain.Secret) string {
	return site + "/console#" + what + "=" + secret.Reveal()
}

// vouch refuses to make a person a member if they only have a passkey, unless the link of the invitation shows that it
// was meant for them. Such a person may have been invited under the address first and made the passkey then, so the
// address proves nothing.
func (c consoleInvitations) vouch(ctx context.Context, call *route.Call, person domain.User, org, secret string) error {
	if secret == "" && call.Grant.Token.Name == signin.SessionOfOperator {
		return nil
	}
	refused := &domain.Error{Code: domain.CodeForbidden, Reason: "link_required", Message: "Open the link of the invitation to accept it."}
	if secret == "" {
		return refused
	}
	link, err := c.links.Link(ctx, domain.Secret(secret))
	if err != nil {
		return err
	}
	offers, err := c.invitations.Offers(ctx, person)
	if err != nil {
		return err
	}
	if link.User.Email != person.Email || link.Org != org || !link.Answers(offers) {
		return refused
	}
	if err := c.links.SpendLink(ctx, domain.Secret(secret)); err != nil || !link.Mailed {
		return err
	}
	return c.links.ProveAddress(ctx, person, call.Grant.Token.ID)
}

// Letters mails invitations. A service without a mail server has no Letters.
type Letters interface {
	// Admit fails with rate_limited if the organization mails too often, to the address or in total.
	Admit(org, email string) error
	// SendInvitation makes one attempt to send.
	SendInvitation(ctx context.Context, mail signin.InvitationMail) error
}

// invitationLink is the answer that shows the link of an invitation, once.
type invitationLink struct {
	member
	Link   string `json:"link" doc:"For the invited person alone; it ends in a passkey, and is never shown again. Empty if it was mailed."`
	Mailed bool   `json:"mailed" doc:"The link was sent to the address, and to nobody else."`
}

// newLink makes the link of an invitation, and mails it if the service can.
func (c consoleMembers) newLink(ctx context.Context, call *route.Call, invitation *signin.Invitation) (domain.Secret, error) {
	secret, err := c.links.NewLink(ctx, signin.Link{
		User: domain.User{Email: invitation.Email}, Invitation: invitation.ID, Org: call.Param("org"), EndsAt: invitation.ExpiresAt, Mailed: c.letters != nil,
	})
	if err != nil || c.letters == nil {
		return secret, err
	}
	seats, err := c.organizations.Memberships(ctx, call.Grant)
	if err != nil {
		return "", err
	}
	mail := signin.InvitationMail{Invitation: *invitation, Secret: secret}
	for _, seat := range seats {
		if seat.Slug == call.Param("org") {
			mail.Organization = seat.Organization
		}
	}
	if err := c.letters.SendInvitation(ctx, mail); err != nil {
		return "", domain.Unavailable("The mail server", time.Minute)
	}
	return "", nil
}
