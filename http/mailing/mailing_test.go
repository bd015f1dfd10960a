package mailing

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/campaign"
	"svc/http/mailing/mailtest"
	"svc/http/outbound"
)

func ref() domain.AppRef { return domain.AppRef{Org: "acme", App: "web"} }

func testLinks() Links { return Links{Key: []byte("a key"), Base: "https://svc.example"} }

// TestTokensServeOnePurpose opens tokens under each purpose, and changed ones.
func TestTokensServeOnePurpose(t *testing.T) {
	t.Parallel()
	l := testLinks()
	sealed := map[string]token{
		purposeOpen:        {ref: ref(), campaign: "cmp_1", number: 70_000},
		purposeClick:       {ref: ref(), campaign: "cmp_1", number: 1 << 31, link: 499},
		purposeUnsubscribe: {ref: ref(), campaign: "cmp_1", hash: l.AddressHash(ref(), "Ada@Example.com ")},
	}
	for purpose, want := range sealed {
		text := l.seal(purpose, want)
		for other := range sealed {
			got, ok := l.open(other, text)
			if ok != (other == purpose) || ok && got != want {
				t.Errorf("%s as %s: %v %t, want %v", purpose, other, got, ok, want)
			}
		}
		for at := range text {
			changed := []byte(text)
			changed[at] ^= 0x15
			if _, ok := l.open(purpose, string(changed)); ok && string(changed) != text {
				t.Errorf("%s: the changed token %s is opened", purpose, changed)
			}
		}
		if _, ok := (Links{Key: []byte("another"), Base: l.Base}).open(purpose, text); ok {
			t.Errorf("%s: another key opens it", purpose)
		}
	}
	if l.AddressHash(ref(), "ada@example.com") != sealed[purposeUnsubscribe].hash || l.AddressHash(domain.AppRef{Org: "acme", App: "ios"}, "ada@example.com") == sealed[purposeUnsubscribe].hash {
		t.Error("the hash is not one of the address and the application")
	}
}

// TestTemplates renders texts for a recipient, each link as its number.
func TestTemplates(t *testing.T) {
	t.Parallel()
	to := &campaign.Recipient{Number: 3, Address: "ada@example.com", Name: `<b>Ada</b> Lovelace`}
	tests := map[string]struct {
		html       bool
		text, want string
		urls       []string
	}{
		"plain":            {text: "Hi {{firstName}}, {{ email }} {{name|x}}", want: "Hi <b>Ada</b>, ada@example.com <b>Ada</b> Lovelace"},
		"plain links":      {text: "(https://a.example/x?y=1). https://a.example/x?y=1", want: "(L1). L1", urls: []string{"https://a.example/x?y=1"}},
		"H6: brackets":     {text: "See https://w.example/Foo_(bar)", want: "See L1", urls: []string{"https://w.example/Foo_(bar)"}},
		"brackets around":  {text: "(see https://w.example/Foo_(bar)), [https://w.example/a[1]]!", want: "(see L1), [L2]!", urls: []string{"https://w.example/Foo_(bar)", "https://w.example/a[1]"}},
		"end of sentence":  {text: "https://w.example/x... https://w.example/y?! 见 https://w.example/z。", want: "L1... L2?! 见 L3。", urls: []string{"https://w.example/x", "https://w.example/y", "https://w.example/z"}},
		"slash at the end": {text: "https://w.example/a_(b)/", want: "L1", urls: []string{"https://w.example/a_(b)/"}},
		"braces":           {text: "{ {name} {{name}", want: "{ {name} {{name}"},
		"values in HTML":   {html: true, text: "<p>{{name}}</p>", want: "<p>&lt;b&gt;Ada&lt;/b&gt; Lovelace</p>E"},
		"links in HTML":    {html: true, text: `<a class="b" HREF='http://b.example/?a=1&amp;b=2'>x</a><a href="mailto:x@y.example">y</a>`, want: `<a class="b" href="L1">x</a><a href="mailto:x@y.example">y</a>E`, urls: []string{"http://b.example/?a=1&b=2"}},
		"ends in the body": {html: true, text: `<html><body bgcolor="red"><p>x</body></html>`, want: `<html><body bgcolor="red">P<p>xE</body></html>`},
		"unsubscribe":      {html: true, text: `<a href="{{unsubscribeUrl}}">no</a>`, want: `<a href="U">no</a>E`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			links := &linked{}
			var made *template
			if !test.html {
				made = plainTemplate(test.text, links)
			} else {
				made = htmlTemplate(test.text, strings.Repeat("P", strings.Count(test.text, "<body")), "E", links)
			}
			if got := made.render(to, "U", func(number int) string { return fmt.Sprint("L", number) }); got != test.want || fmt.Sprint(links.urls) != fmt.Sprint(test.urls) {
				t.Errorf("it is\n%s %q, want\n%s %q", got, links.urls, test.want, test.urls)
			}
		})
	}
}

