package svc

import "time"

// CampaignFate is what became of one recipient.
type CampaignFate byte

// The fates. The letters are stored.
const (
	RecipientQueued    CampaignFate = 'q'
	RecipientClaimed   CampaignFate = 'c' // the message may be on its way
	RecipientWaits     CampaignFate = 'r' // the server asked for another attempt
	RecipientSent      CampaignFate = 's'
	RecipientBounced   CampaignFate = 'b' // the server says that there is no such address
	RecipientRefused   CampaignFate = 'f' // the server refuses the message
	RecipientGivenUp   CampaignFate = 't' // every attempt was postponed by the server
	RecipientUncertain CampaignFate = 'u' // a crash or a broken connection left it open whether the server took the message
	RecipientOptedOut  CampaignFate = 'o' // unsubscribed, bounced or complained before
	RecipientDuplicate CampaignFate = 'd' // the address is that of an earlier recipient
	RecipientErased    CampaignFate = 'e' // the person was erased since the snapshot
)

// Over reports whether the fate is final.
func (f CampaignFate) Over() bool {
	switch f {
	case RecipientQueued, RecipientClaimed, RecipientWaits:
		return false
	default:
		return true
	}
}

// Word returns the name of a final fate in statistics and timelines.
func (f CampaignFate) Word() string {
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

// CampaignSkips counts the people of an audience to whom nothing is sent, by why.
type CampaignSkips struct {
	OptedOut  int `json:"optedOut" doc:"Those who unsubscribed, opted out, or whose address bounced before."`
	NoAddress int `json:"noAddress" doc:"Those without an e-mail address, or with one that is none."`
	Duplicate int `json:"duplicate" doc:"Those whose address is that of another recipient."`
	Erased    int `json:"erased" doc:"Those who were erased after the snapshot."`
}

// Sum returns how many are skipped.
func (s CampaignSkips) Sum() int { return s.OptedOut + s.NoAddress + s.Duplicate + s.Erased }

// CampaignFailures counts the recipients whose message was not taken, by why.
type CampaignFailures struct {
	Bounced   int `json:"bounced" doc:"The mail server says that there is no such address."`
	Refused   int `json:"refused" doc:"The mail server refuses the message."`
	GivenUp   int `json:"givenUp" doc:"The mail server postponed every attempt."`
	Uncertain int `json:"uncertain" doc:"A crash or a broken connection left it open whether the mail server took the message; it is not sent again."`
}

// Sum returns how many have failed.
func (f CampaignFailures) Sum() int { return f.Bounced + f.Refused + f.GivenUp + f.Uncertain }

// CampaignProgress is how far the sending of a campaign is. Sent, failed, skipped and queued recipients are the audience.
type CampaignProgress struct {
	// Size is how many people the audience has; TakenAt is zero until all of it is known.
	Size     int
	TakenAt  time.Time
	Sent     int
	Failures CampaignFailures
	Skips    CampaignSkips
	// Trouble says why nothing is sent at the moment, "" where nothing is in the way.
	Trouble string
	// Opened and Clicked count recipients.
	Opened, Clicked int
}

// Count adds recipients of a fate.
func (p *CampaignProgress) Count(fate CampaignFate, recipients int) {
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
	default: // it is queued
	}
}

// Queued returns how many recipients are left.
func (p *CampaignProgress) Queued() int {
	return p.Size - p.Sent - p.Failures.Sum() - p.Skips.Sum()
}

// CampaignPage is a page of an audience: those who have an address, and how many are skipped.
type CampaignPage struct {
	Recipients []CampaignRecipient
	Skips      CampaignSkips
	// Cursor is where the next page begins; where Done is set, there is none.
	Cursor string
	Done   bool
}

// CampaignOutcome is what became of one recipient, for the store.
type CampaignOutcome struct {
	Number  uint32
	Visitor uint64
	Fate    CampaignFate
	At      time.Time
	// Detail is what the mail server answered.
	Detail string
}

// OptOutTraits are the traits by which a person says that campaigns are unwanted, where they are true.
func OptOutTraits() []string { return []string{"unsubscribed", "emailOptOut", "email_opt_out"} }

// MailVerdict is how a mail server answered.
type MailVerdict int

// The verdicts.
const (
	// MailTaken is a yes.
	MailTaken MailVerdict = iota
	// MailPostponed asks for another attempt later, MailRefused for none; MailBounced says that there is no such address, and
	// MailSenderRefused that nothing is taken from this sender.
	MailPostponed
	MailRefused
	MailBounced
	MailSenderRefused
	// MailBroken is no answer: the connection is of no more use.
	MailBroken
)

// MailReply is an answer of a mail server.
type MailReply struct {
	Verdict MailVerdict
	Text    string
}
