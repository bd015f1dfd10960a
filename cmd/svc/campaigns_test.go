package main

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/http/mailing/mailtest"
)

const campaignsPath = "/api/v1/apps/acme/web/campaigns"

// mailed is the environment of a node that sends campaigns to a mail server.
func mailed(server *mailtest.Server) map[string]string {
	return map[string]string{"SVC_MAIL_SERVER": server.URL(), "SVC_MAIL_FROM": "news@acme.example", "SVC_PUBLIC_URL": "http://svc.example"}
}

// startMail starts a mail server that records the accepted messages.
func startMail(t *testing.T, how func(to string, nth int) mailtest.Behaviour) *mailtest.Server {
	t.Helper()
	server := &mailtest.Server{Answer: how, Bodies: true}
	if err := server.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// operators are the sessions of an author and of a second member who has just signed in with a passkey.
type operators struct {
	s              *server
	author, second string
}

func (s *server) operators(t *testing.T) operators {
	t.Helper()
	return operators{s, s.seatedFresh(t, "bo@acme.example"), s.passkeySession(t)}
}

// seatedFresh creates an administrator and returns a session of the administrator.
func (s *server) seatedFresh(t *testing.T, email string) string {
	t.Helper()
	return s.seated(email, "admin")
}

// do sends a request of the console and expects a status.
func (o operators) do(t *testing.T, session, method, path, body string, status int) map[string]any {
	t.Helper()
	got := o.s.call(method, "/console"+campaignsPath+path, session, []byte(body), nil)
	if got.status != status {
		t.Fatalf("%s %s %s: %d %s", method, path, body, got.status, got.body)
	}
	return object(t, got.body)
}

// approved creates a campaign that may be sent, and returns its id.
func (o operators) approved(t *testing.T, body string) string {
	t.Helper()
	made := o.do(t, o.author, "POST", "", body, 201)["campaign"].(map[string]any)
	id := made["id"].(string)
	submitted := o.do(t, o.author, "POST", "/"+id+"/submit", "", 200)["campaign"].(map[string]any)
	o.do(t, o.second, "POST", "/"+id+"/decide", fmt.Sprintf(`{"decision":"approve","revision":%v}`, submitted["revision"]), 200)
	return id
}

// known creates known people, each with an address and a name.
func (s *server) known(t *testing.T, count int, traits func(n int) map[string]any) {
	t.Helper()
	for from := 0; from < count; from += 500 {
		var items []map[string]any
		for n := from; n < min(from+500, count); n++ {
			items = append(items, map[string]any{"type": "identify", "id": fmt.Sprintf("identify-%d", n), "distinctId": fmt.Sprintf("user-%d", n), "traits": traits(n)})
		}
		s.send(items...)
	}
	s.settled()
}

// writesTo sends a campaign to all known people. The mail server refuses the planted person's address, and repeats it
// in its answer.
func (s *server) writesTo(t *testing.T, people int) {
	t.Helper()
	o := s.operators(t)
	id := o.approved(t, `{"name":"Spring","subject":"Hello {{name}}","html":"<p>Dear {{name}}</p>","ratePerSecond":500}`)
	o.do(t, o.author, "POST", "/"+id+"/control", `{"action":"send"}`, 200)
	stats := s.completed(t, id)
	addsUp(t, stats, people)
	if stats["failed"] != 1.0 {
		t.Errorf("the mail server has not refused the planted person: %v", stats)
	}
}

// refusesPlanted starts a mail server for writesTo.
func refusesPlanted(t *testing.T) *mailtest.Server {
	t.Helper()
	return startMail(t, func(to string, _ int) mailtest.Behaviour {
		if to == planted["e-mail"] {
			return mailtest.Behaviour{Rcpt: "550 5.1.1 " + to + " is not here"}
		}
		return mailtest.Behaviour{}
	})
}

// campaign reads a campaign and its statistics.
func (s *server) campaign(id string) (campaign, stats map[string]any) {
	s.t.Helper()
	got := s.get(campaignsPath + "/" + id)
	return got["campaign"].(map[string]any), got["stats"].(map[string]any)
}

// completed waits until a campaign is over and returns its statistics.
func (s *server) completed(t *testing.T, id string) map[string]any {
	t.Helper()
	var stats map[string]any
	eventually(t, "the campaign is completed", func() error {
		var campaign map[string]any
		if campaign, stats = s.campaign(id); campaign["status"] != "completed" {
			return fmt.Errorf("it is %v: %v, %v", campaign["status"], stats, campaign["waiting"])
		}
		return nil
	})
	return stats
}

// addsUp fails unless the sent, failed, skipped and queued recipients add up to the audience.
func addsUp(t *testing.T, stats map[string]any, size int) {
	t.Helper()
	sum := 0
	for _, name := range []string{"sent", "failed", "skipped", "queued"} {
		sum += int(stats[name].(float64))
	}
	if sum != size {
		t.Errorf("the statistics %v sum up to %d, want the audience of %d", stats, sum, size)
	}
}

// TestACampaignIsSent follows a campaign from its draft to the last recipient, with a mail server that refuses some.
func TestACampaignIsSent(t *testing.T) {
	mailServer := startMail(t, func(to string, _ int) mailtest.Behaviour {
		switch to {
		case "user3@example.com":
			return mailtest.Behaviour{Rcpt: "550 5.1.1 no such user"}
		case "user4@example.com":
			return mailtest.Behaviour{Data: "554 5.7.1 we do not like it"}
		case "user5@example.com":
			return mailtest.Behaviour{Drop: true}
		}
		return mailtest.Behaviour{}
	})
	s := startServer(t, t.TempDir(), mailed(mailServer))
	o := s.operators(t)
	const people = 20
	s.known(t, people, func(n int) map[string]any {
		traits := map[string]any{"name": fmt.Sprintf("Ada Nr%d", n), "email": fmt.Sprintf("user%d@example.com", n)}
		switch n {
		case 6:
			traits["email"] = "USER1@example.com"
		case 7:
			delete(traits, "email")
		case 8:
			traits["unsubscribed"] = true
		}
		return traits
	})
	id := o.approved(t, `{"name":"Spring","from":{"name":"Acme Ñews","address":"hello@acme.example"},"replyTo":"help@acme.example","subject":"Hello {{firstName|friend}}","preheader":"Soon",
		"text":"Dear {{name}}, see https://shop.example/a?x=1.","html":"<p>Dear {{name}}, <a href=\"https://shop.example/a?x=1&amp;y=2\">see</a> <a href=\"mailto:a@b.example\">or write</a></p>","ratePerSecond":500}`)
	if _, stats := s.campaign(id); stats["queued"] != 0.0 {
		t.Errorf("before the start: %v", stats)
	}
	o.do(t, o.author, "POST", "/"+id+"/control", `{"action":"send"}`, 200)
	stats := s.completed(t, id)
	addsUp(t, stats, people)
	if got, want := fmt.Sprint(stats["sent"], stats["failed"], stats["skipped"], stats["failures"], stats["skips"]),
		"14 3 3 map[bounced:1 givenUp:0 refused:1 uncertain:1] map[duplicate:1 erased:0 noAddress:1 optedOut:1]"; got != want {
		t.Errorf("the statistics are %s, want %s", got, want)
	}
	for to, count := range mailServer.Taken() {
		if count != 1 {
			t.Errorf("%s got %d messages", to, count)
		}
	}
	t.Run("message", func(t *testing.T) { readsMessage(t, s, mailServer, id) })
	t.Run("again", func(t *testing.T) { leavesOut(t, o, mailServer) })
	t.Run("timeline", func(t *testing.T) { showsCampaign(t, s, id) })
}

// parts returns the texts of a message by their types, and its header.
func parts(t *testing.T, raw string) (header mail.Header, texts map[string]string) {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return message.Header, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(part.Header.Get("Content-Type"), ";")
		texts[kind] = string(text)
	}
}

