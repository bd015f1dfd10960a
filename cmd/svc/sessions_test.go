package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/http/passkey/passkeytest"
	"svc/http/route"
)

// page is the console in a browser: it stores the cookie of its session.
type page struct {
	*server
	t      *testing.T
	cookie string
}

// ask sends a request of the page and fails unless the answer has a status.
func (p *page) ask(status int, method, path, body string) map[string]any {
	p.t.Helper()
	header := map[string]string{"Sec-Fetch-Site": "same-origin"}
	if p.cookie != "" {
		header["Cookie"] = route.CookieName + "=" + p.cookie
	}
	got := p.call(method, path, "", []byte(body), header)
	if got.status != status {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, got.status, got.body, status)
	}
	if set := got.header.Get("Set-Cookie"); set != "" {
		p.cookie, _, _ = strings.Cut(strings.TrimPrefix(set, route.CookieName+"="), ";")
	}
	answer := map[string]any{}
	if len(got.body) > 0 {
		if err := json.Unmarshal(got.body, &answer); err != nil {
			p.t.Fatal(err)
		}
	}
	return answer
}

// TestPeopleComeAndGo signs in by the link of the first start, by a passkey and by an invitation. A person that is
// signed out or removed is refused at the next request.
func TestPeopleComeAndGo(t *testing.T) {
	const (
		origin   = "http://localhost:4711"
		sessions = "/console/api/v1/sessions"
	)
	s := startServer(t, t.TempDir(), map[string]string{"SVC_PUBLIC_URL": origin})
	open := func() *page { return &page{server: s, t: t} }
	setup, found := strings.CutPrefix(s.boot.Console, origin+"/console#setup=")
	if !found {
		t.Fatalf("the first start shows the link %q", s.boot.Console)
	}
	owner := open()
	owner.ask(201, "POST", sessions, `{"link":"`+setup+`"}`)
	open().ask(401, "POST", sessions, `{"link":"`+setup+`"}`)

	begin := func(p *page, path, body string) (ceremony string, options []byte) {
		begun := p.ask(200, "POST", path, body)
		options, err := json.Marshal(begun["options"])
		if err != nil {
			t.Fatal(err)
		}
		return begun["ceremony"].(string), options
	}
	laptop := passkeytest.New(t, origin, "localhost")
	ceremony, options := begin(owner, "/console/api/v1/me/passkeys/challenge", "")
	owner.ask(201, "POST", "/console/api/v1/me/passkeys", fmt.Sprintf(`{"name":"Laptop","ceremony":%q,"credential":%s}`, ceremony, laptop.Create(options)))
	again := open()
	ceremony, options = begin(again, sessions+"/challenge", "")
	proof := fmt.Sprintf(`{"ceremony":%q,"credential":%s}`, ceremony, laptop.Get(options))
	again.ask(201, "POST", sessions, proof)
	open().ask(403, "POST", sessions, proof)
	again.ask(200, "GET", appPath, "")
	old := *again
	again.ask(204, "DELETE", sessions, "")
	old.ask(401, "GET", appPath, "")
	owner.ask(200, "GET", appPath, "")

	invitation := owner.ask(201, "POST", "/console/api/v1/orgs/acme/invitations", `{"email":"bo@acme.example","role":"member"}`)["link"].(string)
	_, secret, _ := strings.Cut(invitation, "#invitation=")
	bo, phone := open(), passkeytest.New(t, origin, "localhost")
	ceremony, options = begin(bo, sessions+"/challenge", `{"link":"`+secret+`"}`)
	joined := fmt.Sprintf(`{"link":%q,"name":"Phone","ceremony":%q,"credential":%s}`, secret, ceremony, phone.Create(options))
	bo.ask(201, "POST", sessions, joined)
	open().ask(401, "POST", sessions, joined)
	bo.ask(200, "GET", appPath, "")
	bo.ask(403, "GET", appPath+"/keys", "")
	owner.ask(204, "DELETE", "/console/api/v1/orgs/acme/members/bo@acme.example", "")
	bo.ask(404, "GET", appPath, "")

	made, err := s.admin("link", "--email", "owner@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	_, secret, _ = strings.Cut(made["link"].(string), "#setup=")
	if got := s.call("GET", appPath, secret, nil, nil); got.status != http.StatusUnauthorized {
		t.Errorf("a link opens a route: %d", got.status)
	}
	open().ask(201, "POST", sessions, `{"link":"`+secret+`"}`)
}
