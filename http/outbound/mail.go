package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/smtp"
	"net/url"
	"strings"
	"time"

	"svc"
)

// ErrNoMail is the refusal of e-mail if the operator has configured no server.
var ErrNoMail = errors.New("no mail server is configured")

// Mail sends e-mail. The server is the operator's and may have any address.
type Mail struct {
	// Server is smtp://user:password@host:port (STARTTLS if the server offers it) or smtps://…;
	// empty sends nothing.
	Server svc.Secret
	From   string
	Now    func() time.Time
}

// CheckServer returns why a URL is not that of a mail server, nil if it is.
func CheckServer(server string) error {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" {
		return errors.New("not smtp://host:port or smtps://host:port")
	}
	return nil
}

// letter is one message.
type letter struct {
	// id is equal for every attempt to send the same message.
	id            string
	to            []string
	subject, text string
}

// send delivers one message to all of its recipients.
func (m Mail) send(ctx context.Context, l letter) (err error) {
	if m.Server == "" {
		return ErrNoMail
	}
	server, err := url.Parse(m.Server.Reveal())
	if err != nil {
		return ErrNoMail
	}
	client, err := m.connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connecting to the mail server: %w", err)
	}
	defer func() { _ = client.Close() }()
	if server.User != nil {
		password, _ := server.User.Password()
		if err := client.Auth(smtp.PlainAuth("", server.User.Username(), password, server.Hostname())); err != nil {
			return fmt.Errorf("signing in at the mail server: %w", err)
		}
	}
	if err := client.Mail(m.From); err != nil {
		return fmt.Errorf("naming the sender: %w", err)
	}
	for _, address := range l.to {
		if err := client.Rcpt(address); err != nil {
			return fmt.Errorf("naming a recipient: %w", err)
		}
	}
	body, err := client.Data()
	if err != nil {
		return fmt.Errorf("sending the message: %w", err)
	}
	if _, err := body.Write(m.message(l)); err != nil {
		return fmt.Errorf("sending the message: %w", err)
	}
	if err := body.Close(); err != nil {
		return fmt.Errorf("sending the message: %w", err)
	}
	return client.Quit()
}

// connect connects to the server and greets it, encrypted if the server can.
func (m Mail) connect(ctx context.Context, server *url.URL) (*smtp.Client, error) {
	ports := map[string]string{"smtp": "587", "smtps": "465"}
	address := server.Host
	if server.Port() == "" {
		address = net.JoinHostPort(server.Hostname(), ports[server.Scheme])
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	config := &tls.Config{ServerName: server.Hostname(), MinVersion: tls.VersionTLS12}
	if server.Scheme == "smtps" {
		conn = tls.Client(conn, config)
	}
	client, err := smtp.NewClient(conn, server.Hostname())
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if offered, _ := client.Extension("STARTTLS"); offered && server.Scheme == "smtp" {
		if err := client.StartTLS(config); err != nil {
			return nil, errors.Join(err, client.Close())
		}
	}
	return client, nil
}

// message returns the message in its wire form. No text of a user reaches a header unescaped.
func (m Mail) message(l letter) []byte {
	_, host, _ := strings.Cut(m.From, "@")
	var out strings.Builder
	for _, header := range [][2]string{
		{"From", m.From},
		{"To", strings.Join(l.to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", strings.Join(strings.Fields(l.subject), " "))},
		{"Date", m.Now().UTC().Format(time.RFC1123Z)},
		{"Message-ID", "<" + l.id + "@" + cmp.Or(host, "localhost") + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "base64"},
	} {
		out.WriteString(header[0] + ": " + header[1] + "\r\n")
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(l.text))
	for len(encoded) > 0 {
		n := min(76, len(encoded))
		out.WriteString("\r\n" + encoded[:n])
		encoded = encoded[n:]
	}
	out.WriteString("\r\n")
	return []byte(out.String())
}