// visit follows a link of a message at the node of a test.
func (s *server) visit(t *testing.T, method, address, body string) answer {
	t.Helper()
	path := strings.TrimPrefix(address, "http://svc.example")
	if path == address {
		t.Fatalf("the address %q is not one of the service", address)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, s.boot.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, content}
}

// readsMessage reads a message as a recipient does: its parts, the picture, a link, and the unsubscription.
func readsMessage(t *testing.T, s *server, mailServer *mailtest.Server, id string) {
	header, texts := parts(t, mailServer.Body("user9@example.com"))
	subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
	if err != nil || subject != "Hello Ada" || header.Get("From") != "=?utf-8?q?Acme_=C3=91ews?= <hello@acme.example>" || header.Get("Reply-To") != "<help@acme.example>" || header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" ||
		header.Get("Auto-Submitted") != "auto-generated" || header.Get("Precedence") != "bulk" || !strings.HasSuffix(header.Get("Message-ID"), "@acme.example>") {
		t.Errorf("the header is %v", header)
	}
	page, plain := texts["text/html"], texts["text/plain"]
	if !strings.Contains(page, "Dear Ada Nr9, ") || !strings.Contains(page, `href="mailto:a@b.example"`) || !strings.Contains(plain, "Unsubscribe: http://svc.example/m/u/") || strings.Contains(page+plain, "shop.example") {
		t.Errorf("the message is\n%s\n%s", plain, page)
	}
	opened := regexp.MustCompile(`http://svc\.example/m/o/[\w-]+`).FindString(page)
	clicked := regexp.MustCompile(`http://svc\.example/m/c/[\w-]+`).FindString(page)
	for range 3 {
		if got := s.visit(t, "GET", opened, ""); got.status != 200 || got.header.Get("Content-Type") != "image/gif" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("the picture: %d %v", got.status, got.header)
		}
		if got := s.visit(t, "GET", clicked, ""); got.status != 302 || got.header.Get("Location") != "https://shop.example/a?x=1&y=2" {
			t.Errorf("the link: %d %v %s", got.status, got.header, got.body)
		}
	}
	forged := []byte(clicked)
	forged[len(forged)-20] ^= 1
	for _, address := range []string{string(forged), strings.Replace(clicked, "/m/c/", "/m/o/", 1), strings.Replace(opened, "/m/o/", "/m/c/", 1), "http://svc.example/m/c/https:%2F%2Fevil.example"} {
		if got := s.visit(t, "GET", address, ""); got.status != 404 || got.header.Get("Location") != "" {
			t.Errorf("a made-up address: %d %v", got.status, got.header)
		}
	}
	if _, stats := s.campaign(id); stats["opened"] != 1.0 || stats["clicked"] != 1.0 {
		t.Errorf("the statistics are %v, want one who opened and clicked", stats)
	}
	unsubscribe := strings.Trim(header.Get("List-Unsubscribe"), "<>")
	if got := s.visit(t, "GET", unsubscribe, ""); got.status != 200 || !strings.Contains(string(got.body), "Unsubscribe?") {
		t.Errorf("the page: %d %s", got.status, got.body)
	}
	if got := s.visit(t, "POST", unsubscribe, "List-Unsubscribe=One-Click"); got.status != 200 {
		t.Errorf("the one-click request: %d %s", got.status, got.body)
	}
}