// TestNoHeaderIsInjected uses names and subjects that try to end a header.
func TestNoHeaderIsInjected(t *testing.T) {
	t.Parallel()
	c := &campaign.Mailing{ID: "cmp_1"}
	c.Content = campaign.Content{From: campaign.Sender{Name: "A\r\nBcc: x@y.example"}, Subject: "Hi {{name}}", Text: "Hi"}
	letter := newLetter(ref(), c, "svc@acme.example", testLinks(), time.Now)
	message := string(letter.Message(&campaign.Recipient{Address: "ada@example.com", Name: "Ada\r\nBcc: z@y.example"}))
	head, _, _ := strings.Cut(message, "\r\n\r\n")
	for _, line := range strings.Split(head, "\r\n") {
		if strings.HasPrefix(strings.ToLower(line), "bcc") {
			t.Errorf("the header is\n%s", head)
		}
	}
}

// TestVerdictsOfAMailServer tests every answer of a server, over one connection while it remains usable.
func TestVerdictsOfAMailServer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		how          mailtest.Behaviour
		offer, send  campaign.MailVerdict
		again        campaign.MailVerdict
		offeredAlone bool
	}{
		"taken":              {},
		"no such address":    {how: mailtest.Behaviour{Rcpt: "550 5.1.1 no such user"}, offer: campaign.MailBounced, offeredAlone: true},
		"an old status":      {how: mailtest.Behaviour{Rcpt: "550 no such user"}, offer: campaign.MailBounced, offeredAlone: true},
		"a policy":           {how: mailtest.Behaviour{Rcpt: "550 5.7.1 not you"}, offer: campaign.MailRefused, offeredAlone: true},
		"later":              {how: mailtest.Behaviour{Rcpt: "451 4.7.1 grey"}, offer: campaign.MailPostponed, offeredAlone: true},
		"closing":            {how: mailtest.Behaviour{Rcpt: "421 4.3.2 bye"}, offer: campaign.MailBroken, again: campaign.MailBroken, offeredAlone: true},
		"refused message":    {how: mailtest.Behaviour{Data: "554 5.6.0 no"}, send: campaign.MailRefused},
		"postponed message":  {how: mailtest.Behaviour{Data: "452 4.3.1 full"}, send: campaign.MailPostponed},
		"closing message":    {how: mailtest.Behaviour{Data: "421 4.3.2 bye"}, send: campaign.MailPostponed, again: campaign.MailBroken},
		"dropped connection": {how: mailtest.Behaviour{Drop: true}, send: campaign.MailBroken, again: campaign.MailBroken},
		"silence":            {how: mailtest.Behaviour{Silent: true}, send: campaign.MailBroken, again: campaign.MailBroken},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &mailtest.Server{Answer: func(_ string, nth int) mailtest.Behaviour {
				if nth > 1 {
					return mailtest.Behaviour{}
				}
				return test.how
			}}
			if err := server.Start("127.0.0.1:0"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			mailer := &Mailer{Server: outbound.Mail{Server: domain.Secret(server.URL()), From: "svc@acme.example", Now: time.Now}}
			conn, err := mailer.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(conn.Close)
			if got := conn.Offer(t.Context(), "svc@acme.example", "a@b.example"); got.Verdict != test.offer {
				t.Errorf("the offer: %v, want %d", got, test.offer)
			}
			if !test.offeredAlone {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if test.how.Silent {
					ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
				}
				defer cancel()
				if got := conn.Send(ctx, []byte("Subject: x\r\n\r\nHi\r\n")); got.Verdict != test.send {
					t.Errorf("the message: %v, want %d", got, test.send)
				}
			}
			if got := conn.Offer(t.Context(), "svc@acme.example", "a@b.example"); got.Verdict != test.again {
				t.Errorf("the next offer: %v, want %d", got, test.again)
			}
		})
	}
}
