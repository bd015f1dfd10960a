package svc

import (
	"slices"
	"time"
)

// Lifetimes of what signs people in to the console.
const (
	// SessionTime is how long a console session lives.
	SessionTime = 12 * time.Hour
	// SetupTime is how long a link of the operator waits to be opened.
	SetupTime = 15 * time.Minute
)

// The names of console sessions say how the person was recognised. The operator knows whom a
// session is for; a passkey may belong to somebody who was only ever invited under an address.
const (
	SessionOfOperator = "console"
	SessionOfPasskey  = "passkey"
)

// Link is a person who may sign in once with the secret of a link, until it is spent.
type Link struct {
	User User
	// Invitation is the id of the invitation that the link answers, and Org the organization
	// that offers the seat; both are empty in a link of the operator.
	Invitation string
	Org        string
	EndsAt     time.Time
}

// SignInPurpose is the purpose of a ceremony that signs in the person who answers it, and
// JoinPurpose that of one that registers the first passkey of an invited person.
const (
	SignInPurpose = "sign in"
	joinPrefix    = "join "
)

// JoinPurpose returns the purpose of the registration that answers an invitation.
func (l *Link) JoinPurpose() string { return joinPrefix + l.Invitation }

// Answers reports whether the link is for one of a person's open invitations.
func (l *Link) Answers(offers []Offer) bool {
	return slices.ContainsFunc(offers, func(offer Offer) bool {
		return offer.Organization.Slug == l.Org && offer.Invitation.ID == l.Invitation
	})
}