// leavesOut sends a second campaign. It skips people that unsubscribed or whose address bounced, and includes people
// that subscribed again.
func leavesOut(t *testing.T, o operators, mailServer *mailtest.Server) {
	unsubscribe := func(to, body string) {
		header, _ := parts(t, mailServer.Body(to))
		if got := o.s.visit(t, "POST", strings.Trim(header.Get("List-Unsubscribe"), "<>"), body); got.status != 200 {
			t.Fatalf("%s: %d %s", body, got.status, got.body)
		}
	}
	unsubscribe("user10@example.com", "action=unsubscribe")
	unsubscribe("user10@example.com", "action=subscribe")
	before := mailServer.Taken()
	id := o.approved(t, `{"name":"Second","subject":"Hi","text":"Hi","ratePerSecond":500}`)
	o.do(t, o.author, "POST", "/"+id+"/control", `{"action":"send"}`, 200)
	stats := o.s.completed(t, id)
	addsUp(t, stats, 20)
	if skips := stats["skips"].(map[string]any); skips["optedOut"] != 3.0 {
		t.Errorf("skipped are %v, want three who opted out, unsubscribed and bounced", skips)
	}
	after := mailServer.Taken()
	if after["user9@example.com"] != before["user9@example.com"] || after["user10@example.com"] != before["user10@example.com"]+1 || after["user3@example.com"] != 0 {
		t.Errorf("messages went to %v, before to %v", after, before)
	}
}

