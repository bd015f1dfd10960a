package campaigns

import (
	"context"
	"time"

	"svc/domain/campaign"
)

// ask is a message of a worker: a claim, a result, a refusal of the sender, or a job that was not tried.
type ask struct {
	job job
	// granted receives the answer to a claim; nil for other messages.
	granted chan bool
	result  *result
	// refused is the answer with which the mail server refused the sender. away says why the mail server did not
	// answer.
	refused, away string
}

const (
	// connectTime, offerTime and sendTime bound the calls of a mail server.
	connectTime = 20 * time.Second
	offerTime   = 60 * time.Second
	sendTime    = 2 * time.Minute
)

// retryDelays are the pauses between attempts if the server postpones a message; after the last one there is no retry.
func retryDelays() []time.Duration {
	return []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute}
}

// work makes attempts over one connection, which it reuses.
func (r *run) work(ctx context.Context) {
	var conn Connection
	for one := range r.jobs {
		said, next := r.attempt(ctx, conn, one)
		conn = next
		r.asks <- said
	}
	if conn != nil {
		conn.Close()
	}
}

// attempt tries to send to a recipient, and returns the connection if it is still usable.
func (r *run) attempt(ctx context.Context, conn Connection, one job) (ask, Connection) {
	if fate, err := r.unwanted(ctx, &one); err != nil || fate != campaign.RecipientQueued {
		if err != nil {
			return ask{job: one, away: "the service cannot be asked who has unsubscribed"}, conn
		}
		return r.over(one, fate, ""), conn
	}
	reply, conn := r.offer(ctx, conn, &one)
	switch reply.Verdict {
	case campaign.MailBroken:
		return ask{job: one, away: reply.Text}, nil
	case campaign.MailSenderRefused:
		return ask{job: one, refused: reply.Text}, conn
	case campaign.MailTaken:
	default:
		return r.judged(ctx, one, reply), conn
	}
	granted := make(chan bool, 1)
	r.asks <- ask{job: one, granted: granted}
	if !<-granted {
		if reset := conn.Reset(ctx); reset.Verdict != campaign.MailTaken {
			conn.Close()
			conn = nil
		}
		return ask{job: one}, conn
	}
	sending, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	reply = conn.Send(sending, r.letter.Message(&one.Recipient))
	switch reply.Verdict {
	case campaign.MailTaken:
		return r.over(one, campaign.RecipientSent, ""), conn
	case campaign.MailBroken:
		conn.Close()
		return r.over(one, campaign.RecipientUncertain, reply.Text), nil
	default:
		return r.judged(ctx, one, reply), conn
	}
}

// unwanted returns the fate of a recipient that must not receive anything, and RecipientQueued for others.
func (r *run) unwanted(ctx context.Context, one *job) (campaign.Fate, error) {
	if one.Address == "" || r.ports.Erased(r.campaign.EnvironmentNumber, one.Visitor, r.campaign.StartedAt.UnixMilli()) {
		return campaign.RecipientErased, nil
	}
	hash := r.ports.Hasher.AddressHash(r.ref, one.Address)
	found, err := suppressionsKnown.Ask(ctx, r.ports.Actors, suppressionsIdentity(r.ref, hash), knownAddresses{[]string{hash}})
	if err != nil || len(found.Hashes) == 0 {
		return campaign.RecipientQueued, err
	}
	return campaign.RecipientOptedOut, nil
}

// offer names the recipient to the mail server. It opens a new connection if there is no open one.
func (r *run) offer(ctx context.Context, conn Connection, one *job) (campaign.MailReply, Connection) {
	ctx, cancel := context.WithTimeout(ctx, offerTime)
	defer cancel()
	if conn != nil {
		reply := conn.Offer(ctx, r.letter.Sender(), one.Address)
		if reply.Verdict != campaign.MailBroken {
			return reply, conn
		}
		conn.Close()
	}
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := r.ports.Mailer.Connect(connecting)
	if err != nil {
		return campaign.MailReply{Verdict: campaign.MailBroken, Text: err.Error()}, nil
	}
	reply := conn.Offer(ctx, r.letter.Sender(), one.Address)
	if reply.Verdict == campaign.MailBroken {
		conn.Close()
		conn = nil
	}
	return reply, conn
}

// over is the message with the final result of a recipient.
func (r *run) over(one job, fate campaign.Fate, detail string) ask {
	return ask{job: one, result: &result{Number: one.Number, Fate: fate, Attempts: one.attempts + 1, Detail: detail}}
}

// judged returns the consequences of a refusal. An address that does not exist receives no further campaigns.
func (r *run) judged(ctx context.Context, one job, reply campaign.MailReply) ask {
	switch reply.Verdict {
	case campaign.MailPostponed:
		delays := retryDelays()
		if one.attempts >= len(delays) {
			return r.over(one, campaign.RecipientGivenUp, reply.Text)
		}
		said := r.over(one, campaign.RecipientWaits, reply.Text)
		said.result.Next = r.now().Add(delays[one.attempts])
		return said
	case campaign.MailBounced:
		hash := r.ports.Hasher.AddressHash(r.ref, one.Address)
		if err := suppress(ctx, r.ports.Actors, r.ref, suppressAddress{hash, reasonBounced, r.id}); err != nil {
			r.ports.Logger.Warn("suppressing an address that bounced failed", "campaign", r.id, "error", err)
		}
		return r.over(one, campaign.RecipientBounced, reply.Text)
	default:
		return r.over(one, campaign.RecipientRefused, reply.Text)
	}
}
