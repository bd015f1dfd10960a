package mailing

import (
	"context"
	"errors"
	"net"
	"net/smtp"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/campaign"
	"svc/http/outbound"
)

// Mailer sends the messages of campaigns to the mail server of the operator.
type Mailer struct {
	Server outbound.Mail
	Links  Links
	Now    func() time.Time
}

// Ready reports whether a channel has a sender.
func (m *Mailer) Ready(channel campaign.Channel) bool {
	return channel == campaign.ChannelMail && m.Server.Server != "" && m.Links.Base != ""
}

// Check returns the problems of a content that prevent sending it.
func (m *Mailer) Check(content *campaign.Content) []domain.FieldError { return checkLinks(content) }

// Letter prepares the messages of a campaign.
func (m *Mailer) Letter(ref domain.AppRef, campaign *campaign.Mailing) (*Letter, error) {
	if problems := checkLinks(&campaign.Content); len(problems) > 0 {
		return nil, domain.Invalid(problems...)
	}
	return newLetter(ref, campaign, m.Server.From, m.Links, m.Now), nil
}

// Connect opens a connection to the mail server.
func (m *Mailer) Connect(ctx context.Context) (*Connection, error) {
	client, conn, err := m.Server.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &Connection{client: client, conn: conn}, nil
}

// Connection is one connection to a mail server. It is used for one message at a time.
type Connection struct {
	client *smtp.Client
	conn   net.Conn
	// offered means that a transaction is open, over that the connection is unusable.
	offered, over bool
}

// within bounds the requests to the server by a context, and returns the function that lifts the bound.
func (c *Connection) within(ctx context.Context) func() bool {
	deadline, _ := ctx.Deadline()
	_ = c.conn.SetDeadline(deadline) // A broken connection fails at its next use.
	return context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
}

// Offer names the sender and the recipient of a message.
func (c *Connection) Offer(ctx context.Context, from, to string) campaign.MailReply {
	if c.over {
		return campaign.MailReply{Verdict: campaign.MailBroken, Text: "the mail server has ended the connection"}
	}
	defer c.within(ctx)()
	if c.offered {
		if err := c.client.Reset(); err != nil {
			return c.broken(err)
		}
	}
	c.offered = true
	if err := c.client.Mail(from); err != nil {
		if code, text := answered(err); code >= 500 {
			return campaign.MailReply{Verdict: campaign.MailSenderRefused, Text: text}
		}
		return c.broken(err) // The server accepts nothing at the moment.
	}
	if err := c.client.Rcpt(to); err != nil {
		return c.judged(err, true)
	}
	return campaign.MailReply{}
}

// Send sends the message after its recipient was accepted.
func (c *Connection) Send(ctx context.Context, message []byte) campaign.MailReply {
	defer c.within(ctx)()
	body, err := c.client.Data()
	if err != nil {
		reply := c.judged(err, false)
		if reply.Verdict == campaign.MailBroken {
			reply.Verdict = campaign.MailPostponed // No part of the message was sent.
		}
		return reply
	}
	if _, err := body.Write(message); err != nil {
		return c.broken(err)
	}
	if err := body.Close(); err != nil {
		return c.judged(err, false)
	}
	c.offered = false
	return campaign.MailReply{}
}

// Reset cancels an offer.
func (c *Connection) Reset(ctx context.Context) campaign.MailReply {
	defer c.within(ctx)()
	if err := c.client.Reset(); err != nil {
		return c.broken(err)
	}
	c.offered = false
	return campaign.MailReply{}
}

// quitTime bounds the QUIT.
const quitTime = time.Second

// Close ends the connection.
func (c *Connection) Close() {
	_ = c.conn.SetDeadline(time.Now().Add(quitTime)) //nolint:forbidigo // a deadline of the operating system
	if c.over || c.client.Quit() != nil {
		_ = c.client.Close()
	}
}

// broken is the reply of an unusable connection.
func (c *Connection) broken(err error) campaign.MailReply {
	c.over = true
	return campaign.MailReply{Verdict: campaign.MailBroken, Text: err.Error()}
}

// closing is the status with which a server ends the connection.
const closing = 421

// judged is the reply for an error; address reports whether the server was asked about the recipient.
func (c *Connection) judged(err error, address bool) campaign.MailReply {
	code, text := answered(err)
	switch {
	case code == 0, code == closing && address:
		return c.broken(err)
	case code == closing:
		c.over = true
		return campaign.MailReply{Verdict: campaign.MailPostponed, Text: text}
	case code < 500:
		return campaign.MailReply{Verdict: campaign.MailPostponed, Text: text}
	case address && unknownAddress(code, text):
		return campaign.MailReply{Verdict: campaign.MailBounced, Text: text}
	}
	return campaign.MailReply{Verdict: campaign.MailRefused, Text: text}
}

// answered returns the status and the text of a server's answer; 0 if there is no answer.
func answered(err error) (code int, text string) {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return reply.Code, strconv.Itoa(reply.Code) + " " + strings.Join(strings.Fields(reply.Msg), " ")
	}
	return 0, err.Error()
}

// unknownAddress reports whether a refusal means that the address does not exist: by its enhanced status (RFC 3463), or
// by its status if it has none.
func unknownAddress(code int, text string) bool {
	words := strings.Fields(text)
	if len(words) > 1 && strings.Count(words[1], ".") == 2 && strings.HasPrefix(words[1], "5.") {
		return slices.Contains([]string{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"}, words[1])
	}
	return code == 550 || code == 551 || code == 553
}
