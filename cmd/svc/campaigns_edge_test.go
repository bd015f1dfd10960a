package main

import (
	"fmt"
	"mime"
	"regexp"
	"strings"
	"testing"
)

// TestCampaignsInOtherAlphabets sends a campaign with a long name, links and addresses that are not ASCII.
func TestCampaignsInOtherAlphabets(t *testing.T) {
	t.Parallel()
	mailServer := startMail(t, nil)
	s := startServer(t, t.TempDir(), mailed(mailServer))
	addresses := []string{"jo@müller.example", "JO@XN--MLLER-KVA.example", "jö@plain.example", "ada@plain.example"}
	s.known(t, len(addresses), func(n int) map[string]any {
		return map[string]any{"email": addresses[n], "name": strings.Repeat("名前", 50)}
	})
	o := s.operators(t)
	name := strings.Repeat("漢字", 50)
	id := o.approved(t, fmt.Sprintf(`{"name":"Spring","from":{"name":%q,"address":"hello@acme.example"},"subject":"Für {{name}}",
		"text":"See https://en.wikipedia.org/wiki/Foo_(bar).","html":"<a href=\"https://x.example/straße/🙂?q=é\">x</a>","ratePerSecond":500}`, name))
	o.do(t, o.author, "POST", "/"+id+"/control", `{"action":"send"}`, 200)
	stats := s.completed(t, id)
	addsUp(t, stats, len(addresses))
	if skips := stats["skips"].(map[string]any); stats["sent"] != 2.0 || skips["noAddress"] != 1.0 || skips["duplicate"] != 1.0 {
		t.Errorf("H8: the statistics are %v", stats)
	}
	for _, to := range []string{"jo@xn--mller-kva.example", "ada@plain.example"} {
		message := mailServer.Body(to)
		for line := range strings.SplitSeq(message, "\n") {
			if line = strings.TrimSuffix(line, "\r"); len(line) > 78 && !strings.HasPrefix(line, "List-Unsubscribe: ") {
				t.Errorf("H2: a line has %d bytes: %s", len(line), line)
			}
		}
		header, texts := parts(t, message)
		from, err := new(mime.WordDecoder).DecodeHeader(header.Get("From"))
		subject, subjectErr := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
		if err != nil || subjectErr != nil || from != name+" <hello@acme.example>" || subject != "Für "+strings.Repeat("名前", 50) {
			t.Errorf("H2: from %q, subject %q; %v, %v", from, subject, err, subjectErr)
		}
		if plain := texts["text/plain"]; !regexp.MustCompile(`See http://svc\.example/m/c/[\w-]+\.`).MatchString(plain) {
			t.Errorf("H6: the text is %s", plain)
		}
		locations := map[string]string{
			"text/plain": "https://en.wikipedia.org/wiki/Foo_(bar)", // H6
			"text/html":  "https://x.example/stra%C3%9Fe/%F0%9F%99%82?q=%C3%A9",
		}
		for kind, want := range locations {
			clicked := regexp.MustCompile(`http://svc\.example/m/c/[\w-]+`).FindString(texts[kind])
			if got := s.visit(t, "GET", clicked, ""); got.status != 302 || got.header.Get("Location") != want {
				t.Errorf("H4, %s: %d %q, want %q", kind, got.status, got.header.Get("Location"), want)
			}
		}
	}
}
