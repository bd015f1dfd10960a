package campaigns

import (
	"context"
	"log/slog"

	"svc"
	"svc/actors/grain"
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
	// Allowed reports whether an application is there and has the module; while it has not, nothing is sent.
	Allowed func(ctx context.Context, ref svc.AppRef) (bool, error)
	Random  grain.Random
	// Runs end before the actors of the node.
	Runs   *Runs
	Logger *slog.Logger
}

// Audience knows whom a campaign is for.
type Audience interface {
	// Page returns the people after a cursor; the empty one is the beginning. It fails with not_found where the audience is
	// gone, such as a deleted segment.
	Page(ctx context.Context, ref svc.AppRef, campaign *svc.Mailing, cursor string) (svc.CampaignPage, error)
}

// Store keeps recipients and what became of them.
type Store interface {
	// AppendRecipients adds a page of an audience.
	AppendRecipients(ctx context.Context, campaign *svc.Mailing, batch uint64, recipients []svc.CampaignRecipient) error
	// Recipients returns recipients from a number on by their numbers, and which of them have the address of an earlier one;
	// only those of the given pages count.
	Recipients(ctx context.Context, campaign *svc.Mailing, batches []uint64, first uint32, count int) ([]svc.CampaignRecipient, map[uint32]bool, error)
	// AppendOutcomes adds what became of recipients; to repeat it under the same first number changes nothing.
	AppendOutcomes(ctx context.Context, campaign *svc.Mailing, outcomes []svc.CampaignOutcome) error
}

// Mailer sends e-mail.
type Mailer interface {
	// Letter prepares the messages of a campaign. It fails with a svc.Error where that is not possible.
	Letter(ref svc.AppRef, campaign *svc.Mailing) (Letter, error)
	// Connect opens a connection to the mail server.
	Connect(ctx context.Context) (Connection, error)
}

// Letter makes the messages of one campaign.
type Letter interface {
	// Links returns the addresses that the links of the campaign lead to, by number. It is empty, never nil, where there are none.
	Links() []string
	// Sender returns the address that the messages come from.
	Sender() string
	// Message returns the message to a recipient in its wire form.
	Message(to *svc.CampaignRecipient) []byte
}

// Connection is one connection to a mail server. It is used for one message at a time.
type Connection interface {
	// Offer names the sender and the recipient of a message.
	Offer(ctx context.Context, from, to string) svc.MailReply
	// Send hands over the message whose recipient was taken.
	Send(ctx context.Context, message []byte) svc.MailReply
	// Reset takes an offer back.
	Reset(ctx context.Context) svc.MailReply
	Close()
}
