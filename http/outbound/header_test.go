package outbound

import (
	"mime"
	"net/mail"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/domain"
)

// FuzzHeaders writes any text as a subject and as a display name, and parses it as a mail program does.
func FuzzHeaders(f *testing.F) {
	for _, text := range []string{
		"", "Weekly report", strings.Repeat("漢字", 50), strings.Repeat("Grüße an alle ", 30), strings.Repeat("x", 2000), strings.Repeat("two words ", 100),
		strings.Repeat("🙂", 300), "=?utf-8?q?Bcc?=", "A\r\nBcc: x@y.example", "a \"quoted\" \\ name, (with) <signs>", "\x00\x1b[31m", "\xff\xfe", "é", "x = y_z? é",
		strings.Repeat("a", 59) + " " + strings.Repeat(`"`, 60), "\u00ad", strings.Repeat("é", 34) + " " + strings.Repeat("e", 100),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			t.Skip()
		}
		var head Header
		head.Address("From", mail.Address{Name: text, Address: "svc@acme.example"})
		head.Text("Subject", text)
		wire := head.String()
		for line := range strings.SplitSeq(strings.TrimSuffix(wire, "\r\n"), "\r\n") {
			if len(line) > 150 || strings.TrimSpace(line) == "" || strings.ContainsAny(line, "\r\n") {
				t.Errorf("a line of %d bytes: %q", len(line), line)
			}
			for word := range strings.FieldsSeq(line) {
				if strings.HasPrefix(word, "=?") && len(word) > encodedWord {
					t.Errorf("an encoded word of %d bytes: %q", len(word), word)
				}
			}
		}
		message, err := mail.ReadMessage(strings.NewReader(wire + "\r\n"))
		if err != nil || len(message.Header) != 2 {
			t.Fatalf("%v: %q", err, wire)
		}
		want := oneLine(strings.ToValidUTF8(oneLine(text), "\uFFFD"))
		if got, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject")); err != nil || got != want {
			t.Errorf("%v: the subject is %q, want %q", err, got, want)
		}
		from, err := mail.ParseAddress(message.Header.Get("From"))
		if err != nil || from.Address != "svc@acme.example" || from.Name != want || !utf8.ValidString(from.Name) {
			t.Errorf("%v: from %v, want %q in %q", err, from, want, wire)
		}
	})
}

// TestHeaders writes headers in full.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		write func(h *Header)
		want  string
	}{
		"plain":   {func(h *Header) { h.Text("Subject", "Hi") }, "Subject: Hi\r\n"},
		"no name": {func(h *Header) { h.Address("To", mail.Address{Address: "a@b.example"}) }, "To: <a@b.example>\r\n"},
		"name":    {func(h *Header) { h.Address("To", mail.Address{Name: `A "B"`, Address: "a@b.example"}) }, `To: "A \"B\"" <a@b.example>` + "\r\n"},
		"words": {
			func(h *Header) { h.Text("Subject", strings.Repeat("seven77 ", 12)) },
			"Subject: seven77 seven77 seven77 seven77 seven77 seven77 seven77 seven77\r\n seven77 seven77 seven77 seven77\r\n",
		},
		"recipients": {
			func(h *Header) { h.Add("To", strings.Repeat("somebody@acme.example, ", 3)+"x@acme.example") },
			"To: somebody@acme.example, somebody@acme.example, somebody@acme.example,\r\n x@acme.example\r\n",
		},
		"Q": {func(h *Header) { h.Address("From", mail.Address{Name: "Acme Ñews", Address: "a@b.example"}) }, "From: =?utf-8?q?Acme_=C3=91ews?= <a@b.example>\r\n"},
		"B": {
			func(h *Header) { h.Text("Subject", strings.Repeat("漢", 20)) },
			"Subject: =?utf-8?b?5ryi5ryi5ryi5ryi5ryi5ryi5ryi5ryi5ryi5ryi5ryi5ryi5ryi5ryi?=\r\n =?utf-8?b?5ryi5ryi5ryi5ryi5ryi5ryi?=\r\n",
		},
	} {
		var head Header
		if test.write(&head); head.String() != test.want {
			t.Errorf("%s: %q, want %q", name, head.String(), test.want)
		}
	}
}

// TestLettersGoToDomainsInOtherAlphabets sends a notice between domains in other alphabets.
func TestLettersGoToDomainsInOtherAlphabets(t *testing.T) {
	t.Parallel()
	address, heard := postOffice(t)
	m := Mail{Server: domain.Secret("smtp://" + address), From: "svc@bücher.example", Now: noon}
	err := m.send(t.Context(), letter{id: "l1", to: []string{"jo@müller.example", "ada@acme.example"}, subject: strings.Repeat("週", 90), text: "Hi", unsubscribe: "https://bücher.example/ä?b=é"})
	if err != nil {
		t.Fatal(err)
	}
	session := <-heard
	for _, part := range []string{
		"MAIL FROM:<svc@xn--bcher-kva.example>\n", "RCPT TO:<jo@xn--mller-kva.example>\n", "RCPT TO:<ada@acme.example>\n", "From: svc@xn--bcher-kva.example\n",
		"To: jo@xn--mller-kva.example, ada@acme.example\n", "Message-ID: <l1@xn--bcher-kva.example>\n", "List-Unsubscribe: <https://xn--bcher-kva.example/%C3%A4?b=%C3%A9>\n",
	} {
		if !strings.Contains(session, part) {
			t.Errorf("%q is missing in\n%s", part, session)
		}
	}
	for line := range strings.SplitSeq(session, "\n") {
		if len(line) > headerLine {
			t.Errorf("a line has %d bytes: %s", len(line), line)
		}
	}
}