// showsCampaign reads the timeline of a recipient.
func showsCampaign(t *testing.T, s *server, id string) {
	person := s.get(appPath + "/people?q=user9%40example.com")["data"].([]any)[0].(map[string]any)
	for _, row := range s.get(appPath + "/people/" + person["id"].(string) + "/timeline?kind=activity")["data"].([]any) {
		if entry := row.(map[string]any)["data"].(map[string]any); entry["campaign"] == id {
			if entry["text"] != "Spring" || entry["fate"] != "sent" || entry["kind"] != "campaign" {
				t.Errorf("the timeline has %v", entry)
			}
			return
		}
	}
	t.Errorf("the timeline has no campaign: %v", s.get(appPath+"/people/"+person["id"].(string)+"/timeline?kind=activity"))
}

// TestACampaignIsApprovedByAnother tries the transitions that the life of a campaign does not permit.
func TestACampaignIsApprovedByAnother(t *testing.T) {
	mailServer := startMail(t, nil)
	s := startServer(t, t.TempDir(), mailed(mailServer))
	o := s.operators(t)
	made := o.do(t, o.second, "POST", "", `{"name":"Mine","subject":"Hi","text":"Hi"}`, 201)["campaign"].(map[string]any)
	path := "/" + made["id"].(string)
	refused := func(session, what, body string, status int, word string) {
		t.Helper()
		if got := o.do(t, session, "POST", path+what, body, status); !strings.Contains(fmt.Sprint(got), word) {
			t.Errorf("%s %s: %v, want %s", what, body, got, word)
		}
	}
	refused(o.second, "/control", `{"action":"send"}`, 409, "wrong_status")
	o.do(t, o.second, "POST", path+"/submit", "", 200)
	refused(o.second, "/decide", `{"decision":"approve","revision":2}`, 403, "own_campaign")
	refused(o.author, "/decide", `{"decision":"approve","revision":2}`, 403, "passkey_required")
	refused(o.author, "/decide", `{"decision":"return","revision":1,"reason":"typo"}`, 412, "precondition_failed")
	o.do(t, o.author, "POST", path+"/decide", `{"decision":"return","revision":2,"reason":"typo"}`, 200)
	o.do(t, o.author, "PATCH", path, `{"subject":"Hello"}`, 200)
	o.do(t, o.author, "POST", path+"/submit", "", 200)
	// Both have edited it now; a third member approves.
	refused(o.second, "/decide", `{"decision":"approve","revision":5}`, 403, "own_campaign")
	other := o.approved(t, `{"name":"Later","subject":"Hi","text":"Hi"}`)
	path = "/" + other
	refused(o.author, "/control", `{"action":"pause"}`, 409, "wrong_status")
	at := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05")
	scheduled := o.do(t, o.author, "POST", path+"/control", `{"action":"schedule","at":"`+at+`"}`, 200)["campaign"].(map[string]any)
	if got := scheduled["scheduledAt"]; got != at+".000Z" || scheduled["status"] != "scheduled" {
		t.Errorf("it is %v at %v, want %s", scheduled["status"], got, at)
	}
	o.do(t, o.author, "POST", path+"/control", `{"action":"cancel"}`, 200)
	refused(o.author, "/control", `{"action":"send"}`, 409, "wrong_status")
	push := o.do(t, o.author, "POST", "", `{"name":"Push","channels":["push"],"subject":"Hi","text":"Hi"}`, 201)["campaign"].(map[string]any)
	path = "/" + push["id"].(string)
	refused(o.author, "/submit", "", 409, "no_sender")
	counts := s.get(campaignsPath)["counts"].(map[string]any)
	if counts["all"] != 3.0 || counts["draft"] != 1.0 || counts["canceled"] != 1.0 || counts["pending_approval"] != 1.0 {
		t.Errorf("the counts are %v", counts)
	}
	if kinds := s.ledgerKinds(o.second, "campaign."); len(kinds) != 11 || kinds[0] != domain.LedgerKind("campaign.created") {
		t.Errorf("the ledger has %q", kinds)
	}
}

