package campaign

import "time"

// Fate is the outcome for one recipient.
type Fate byte

// The fates. The letters are stored.
const (
	RecipientQueued    Fate = 'q'
	RecipientClaimed   Fate = 'c' // the message may be on its way
	RecipientWaits     Fate = 'r' // the server asked for another attempt
	RecipientSent      Fate = 's'
	RecipientBounced   Fate = 'b' // the server reports that the address does not exist
	RecipientRefused   Fate = 'f' // the server refuses the message
	RecipientGivenUp   Fate = 't' // the server postponed every attempt
	RecipientUncertain Fate = 'u' // a crash or a broken connection left it unknown whether the server accepted the message
	RecipientOptedOut  Fate = 'o' // unsubscribed, bounced or complained before
	RecipientDuplicate Fate = 'd' // the address equals that of an earlier recipient
	RecipientErased    Fate = 'e' // the person was erased since the snapshot
)

// Over reports whether the fate is final.
func (f Fate) Over() bool {
	switch f {
	case RecipientQueued, RecipientClaimed, RecipientWaits:
		return false
	default:
		return true
	}
}

// Word returns the name of a final fate in statistics and timelines.
func (f Fate) Word() string {
	switch f {
	case RecipientSent:
		return "sent"
	case RecipientBounced:
		return "bounced"
	case RecipientRefused:
		return "refused"
	case RecipientGivenUp:
		return "given_up"
	case RecipientUncertain:
		return "uncertain"
	case RecipientOptedOut:
		return "opted_out"
	case RecipientDuplicate:
		return "duplicate"
	case RecipientErased:
		return "erased"
	default:
		return "queued"
	}
}

// Skips counts the skipped people of an audience by reason.
type Skips struct {
	OptedOut  int `json:"optedOut" doc:"Those who unsubscribed, opted out, or whose address bounced before."`
	NoAddress int `json:"noAddress" doc:"Those without an e-mail address, or with one that is none."`
	Duplicate int `json:"duplicate" doc:"Those whose address is that of another recipient."`
	Erased    int `json:"erased" doc:"Those who were erased after the snapshot."`
}

// Sum returns the total of skipped people.
func (s Skips) Sum() int { return s.OptedOut + s.NoAddress + s.Duplicate + s.Erased }

// Failures counts the recipients with a failed message by reason.
type Failures struct {
	Bounced   int `json:"bounced" doc:"The mail server says that there is no such address."`
	Refused   int `json:"refused" doc:"The mail server refuses the message."`
	GivenUp   int `json:"givenUp" doc:"The mail server postponed every attempt."`
	Uncertain int `json:"uncertain" doc:"A crash or a broken connection left it open whether the mail server took the message; it is not sent again."`
}

// Sum returns the total of failed recipients.
func (f Failures) Sum() int { return f.Bounced + f.Refused + f.GivenUp + f.Uncertain }

// Progress is the progress of sending a campaign. Sent, failed, skipped and queued recipients add up to the
// audience.
type Progress struct {
	// Size is the number of people in the audience; TakenAt is zero until all of it is known.
	Size     int
	TakenAt  time.Time
	Sent     int
	Failures Failures
	Skips    Skips
	// Trouble says why nothing is being sent at the moment, "" if nothing is wrong.
	Trouble string
	// Opened and Clicked count recipients.
	Opened, Clicked int
}

// Count adds recipients of a fate.
func (p *Progress) Count(fate Fate, recipients int) {
	switch fate {
	case RecipientSent:
		p.Sent += recipients
	case RecipientBounced:
		p.Failures.Bounced += recipients
	case RecipientRefused:
		p.Failures.Refused += recipients
	case RecipientGivenUp:
		p.Failures.GivenUp += recipients
	case RecipientUncertain:
		p.Failures.Uncertain += recipients
	case RecipientOptedOut:
		p.Skips.OptedOut += recipients
	case RecipientDuplicate:
		p.Skips.Duplicate += recipients
	case RecipientErased:
		p.Skips.Erased += recipients
	default: // the recipient is still queued
	}
}

// Queued returns the number of recipients that are left.
func (p *Progress) Queued() int {
	return p.Size - p.Sent - p.Failures.Sum() - p.Skips.Sum()
}

// Page is a page of an audience: the recipients with an address, and the number of skipped ones.
type Page struct {
	Recipients []Recipient
	Skips      Skips
	// Cursor is where the next page begins; it is empty with Done.
	Cursor string
	Done   bool
}

// Outcome is the outcome for one recipient, for the store.
type Outcome struct {
	Number  uint32
	Visitor uint64
	Fate    Fate
	At      time.Time
	// Detail is the mail server's answer.
	Detail string
}

// OptOutTraits are the traits that opt a person out of campaigns if they are true.
func OptOutTraits() []string { return []string{"unsubscribed", "emailOptOut", "email_opt_out"} }

// MailVerdict is the kind of a mail server's answer.
type MailVerdict int

// The verdicts.
const (
	// MailTaken is an acceptance.
	MailTaken MailVerdict = iota
	// MailPostponed asks for a later attempt, MailRefused for none. MailBounced says that the address does not exist,
	// MailSenderRefused that the server accepts nothing from this sender.
	MailPostponed
	MailRefused
	MailBounced
	MailSenderRefused
	// MailBroken means that there was no answer: the connection is unusable.
	MailBroken
)

// MailReply is an answer of a mail server.
type MailReply struct {
	Verdict MailVerdict
	Text    string
}
