package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/url"
	"strings"
	"time"

	"svc/domain"
)

// ErrNoMail is the refusal of e-mail if the operator has configured no server.
var ErrNoMail = errors.New("no mail server is configured")

// Mail sends e-mail. The server is the operator's and may have any address.
type Mail struct {
	// Server is smtp://user:password@host:port (STARTTLS if the server offers it) or smtps://…;
	// empty sends nothing.
	Server domain.Secret
	From   string
	Now    func() time.Time
}

// CheckServer returns the reason why a URL is not a mail server's, nil if it is.
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
	// html is the same text as HTML; empty means that the message has none.
	html string
	// unsubscribe is the link by which the recipient unsubscribes; empty means no link. A POST to it unsubscribes at
	// once (RFC 8058).
	unsubscribe string
}

// Connect opens a connection to the server, encrypted if the server supports it, and signs in. The deadline of ctx
// applies to the connection until the caller sets another one. It fails with ErrNoMail if no server is configured.
func (m Mail) Connect(ctx context.Context) (*smtp.Client, net.Conn, error) {
	server, err := url.Parse(m.Server.Reveal())
	if err != nil || m.Server == "" {
		return nil, nil, ErrNoMail
	}
	client, conn, err := m.connect(ctx, server)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the mail server: %w", err)
	}
	if server.User != nil {
		password, _ := server.User.Password()
		if err := client.Auth(smtp.PlainAuth("", server.User.Username(), password, server.Hostname())); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("signing in at the mail server: %w", err), client.Close())
		}
	}
	return client, conn, nil
}

// send delivers one message to all of its recipients.
func (m Mail) send(ctx context.Context, l letter) (err error) {
	client, _, err := m.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if err := client.Mail(domain.ASCIIAddress(m.From)); err != nil {
		return fmt.Errorf("naming the sender: %w", err)
	}
	for _, address := range l.to {
		if err := client.Rcpt(domain.ASCIIAddress(address)); err != nil {
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

// connect connects to the server and sends the greeting, encrypted if the server supports it. It returns the plain
// connection too.
func (m Mail) connect(ctx context.Context, server *url.URL) (*smtp.Client, net.Conn, error) {
	ports := map[string]string{"smtp": "587", "smtps": "465"}
	address := server.Host
	if server.Port() == "" {
		address = net.JoinHostPort(server.Hostname(), ports[server.Scheme])
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, err
	}
	if deadline, bounded := ctx.Deadline(); bounded {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, nil, errors.Join(err, conn.Close())
		}
	}
	raw := conn
	config := &tls.Config{ServerName: server.Hostname(), MinVersion: tls.VersionTLS12}
	if server.Scheme == "smtps" {
		conn = tls.Client(conn, config)
	}
	client, err := smtp.NewClient(conn, server.Hostname())
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	if offered, _ := client.Extension("STARTTLS"); offered && server.Scheme == "smtp" {
		if err := client.StartTLS(config); err != nil {
			return nil, nil, errors.Join(err, client.Close())
		}
	}
	return client, raw, nil
}

// message returns the message in its wire form. No text of a user reaches a header unescaped.
func (m Mail) message(l letter) []byte {
	_, host, _ := strings.Cut(m.From, "@")
	var out Header
	out.Add("From", domain.ASCIIAddress(m.From))
	to := make([]string, len(l.to))
	for i, address := range l.to {
		to[i] = domain.ASCIIAddress(address)
	}
	out.Add("To", strings.Join(to, ", "))
	out.Text("Subject", l.subject)
	out.Add("Date", m.Now().UTC().Format(time.RFC1123Z))
	out.Add("Message-ID", "<"+l.id+"@"+domain.ASCIIHost(cmp.Or(host, "localhost"))+">")
	out.Add("Auto-Submitted", "auto-generated")
	if l.unsubscribe != "" {
		out.Add("List-Unsubscribe", "<"+domain.ASCIIURL(l.unsubscribe)+">")
		out.Add("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	out.Add("MIME-Version", "1.0")
	part := func(kind, text string) {
		out.Add("Content-Type", kind+"; charset=utf-8")
		out.Add("Content-Transfer-Encoding", "base64")
		out.WriteString(wrapped(text) + "\r\n")
	}
	if l.html == "" {
		part("text/plain", l.text)
		return []byte(out.String())
	}
	boundary := "part-" + l.id // No line of base64 contains a hyphen.
	out.Add("Content-Type", `multipart/alternative; boundary="`+boundary+`"`)
	for _, form := range [][2]string{{"text/plain", l.text}, {"text/html", l.html}} {
		out.WriteString("\r\n--" + boundary + "\r\n")
		part(form[0], form[1])
	}
	out.WriteString("\r\n--" + boundary + "--\r\n")
	return []byte(out.String())
}

// wrapped returns a text as lines of base64, each after an end of line.
func wrapped(text string) string {
	const width = 76
	var out strings.Builder
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	for len(encoded) > 0 {
		n := min(width, len(encoded))
		out.WriteString("\r\n" + encoded[:n])
		encoded = encoded[n:]
	}
	return out.String()
}
