package signin

import (
	"time"

	"svc/domain"
)

// InvitationTime is how long an invitation waits for its answer.
const InvitationTime = 72 * time.Hour

// MaxInvitations limits the open invitations of one organization, and MaxOffers the offers that one person sees. If
// there are more, the oldest are dropped.
const (
	MaxInvitations = 200
	MaxOffers      = 50
)

// Invitation offers a seat to the person of an e-mail address. All data about the person comes from the inviter.
type Invitation struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	// Name is the inviter's name for the person; it becomes the name of a new person that accepts.
	Name      string             `json:"name,omitempty"`
	Role      domain.Role        `json:"role"`
	InvitedBy domain.LedgerActor `json:"invitedBy"`
	CreatedAt time.Time          `json:"createdAt"`
	ExpiresAt time.Time          `json:"expiresAt"`
}

// Open reports whether the invitation can be answered at an instant.
func (i *Invitation) Open(now time.Time) bool { return now.Before(i.ExpiresAt) }

// Seat is a place in an organization: a member's, or one that is only offered.
type Seat struct {
	// Member is the zero value if the seat is only offered.
	Member domain.Member `json:"member"`
	// Invitation is nil if the seat is taken.
	Invitation *Invitation `json:"invitation,omitempty"`
}

// Offer is an invitation as the invited person sees it.
type Offer struct {
	Organization domain.Organization `json:"organization"`
	Invitation   Invitation          `json:"invitation"`
}
