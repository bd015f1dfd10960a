package mailing

import (
	"bytes"
	"html"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/campaign"
	"svc/http/outbound"
)

// Letter makes the messages of one campaign.
type Letter struct {
	ref      domain.AppRef
	id       string
	from     mail.Address
	replyTo  string
	links    Links
	now      func() time.Time
	urls     []string
	subject  *template
	text     *template
	html     *template
	textOnly bool
}

// unsubscribeText and unsubscribeHTML end messages that have no unsubscription link of their own.
const (
	unsubscribeText = "\n\n--\nUnsubscribe: {{unsubscribeUrl}}\n"
	unsubscribeHTML = `<p style="font-size:12px;color:#666"><a href="{{unsubscribeUrl}}">Unsubscribe</a></p>`
)

// pixelMark is the placeholder in the template for the address of the picture that shows that a message was opened.
const pixelMark = "\x00pixel\x00"

// newLetter prepares the messages of a campaign.
func newLetter(ref domain.AppRef, campaign *campaign.Mailing, sender string, links Links, now func() time.Time) *Letter {
	c := &campaign.Content
	letter := &Letter{ref: ref, id: campaign.ID, from: mail.Address{Name: c.From.Name, Address: c.From.Address}, replyTo: domain.ASCIIAddress(c.ReplyTo), links: links, now: now, textOnly: c.HTML == ""}
	if letter.from.Address == "" {
		letter.from.Address = sender
	}
	letter.from.Address = domain.ASCIIAddress(letter.from.Address)
	found := &linked{}
	letter.subject = &template{}
	letter.subject.text(c.Subject)
	plain := c.Text
	if plain == "" {
		plain = plainOf(c.HTML)
	}
	letter.text = plainTemplate(plain, found)
	if !letter.text.has("unsubscribeUrl") {
		letter.text.text(unsubscribeText)
	}
	if !letter.textOnly {
		end := `<img src="` + pixelMark + `" width="1" height="1" alt="">`
		if !strings.Contains(c.HTML, "unsubscribeUrl") {
			end = unsubscribeHTML + end
		}
		preheader := ""
		if c.Preheader != "" {
			preheader = `<div style="display:none;max-height:0;overflow:hidden">` + html.EscapeString(c.Preheader) + `</div>`
		}
		letter.html = htmlTemplate(c.HTML, preheader, end, found)
	}
	letter.urls = found.urls
	if letter.urls == nil {
		letter.urls = []string{}
	}
	return letter
}

// Links returns the target addresses of the links, by number.
func (l *Letter) Links() []string { return l.urls }

// Sender returns the address of the sender.
func (l *Letter) Sender() string { return l.from.Address }

// link returns the address of a link of a recipient.
func (l *Letter) link(to *campaign.Recipient) func(number int) string {
	return func(number int) string {
		return l.links.Base + clickPath + l.links.seal(purposeClick, token{ref: l.ref, campaign: l.id, number: to.Number, link: uint16(number - 1)})
	}
}

// Message returns the message to a recipient in its wire form.
func (l *Letter) Message(to *campaign.Recipient) []byte {
	unsubscribe := l.links.unsubscribe(l.ref, l.id, to.Address)
	var head outbound.Header
	_, d, _ := strings.Cut(l.from.Address, "@")
	head.Address("From", l.from)
	head.Address("To", mail.Address{Address: to.Address})
	if l.replyTo != "" {
		head.Address("Reply-To", mail.Address{Address: l.replyTo})
	}
	head.Text("Subject", l.subject.render(to, unsubscribe, l.link(to)))
	head.Add("Date", l.now().UTC().Format(time.RFC1123Z))
	head.Add("Message-ID", "<"+l.id+"."+strconv.FormatUint(uint64(to.Number), 10)+"@"+d+">")
	head.Add("List-Unsubscribe", "<"+domain.ASCIIURL(unsubscribe)+">")
	head.Add("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	head.Add("Precedence", "bulk")
	head.Add("Auto-Submitted", "auto-generated")
	head.Add("MIME-Version", "1.0")
	var out bytes.Buffer
	if l.textOnly {
		head.Add("Content-Type", "text/plain; charset=utf-8")
		head.Add("Content-Transfer-Encoding", "quoted-printable")
		out.WriteString(head.String() + "\r\n")
		writeQuoted(quotedprintable.NewWriter(&out), l.text.render(to, unsubscribe, l.link(to)))
		return out.Bytes()
	}
	parts := multipart.NewWriter(&out)
	head.Add("Content-Type", `multipart/alternative; boundary="`+parts.Boundary()+`"`)
	out.WriteString(head.String() + "\r\n")
	pixel := l.links.Base + openPath + l.links.seal(purposeOpen, token{ref: l.ref, campaign: l.id, number: to.Number})
	writePart(parts, "text/plain", l.text.render(to, unsubscribe, l.link(to)))
	writePart(parts, "text/html", strings.Replace(l.html.render(to, unsubscribe, l.link(to)), pixelMark, pixel, 1))
	_ = parts.Close() // Writing to memory cannot fail.
	return out.Bytes()
}

// writePart adds a part of a message.
func writePart(parts *multipart.Writer, kind, text string) {
	part, _ := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"}}) // Writing to memory cannot fail.
	writeQuoted(quotedprintable.NewWriter(part), text)
}

// writeQuoted writes a text with the line ends of mail.
func writeQuoted(out *quotedprintable.Writer, text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	_, _ = out.Write([]byte(text)) // Writing to memory cannot fail.
	_ = out.Close()
}
