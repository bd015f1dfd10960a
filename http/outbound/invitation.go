package outbound

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/domain"
	"svc/domain/signin"
)

// Limits of invitations.
const (
	// inviteTime bounds one attempt to send an invitation.
	inviteTime = 15 * time.Second
	// addressRest is the minimum time between two letters of one organization to the same address.
	addressRest = time.Minute
	// orgLetters is the number of letters that one organization may send within orgRest.
	orgLetters = 100
	orgRest    = time.Hour
)

// Invitations mails invitations to the invited people.
type Invitations struct {
	mail Mail
	// site returns the address at which invited people open the console. It must never be a host name from a request.
	site func() string

	mu sync.Mutex
	// sent maps each organization to its latest letters, by address. It is guarded by mu.
	sent map[string]map[string][]time.Time
}

// NewInvitations returns a sender with links that begin with a scheme and a host.
func NewInvitations(mail Mail, site func() string) *Invitations {
	return &Invitations{mail: mail, site: site, sent: map[string]map[string][]time.Time{}}
}

// Admit counts a letter of an organization to an address. It fails with rate_limited if there were too many. It does
// not depend on the letters of other organizations.
func (i *Invitations) Admit(org, email string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.mail.Now()
	for name, letters := range i.sent {
		maps.DeleteFunc(letters, func(_ string, times []time.Time) bool { return now.Sub(times[len(times)-1]) >= orgRest })
		if len(letters) == 0 {
			delete(i.sent, name)
		}
	}
	letters := i.sent[org]
	if times := letters[email]; len(times) > 0 && now.Sub(times[len(times)-1]) < addressRest {
		return &domain.Error{Code: domain.CodeRateLimited, RetryAfter: addressRest, Message: "This address was invited less than a minute ago."}
	}
	recent := 0
	for _, times := range letters {
		recent += len(times)
	}
	if recent >= orgLetters {
		return &domain.Error{Code: domain.CodeRateLimited, RetryAfter: orgRest, Message: fmt.Sprintf("The organization has mailed %d invitations within an hour.", orgLetters)}
	}
	if letters == nil {
		letters = map[string][]time.Time{}
		i.sent[org] = letters
	}
	letters[email] = append(slices.DeleteFunc(letters[email], func(at time.Time) bool { return now.Sub(at) >= orgRest }), now)
	return nil
}

// SendInvitation makes one attempt to send an invitation.
func (i *Invitations) SendInvitation(ctx context.Context, mail signin.InvitationMail) error {
	ctx, cancel := context.WithTimeout(ctx, inviteTime)
	defer cancel()
	return i.mail.send(ctx, i.letter(&mail))
}

func (i *Invitations) letter(mail *signin.InvitationMail) letter {
	line := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	org, by := line(mail.Organization.Name), line(mail.Invitation.InvitedBy.Name)
	text := fmt.Sprintf(`%s invites you to the organization %s as %s.

Open this link to accept. It works once, until %s:

%s

Nobody else got this link. If you do not expect the invitation, ignore this message.
`, by, org, mail.Invitation.Role, mail.Invitation.ExpiresAt.UTC().Format("2 January 2006, 15:04 MST"), i.site()+"/console#invitation="+mail.Secret.Reveal())
	return letter{id: mail.Invitation.ID, to: []string{mail.Invitation.Email}, subject: "Invitation to " + org, text: text}
}
