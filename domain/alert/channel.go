package alert

import (
	"fmt"
	"net/mail"
	"slices"
	"time"

	"svc/domain"
)

// ChannelKind is the delivery method of a channel.
type ChannelKind string

// The kinds.
const (
	ChannelWebhook ChannelKind = "webhook"
	ChannelSlack   ChannelKind = "slack"
	ChannelEmail   ChannelKind = "email"
)

// ChannelKinds lists the kinds.
func ChannelKinds() []ChannelKind { return []ChannelKind{ChannelWebhook, ChannelSlack, ChannelEmail} }

// MaxRecipients limits the addresses of an e-mail channel.
const MaxRecipients = 20

// ChannelSpec describes a new channel.
type ChannelSpec struct {
	Name string      `json:"name"`
	Kind ChannelKind `json:"kind"`
	// URL receives the notices of webhooks and chats.
	URL string `json:"url"`
	// To are the addresses of an e-mail channel.
	To []string `json:"to"`
}

// ChannelPatch holds the fields of a request; nil fields keep their values.
type ChannelPatch struct {
	Name *string
	URL  *string
	To   *[]string
}

// With returns the specification with the fields of a patch.
func (s ChannelSpec) With(p ChannelPatch) ChannelSpec {
	domain.Assign(&s.Name, p.Name)
	domain.Assign(&s.URL, p.URL)
	domain.Assign(&s.To, p.To)
	return s
}

// Validate returns every problem of the specification, none if it is valid.
func (s ChannelSpec) Validate(targets domain.Targets) []domain.FieldError {
	problems := domain.ValidateName(s.Name)
	if !slices.Contains(ChannelKinds(), s.Kind) {
		return append(problems, domain.FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: domain.Texts(ChannelKinds())})
	}
	if s.Kind != ChannelEmail {
		if problem := targets.Check(s.URL); problem != nil {
			problems = append(problems, *problem)
		}
		return problems
	}
	return append(problems, ValidateRecipients("to", s.To)...)
}

// Channel delivers notices of incidents. Its target is a secret and is sealed.
type Channel struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Kind      ChannelKind `json:"kind"`
	Sealed    []byte      `json:"sealed"`
	CreatedAt time.Time   `json:"createdAt"`
}

// ChannelTarget is the destination of a channel.
type ChannelTarget struct {
	URL string   `json:"url,omitempty"`
	To  []string `json:"to,omitempty"`
	// Secret signs webhooks.
	Secret domain.Secret `json:"secret,omitempty"`
}

// Delivery is a notice on its way to one channel.
type Delivery struct {
	ID        string    `json:"id"`
	ChannelID string    `json:"channelId"`
	Notice    Notice    `json:"notice"`
	Attempts  int       `json:"attempts"`
	Next      time.Time `json:"next"`
	CreatedAt time.Time `json:"createdAt"`
}

// DeliveryTime is how long the service tries to deliver a notice.
const DeliveryTime = 24 * time.Hour

// Failed returns the delivery after a failed attempt, scheduled for a retry, and false if there is no further attempt.
func (d Delivery) Failed(now time.Time, retry bool) (Delivery, bool) {
	pauses := []time.Duration{30 * time.Second, 2 * time.Minute, 8 * time.Minute, 30 * time.Minute}
	d.Next = now.Add(pauses[min(d.Attempts, len(pauses)-1)])
	d.Attempts++
	return d, retry && d.Next.Sub(d.CreatedAt) < DeliveryTime
}

// ValidateRecipients refuses a list of e-mail addresses that is empty, too long or contains anything else.
func ValidateRecipients(field string, to []string) (problems []domain.FieldError) {
	if len(to) == 0 || len(to) > MaxRecipients {
		problems = append(problems, domain.FieldError{Field: field, Code: "out_of_range", Message: fmt.Sprintf("The field %s must list 1 to %d e-mail addresses.", field, MaxRecipients)})
	}
	for i, address := range to {
		if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
			problems = append(problems, domain.FieldError{Field: fmt.Sprintf("%s[%d]", field, i), Code: "invalid_email", Message: fmt.Sprintf("%q is no e-mail address.", address)})
		}
	}
	return problems
}
