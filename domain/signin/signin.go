package signin

import (
	"slices"
	"time"

	"svc/domain"
)

// Lifetimes of sign-ins to the console.
const (
	// SessionTime is the lifetime of a console session.
	SessionTime = 12 * time.Hour
	// SetupTime is how long a link of the operator is valid.
	SetupTime = 15 * time.Minute
)

// The names of console sessions say how the person was authenticated. The operator knows the person of a session; a
// passkey may belong to a person that was only ever invited under an address.
const (
	SessionOfOperator = "console"
	SessionOfPasskey  = "passkey"
)

// Proof is the reason why an account belongs to the owner of its address.
type Proof string

// The proofs: the operator named the address, or a link was opened that was mailed to it. An account without a proof
// was created through a link that the inviter could read.
const (
	ProofOperator Proof = "operator"
	ProofMail     Proof = "mail"
)

// MaxSessions limits the console sessions of a person; the oldest end.
const MaxSessions = 100

// SessionSpec describes a new console session.
type SessionSpec struct {
	Person domain.User
	// By is SessionOfOperator or SessionOfPasskey.
	By string
	// Passkey is the id of the passkey that opens the session, empty for the operator's link.
	Passkey string
	Method  SignInMethod
	// Device and Place describe the browser; they may be empty.
	Device, Place string
}

// ConsoleSession is a console session in the list of its person.
type ConsoleSession struct {
	ID string `json:"id"`
	// By is SessionOfOperator or SessionOfPasskey.
	By        string    `json:"by"`
	Passkey   string    `json:"passkey,omitempty"`
	Device    string    `json:"device,omitempty"`
	Place     string    `json:"place,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	// LastUsedAt is late by domain.UseGrain at most.
	LastUsedAt time.Time `json:"lastUsedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// SignInMethod is the way of signing in.
type SignInMethod string

// The methods.
const (
	SignInPasskey    SignInMethod = "passkey"
	SignInLink       SignInMethod = "link"
	SignInInvitation SignInMethod = "invitation"
	SignInOperator   SignInMethod = "operator"
)

// Values lists the methods.
func (SignInMethod) Values() []SignInMethod {
	return []SignInMethod{SignInPasskey, SignInLink, SignInInvitation, SignInOperator}
}

// MaxSignIns limits the log of sign-ins of a person. A failure that repeats the previous one is recorded once per
// SignInGrain.
const (
	MaxSignIns  = 50
	SignInGrain = time.Minute
)

// SignIn is a successful or failed sign-in of a person.
type SignIn struct {
	ID     string       `json:"id"`
	At     time.Time    `json:"at"`
	Method SignInMethod `json:"method"`
	Device string       `json:"device,omitempty"`
	Place  string       `json:"place,omitempty"`
	// Failure is the reason of a failure, empty if the sign-in succeeded.
	Failure string `json:"failure,omitempty"`
}

// InvitationMail is an invitation as it is mailed to the invited person.
type InvitationMail struct {
	Organization domain.Organization
	Invitation   Invitation
	// Secret is the secret of the link.
	Secret domain.Secret
}

// Link lets a person sign in once with its secret.
type Link struct {
	User domain.User
	// Invitation is the id of the invitation that the link answers, and Org the organization that offers the seat. Both
	// are empty in a link of the operator.
	Invitation string
	Org        string
	EndsAt     time.Time
	// Mailed says that the link was sent to the address and to no other recipient.
	Mailed bool
}

// SignInPurpose is the purpose of a ceremony that signs in the person that answers it. JoinPurpose is the purpose of
// one that registers the first passkey of an invited person.
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