// ledgerKinds lists the kinds of entries with a prefix, the newest first.
func (s *server) ledgerKinds(session, prefix string) (kinds []domain.LedgerKind) {
	got := s.call("GET", "/console/api/v1/orgs/acme/ledger?limit=200", session, nil, nil)
	for _, entry := range object(s.t, got.body)["data"].([]any) {
		if kind := entry.(map[string]any)["kind"].(string); strings.HasPrefix(kind, prefix) {
			kinds = append(kinds, domain.LedgerKind(kind))
		}
	}
	return kinds
}

// TestACampaignIsSentAcrossKills kills the server repeatedly while it sends: no person gets two messages. Every person
// gets one, except people whose message was on its way at a kill.
//
// With SVC_TEST_RECIPIENTS=100000 it measures a large sending.
func TestACampaignIsSentAcrossKills(t *testing.T) {
	people, kills := 3000, 3
	if testing.Short() {
		people, kills = 1000, 1
	}
	if more, err := strconv.Atoi(os.Getenv("SVC_TEST_RECIPIENTS")); err == nil {
		people = more
	}
	mailServer := startMail(t, nil)
	address := freeAddress(t)
	env := mailed(mailServer)
	env["SVC_HTTP_ADDR"], env["SVC_PUBLIC_URL"] = address, "http://"+address
	dir := t.TempDir()
	s := startServer(t, dir, env)
	o := s.operators(t)
	s.known(t, people, func(n int) map[string]any { return map[string]any{"email": fmt.Sprintf("user%d@example.com", n)} })
	id := o.approved(t, `{"name":"Spring","subject":"Hi","text":"Hi","ratePerSecond":1000}`)
	s.stopped()
	for kill := range kills {
		o.s = startChild(t, dir, env)
		if kill == 0 {
			o.do(t, o.author, "POST", "/"+id+"/control", `{"action":"send"}`, 200)
		}
		eventually(t, "some messages are sent", func() error {
			if _, messages := mailServer.Count(); messages < (kill+1)*people/(kills+1) {
				return fmt.Errorf("%d are", messages)
			}
			return nil
		})
		o.s.stopped()
	}
	o.s = startChild(t, dir, env)
	stats := o.s.completed(t, id)
	addsUp(t, stats, people)
	addresses, messages := mailServer.Count()
	sent, uncertain := int(stats["sent"].(float64)), int(stats["failures"].(map[string]any)["uncertain"].(float64))
	campaign, _ := o.s.campaign(id)
	t.Logf("%d sent, %d uncertain, %d messages, from %v to %v", sent, uncertain, messages, campaign["startedAt"], campaign["completedAt"])
	if addresses != messages || messages < sent || messages > sent+uncertain || sent+uncertain != people || uncertain > kills*16 {
		t.Errorf("%d messages went to %d addresses; %d are sent and %d uncertain of %d: %v", messages, addresses, sent, uncertain, people, stats)
	}
}
