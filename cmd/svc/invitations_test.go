package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
	"svc/http/mailing/mailtest"
	"svc/http/passkey/passkeytest"
)

const (
	consoleOrigin = "http://localhost:4711"
	sessionsPath  = "/console/api/v1/sessions"
)

// guests has the pages of a server's console, and the actions of people on them.
type guests struct {
	t *testing.T
	*server
}

func (g guests) open() *page { return &page{server: g.server, t: g.t} }

// must runs an operator's command.
func (g guests) must(args ...string) map[string]any {
	g.t.Helper()
	answer, err := g.admin(args...)
	if err != nil {
		g.t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// signedIn returns a page of a person that the operator lets in.
func (g guests) signedIn(email string) *page {
	g.t.Helper()
	p := g.open()
	_, secret, _ := strings.Cut(g.must("link", "--email", email)["link"].(string), "#setup=")
	p.ask(201, "POST", sessionsPath, `{"link":"`+secret+`"}`)
	return p
}

// asked begins a ceremony and returns its name and the options for an authenticator.
func (g guests) asked(p *page, path, body string) (ceremony string, options []byte) {
	g.t.Helper()
	begun := p.ask(200, "POST", path, body)
	options, err := json.Marshal(begun["options"])
	if err != nil {
		g.t.Fatal(err)
	}
	return begun["ceremony"].(string), options
}

// joins opens the link of an invitation and registers a passkey.
func (g guests) joins(secret string) (*page, *passkeytest.Authenticator) {
	g.t.Helper()
	p, device := g.open(), passkeytest.New(g.t, consoleOrigin, "localhost")
	ceremony, options := g.asked(p, sessionsPath+"/challenge", `{"link":"`+secret+`"}`)
	p.ask(201, "POST", sessionsPath, fmt.Sprintf(`{"link":%q,"name":"Phone","ceremony":%q,"credential":%s}`, secret, ceremony, device.Create(options)))
	return p, device
}

// signIn signs in with a passkey.
func (g guests) signIn(device *passkeytest.Authenticator, status int) *page {
	g.t.Helper()
	p := g.open()
	ceremony, options := g.asked(p, sessionsPath+"/challenge", "")
	p.ask(status, "POST", sessionsPath, fmt.Sprintf(`{"ceremony":%q,"credential":%s}`, ceremony, device.Get(options)))
	return p
}

// TestTheFirstInviterOfAnAddressDoesNotOwnIt lets an administrator of another organization register under the address
// of a person. Later acme seats this person (A3).
func TestTheFirstInviterOfAnAddressDoesNotOwnIt(t *testing.T) {
	g := guests{t, startServer(t, t.TempDir(), map[string]string{"SVC_PUBLIC_URL": consoleOrigin})}
	g.must("orgs", "create", "--name", "Beta", "--owner", "mallory@beta.example")
	mallory := g.signedIn("mallory@beta.example")
	for n, act := range [][]string{
		{"members", "put", "--org", "acme", "--role", "admin"}, {"link"}, {"login"}, {"orgs", "create", "--name", "Gamma"},
	} {
		t.Run("A3: "+strings.Join(act, " "), func(t *testing.T) {
			g := guests{t, g.server}
			email := fmt.Sprintf("ceo%d@acme.example", n)
			invitation := mallory.ask(201, "POST", "/console/api/v1/orgs/beta/invitations", `{"email":"`+email+`","role":"admin"}`)
			_, secret, _ := strings.Cut(invitation["link"].(string), "#invitation=")
			attacker, device := g.joins(secret)
			token := attacker.ask(201, "POST", "/console/api/v1/me/tokens", `{"name":"kept","scopes":["read","write","admin"]}`)["token"].(string)
			idle := g.signIn(device, 201)

			g.must(append(append([]string{}, act...), "--email", email)...)
			g.must("members", "put", "--org", "acme", "--role", "admin", "--email", email)
			attacker.ask(401, "GET", appPath, "")
			idle.ask(401, "GET", "/console/api/v1/me/passkeys", "")
			if got := g.call("GET", appPath, token, nil, nil); got.status != 401 {
				t.Errorf("the stranger's token: %d %s", got.status, got.body)
			}
			if got := g.call("POST", "/mcp", token, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), map[string]string{"Accept": "application/json, text/event-stream"}); got.status != 401 {
				t.Errorf("the stranger's token over MCP: %d %s", got.status, got.body)
			}
			g.signIn(device, 403)

			ceo := g.signedIn(email)
			ceo.ask(200, "GET", appPath, "")
			if rows := ceo.ask(200, "GET", "/console/api/v1/me/passkeys", "")["data"].([]any); len(rows) != 0 {
				t.Errorf("the passkeys are %v", rows)
			}
			if rows := ceo.ask(200, "GET", "/console/api/v1/me/tokens", "")["data"].([]any); len(rows) != 0 {
				t.Errorf("the tokens are %v", rows)
			}
			// The person's present credentials stay when the person is removed and seated again.
			own := ceo.ask(201, "POST", "/console/api/v1/me/tokens", `{"name":"own","scopes":["read"]}`)["token"].(string)
			g.must("members", "remove", "--org", "acme", "--email", email)
			g.must("members", "put", "--org", "acme", "--role", "viewer", "--email", email)
			ceo.ask(200, "GET", appPath, "")
			if got := g.call("GET", appPath, own, nil, nil); got.status != 200 {
				t.Errorf("the person's own token: %d %s", got.status, got.body)
			}
			again := mallory.ask(409, "POST", "/console/api/v1/orgs/beta/invitations", `{"email":"`+email+`","role":"admin"}`)
			if again["reason"] != "already_member" {
				t.Errorf("the next invitation: %v", again)
			}
		})
	}
}

// mailedLink returns the secret of the link in the last message to an address.
func mailedLink(t *testing.T, mail *mailtest.Server, to string) string {
	t.Helper()
	_, encoded, _ := strings.Cut(strings.ReplaceAll(mail.Body(to), "\r\n", "\n"), "\n\n")
	text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(encoded, "\n", ""))
	if err != nil {
		t.Fatalf("the message to %s: %v\n%s", to, err, mail.Body(to))
	}
	found := regexp.MustCompile(regexp.QuoteMeta(consoleOrigin) + `/console#invitation=(svc_lnk_\w+)`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("the message to %s: %s", to, text)
	}
	return string(found[1])
}

