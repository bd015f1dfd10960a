package campaigns

import (
	"context"
	"log/slog"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/campaign"
)

// Ports holds the dependencies of a node's senders.
type Ports struct {
	Actors   grain.Caller
	Audience Audience
	Store    Store
	Mailer   Mailer
	Hasher   Hasher
	// Erased reports whether a visitor was erased since an instant.
	Erased func(environment, visitor uint64, sinceMs int64) bool
	// Allowed reports whether an application exists and has the module; otherwise nothing is sent.
	Allowed func(ctx context.Context, ref domain.AppRef) (bool, error)
	Random  grain.Random
	// Runs end before the actors of the node.
	Runs   *Runs
	Logger *slog.Logger
}

// Audience returns the recipients of a campaign.
type Audience interface {
	// Page returns the people after a cursor; the empty one is the beginning. It fails with not_found if the audience
	// no longer exists, for example after its segment was deleted.
	Page(ctx context.Context, ref domain.AppRef, campaign *campaign.Mailing, cursor string) (campaign.Page, error)
}

// Store stores recipients and their outcomes.
type Store interface {
	// AppendRecipients adds a page of an audience.
	AppendRecipients(ctx context.Context, campaign *campaign.Mailing, batch uint64, recipients []campaign.Recipient) error
	// Recipients returns recipients from a number on, by their numbers, and the ones that share the address of an
	// earlier one. Only recipients of the given pages count.
	Recipients(ctx context.Context, campaign *campaign.Mailing, batches []uint64, first uint32, count int) ([]campaign.Recipient, map[uint32]bool, error)
	// AppendOutcomes adds outcomes of recipients; repeating it under the same first number changes nothing.
	AppendOutcomes(ctx context.Context, campaign *campaign.Mailing, outcomes []campaign.Outcome) error
}

// Mailer sends e-mail.
type Mailer interface {
	// Letter prepares the messages of a campaign. It fails with a domain.Error if that is not possible.
	Letter(ref domain.AppRef, campaign *campaign.Mailing) (Letter, error)
	// Connect opens a connection to the mail server.
	Connect(ctx context.Context) (Connection, error)
}

// Letter makes the messages of one campaign.
type Letter interface {
	// Links returns the targets of the campaign's links, by number. Without links it is empty, never nil.
	Links() []string
	// Sender returns the sender address of the messages.
	Sender() string
	// Message returns the message to a recipient in its wire form.
	Message(to *campaign.Recipient) []byte
}

// Connection is one connection to a mail server. It is used for one message at a time.
type Connection interface {
	// Offer names the sender and the recipient of a message.
	Offer(ctx context.Context, from, to string) campaign.MailReply
	// Send sends the message after its recipient was accepted.
	Send(ctx context.Context, message []byte) campaign.MailReply
	// Reset withdraws an offer.
	Reset(ctx context.Context) campaign.MailReply
	Close()
}