// TestInvitationsAreMailed invites people that the service knows in different ways. The inviter gets the same answer
// and no link. The person that opens the link owns the address.
func TestInvitationsAreMailed(t *testing.T) {
	mail := startMail(t, nil)
	g := guests{t, startServer(t, t.TempDir(), map[string]string{"SVC_PUBLIC_URL": consoleOrigin, "SVC_MAIL_SERVER": mail.URL()})}
	owner := g.signedIn("owner@acme.example")
	g.must("orgs", "create", "--name", "Elsewhere", "--owner", "proved@elsewhere.example")
	stranger := func(email string) *passkeytest.Authenticator { // an earlier version admitted strangers in this way
		device := passkeytest.New(t, consoleOrigin, "localhost")
		person, _, err := g.node.identity.Register(t.Context(), signin.Link{User: domain.User{Email: email}}, conversation.Passkey{Name: "Theirs", Party: "localhost", Credential: []byte(`{}`)})
		if err != nil || person.Email != email {
			t.Fatal(person, err)
		}
		return device
	}
	stranger("squatted@elsewhere.example")
	emails := []string{"unknown@elsewhere.example", "proved@elsewhere.example", "squatted@elsewhere.example"}
	var answers []string
	for _, email := range emails {
		invited := owner.ask(201, "POST", "/console/api/v1/orgs/acme/invitations", `{"email":"`+email+`","role":"admin","name":"Guest"}`)
		if invited["link"] != "" || invited["mailed"] != true {
			t.Errorf("%s: %v", email, invited)
		}
		encoded, _ := json.Marshal(invited)
		answers = append(answers, regexp.MustCompile(`inv_\w+|20\d\d-[^"]+|\w+@`).ReplaceAllString(string(encoded), ""))
		again := owner.ask(429, "PUT", "/console/api/v1/orgs/acme/members/"+email, `{"role":"viewer"}`)
		if again["code"] != "rate_limited" {
			t.Errorf("%s again: %v", email, again)
		}
	}
	if answers[0] != answers[1] || answers[0] != answers[2] {
		t.Errorf("the inviter is told of other organizations: %q", answers)
	}

	for _, email := range []string{emails[0], emails[2]} {
		page, device := g.joins(mailedLink(t, mail, email))
		page.ask(200, "GET", appPath, "")
		g.must("orgs", "create", "--name", "New of "+email[:3], "--owner", email)
		page.ask(200, "GET", appPath, "")
		g.signIn(device, 201).ask(200, "GET", appPath, "")
		if rows := page.ask(200, "GET", "/console/api/v1/me/passkeys", "")["data"].([]any); len(rows) != 1 {
			t.Errorf("%s has the passkeys %v", email, rows)
		}
	}
	secret := mailedLink(t, mail, emails[1])
	if known := g.open().ask(409, "POST", sessionsPath+"/challenge", `{"link":"`+secret+`"}`); known["reason"] != "sign_in_first" {
		t.Errorf("a person with an account: %v", known)
	}
	proved := g.signedIn(emails[1])
	proved.ask(200, "POST", "/console/api/v1/me/invitations/acme/accept", `{"link":"`+secret+`"}`)
	proved.ask(200, "GET", appPath, "")

	mail.Down(true)
	if failed := owner.ask(503, "PUT", "/console/api/v1/orgs/acme/members/late@acme.example", `{"role":"viewer"}`); failed["code"] != "unavailable" {
		t.Errorf("without the mail server: %v", failed)
	}
}

// TestPeopleSeeAndEndTheirSessions lists sessions and sign-ins. It ends sessions one by one, all but one, and with a
// passkey. An ended session opens nothing at the next request.
func TestPeopleSeeAndEndTheirSessions(t *testing.T) {
	const mine = "/console/api/v1/me"
	g := guests{t, startServer(t, t.TempDir(), map[string]string{"SVC_PUBLIC_URL": consoleOrigin})}
	owner, device := g.signedIn("owner@acme.example"), passkeytest.New(t, consoleOrigin, "localhost")
	ceremony, options := g.asked(owner, mine+"/passkeys/challenge", "")
	key := owner.ask(201, "POST", mine+"/passkeys", fmt.Sprintf(`{"name":"Phone","ceremony":%q,"credential":%s}`, ceremony, device.Create(options)))["id"]
	list := func(p *page) (ids []string) {
		t.Helper()
		for n, row := range p.ask(200, "GET", mine+"/sessions", "")["data"].([]any) {
			row := row.(map[string]any)
			if current := row["current"].(bool); current != (n == 0) || row["lastUsedAt"] == nil {
				t.Errorf("session %d: %v", n, row)
			}
			ids = append(ids, row["id"].(string))
		}
		return ids
	}
	second, third := g.signIn(device, 201), g.signIn(device, 201)
	ids := list(third)
	if len(ids) != 3 {
		t.Fatalf("the sessions are %v", ids)
	}
	third.ask(204, "DELETE", mine+"/sessions/"+ids[1], "")
	second.ask(401, "GET", appPath, "")
	third.ask(404, "DELETE", mine+"/sessions/"+ids[1], "")
	third.ask(204, "DELETE", mine+"/sessions", "")
	owner.ask(401, "GET", appPath, "")
	if left := list(third); len(left) != 1 || left[0] != ids[0] {
		t.Errorf("the sessions are %v", left)
	}
	stranger := passkeytest.New(t, consoleOrigin, "localhost")
	stranger.Handle = device.Handle
	g.signIn(stranger, 403)

	again := g.signedIn("owner@acme.example")
	again.ask(204, "DELETE", mine+"/passkeys/"+key.(string), "")
	third.ask(401, "GET", appPath, "")
	if left := list(again); len(left) != 1 {
		t.Errorf("the sessions are %v", left)
	}
	var log []string
	for _, row := range again.ask(200, "GET", mine+"/signins", "")["data"].([]any) {
		row := row.(map[string]any)
		log = append(log, fmt.Sprint(row["method"], " ", row["succeeded"], " ", row["reason"]))
	}
	if want := []string{"link true <nil>", "passkey false passkey_refused", "passkey true <nil>", "passkey true <nil>", "link true <nil>"}; !slices.Equal(log, want) {
		t.Errorf("the sign-ins are %q, want %q", log, want)
	}
	// A session is not a token for the uploads and announcements of builds.
	session := again.cookie
	for _, target := range []string{"POST /api/0/organizations/acme/releases/", "GET /api/0/organizations/acme/chunk-upload", "GET /api/v1/me"} {
		method, path, _ := strings.Cut(target, " ")
		if got := g.call(method, path, session, []byte(`{"version":"1","projects":["web"]}`), nil); got.status != 401 {
			t.Errorf("%s with a session: %d %s", target, got.status, got.body)
		}
	}
	again.ask(200, "GET", appPath, "")
}
