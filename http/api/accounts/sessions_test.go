package accounts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/domain/conversation"
	"svc/domain/signin"
	"svc/http/api/apitest"
	"svc/http/passkey/passkeytest"
	"svc/http/route"
)

// browser is a browser with an open console: it stores the cookie and names its origin.
type browser struct {
	t      *testing.T
	world  http.Handler
	cookie *http.Cookie
}

// host is the host of the console.
const host = "svc.example"

func (b *browser) send(method, path string, body any) (int, map[string]any) {
	b.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	if body == nil {
		encoded = nil
	}
	request := httptest.NewRequest(method, "http://"+host+path, bytes.NewReader(encoded))
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	if b.cookie != nil {
		request.AddCookie(b.cookie)
	}
	response := httptest.NewRecorder()
	b.world.ServeHTTP(response, request)
	for _, cookie := range response.Result().Cookies() {
		if b.cookie = cookie; cookie.MaxAge < 0 {
			b.cookie = nil
		}
	}
	answer := map[string]any{}
	if response.Body.Len() > 0 {
		if err := json.Unmarshal(response.Body.Bytes(), &answer); err != nil {
			b.t.Fatal(err)
		}
	}
	return response.Code, answer
}

// want sends a request and fails unless the answer has a status, and a code if one is given.
func (b *browser) want(status int, code, method, path string, body any) map[string]any {
	b.t.Helper()
	got, answer := b.send(method, path, body)
	if said := fmt.Sprint(answer["code"], " ", answer["reason"]); got != status || code != "" && said != code {
		b.t.Fatalf("%s %s: %d %s %v, want %d %s", method, path, got, said, answer["detail"], status, code)
	}
	return answer
}

const (
	base      = "/console/api/v1"
	sessions  = base + "/sessions"
	challenge = base + "/sessions/challenge"
)

// options returns the challenge for the authenticator.
func options(t *testing.T, begun map[string]any) []byte {
	t.Helper()
	encoded, err := json.Marshal(begun["options"])
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// enrol registers a passkey of the person of an operator's session.
func enrol(t *testing.T, memory *apitest.Memory, world apitest.World, email string) *passkeytest.Authenticator {
	t.Helper()
	person, err := memory.KnownUser(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := memory.OpenSession(t.Context(), signin.SessionSpec{Person: person, By: signin.SessionOfOperator})
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t: t, world: world.Handler, cookie: &http.Cookie{Name: route.CookieName, Value: secret.Reveal()}}
	device := passkeytest.New(t, "https://"+host, host)
	begun := b.want(200, "", "POST", base+"/me/passkeys/challenge", nil)
	b.want(201, "", "POST", base+"/me/passkeys", map[string]any{"name": "Laptop", "ceremony": begun["ceremony"], "credential": json.RawMessage(device.Create(options(t, begun)))})
	return device
}

// answer returns the page's request for an answer of a passkey.
func answer(begun map[string]any, credential []byte) map[string]any {
	return map[string]any{"ceremony": begun["ceremony"], "credential": json.RawMessage(credential)}
}

func TestAPasskeySignsIn(t *testing.T) {
	now := apitest.Noon()
	memory := apitest.NewMemory(func() time.Time { return now })
	world := memory.Fill(t)
	device := enrol(t, memory, world, "ada@acme.example")
	b := &browser{t: t, world: world.Handler}
	b.want(401, "", "GET", "/api/v1/me", nil)

	begun := b.want(200, "", "POST", challenge, nil)
	credential := device.Get(options(t, begun))
	in := b.want(201, "", "POST", sessions, answer(begun, credential))
	if in["user"].(map[string]any)["email"] != "ada@acme.example" || in["passkeys"] != 1.0 {
		t.Errorf("signed in: %v", in)
	}
	b.want(200, "", "GET", "/api/v1/apps/acme/web/keys", nil)
	b.want(404, "", "GET", "/api/v1/apps/globex/shop", nil)
	other := &browser{t: t, world: world.Handler}
	other.want(403, "passkey_required challenge_over", "POST", sessions, answer(begun, device.Get(options(t, begun))))

	stolen := b.cookie
	b.want(204, "", "DELETE", sessions, nil)
	if b.cookie != nil {
		t.Error("signing out leaves the cookie")
	}
	b.cookie = stolen
	b.want(401, "", "GET", "/api/v1/me", nil)

	for name, spoil := range map[string]func(begun map[string]any) map[string]any{
		"another name's page": func(begun map[string]any) map[string]any {
			copied := *device
			copied.Origin = "http://evil.example"
			return answer(begun, copied.Get(options(t, begun)))
		},
		"nobody verified": func(begun map[string]any) map[string]any {
			copied := *device
			copied.Verified = false
			return answer(begun, copied.Get(options(t, begun)))
		},
		"a copy of the passkey": func(begun map[string]any) map[string]any {
			copied := *device
			copied.Counter = 0
			return answer(begun, copied.Get(options(t, begun)))
		},
		"an unknown passkey": func(begun map[string]any) map[string]any {
			unknown := passkeytest.New(t, "https://"+host, host)
			unknown.Handle = device.Handle
			return answer(begun, unknown.Get(options(t, begun)))
		},
		"a made-up handle": func(begun map[string]any) map[string]any {
			copied := *device
			copied.Handle = []byte("usr_1")
			return answer(begun, copied.Get(options(t, begun)))
		},
		"no handle": func(begun map[string]any) map[string]any {
			copied := *device
			copied.Handle = nil
			return answer(begun, copied.Get(options(t, begun)))
		},
		"a made-up question": func(begun map[string]any) map[string]any {
			credential := device.Get(options(t, begun))
			begun["ceremony"] = "AAAA"
			return answer(begun, credential)
		},
		"the answer to a question about a registration": func(map[string]any) map[string]any {
			begun := b.registration(memory, world)
			return answer(begun, device.Get(options(t, begun)))
		},
		"an answer that is late": func(begun map[string]any) map[string]any {
			now = now.Add(conversation.CeremonyTime)
			return answer(begun, device.Get(options(t, begun)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &browser{t: t, world: world.Handler}
			b.want(403, "", "POST", sessions, spoil(b.want(200, "", "POST", challenge, nil)))
			if b.cookie != nil {
				t.Error("a cookie was set")
			}
		})
	}
}

// registration begins to register a passkey in a session of Ada's.
func (b *browser) registration(memory *apitest.Memory, world apitest.World) map[string]any {
	ada, err := memory.KnownUser(b.t.Context(), "ada@acme.example")
	if err != nil {
		b.t.Fatal(err)
	}
	_, secret, err := memory.OpenSession(b.t.Context(), signin.SessionSpec{Person: ada, By: signin.SessionOfOperator})
	if err != nil {
		b.t.Fatal(err)
	}
	signedIn := &browser{t: b.t, world: world.Handler, cookie: &http.Cookie{Name: route.CookieName, Value: secret.Reveal()}}
	return signedIn.want(200, "", "POST", base+"/me/passkeys/challenge", nil)
}

func TestALinkOfTheOperatorServesOnce(t *testing.T) {
	now := apitest.Noon()
	memory := apitest.NewMemory(func() time.Time { return now })
	world := memory.Fill(t)
	ada, err := memory.KnownUser(t.Context(), "ada@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	link := func() map[string]any {
		secret, err := memory.NewLink(t.Context(), signin.Link{User: ada, EndsAt: now.Add(signin.SetupTime)})
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"link": secret.Reveal()}
	}
	b, first := &browser{t: t, world: world.Handler}, link()
	b.want(400, "", "POST", challenge, first)
	b.want(201, "", "POST", sessions, first)
	b.want(200, "", "GET", "/api/v1/me", nil)
	(&browser{t: t, world: world.Handler}).want(401, "", "POST", sessions, first)

	bearer := httptest.NewRequest("GET", "http://"+host+"/api/v1/me", nil)
	bearer.Header.Set("Authorization", "Bearer "+link()["link"].(string))
	refused := httptest.NewRecorder()
	if world.Handler.ServeHTTP(refused, bearer); refused.Code != 401 {
		t.Errorf("a link as a token: %d", refused.Code)
	}
	late := link()
	now = now.Add(signin.SetupTime)
	(&browser{t: t, world: world.Handler}).want(401, "", "POST", sessions, late)
	(&browser{t: t, world: world.Handler}).want(401, "", "POST", sessions, map[string]any{"link": "svc_lnk_nonsense"})
	(&browser{t: t, world: world.Handler}).want(400, "", "POST", sessions, map[string]any{})
}

func TestAnInvitationEndsInAPasskey(t *testing.T) {
	memory := apitest.NewMemory(apitest.Noon)
	world := memory.Fill(t)
	ada := enrol(t, memory, world, "ada@acme.example")
	admin := &browser{t: t, world: world.Handler}
	begun := admin.want(200, "", "POST", challenge, nil)
	admin.want(201, "", "POST", sessions, answer(begun, ada.Get(options(t, begun))))
	invite := func(email string) map[string]any {
		seat := admin.want(201, "", "POST", base+"/orgs/acme/invitations", map[string]any{"email": email, "role": "viewer", "name": "New"})
		_, secret, found := strings.Cut(seat["link"].(string), "https://"+host+"/console#invitation=")
		if !found {
			t.Fatalf("the link is %v", seat["link"])
		}
		return map[string]any{"link": secret}
	}
	link := invite("new@acme.example")
	guest := &browser{t: t, world: world.Handler}
	guest.want(403, "", "POST", sessions, link)
	begun = guest.want(200, "", "POST", challenge, link)
	if begun["email"] != "new@acme.example" || begun["invitation"].(map[string]any)["role"] != "viewer" {
		t.Errorf("the invitation reads %v", begun)
	}
	device := passkeytest.New(t, "https://"+host, host)
	body := answer(begun, device.Create(options(t, begun)))
	body["link"], body["name"] = link["link"], "Phone"
	guest.want(201, "", "POST", sessions, body)
	guest.want(200, "", "GET", "/api/v1/apps/acme/web", nil)
	guest.want(403, "", "GET", "/api/v1/apps/acme/web/keys", nil)
	(&browser{t: t, world: world.Handler}).want(401, "", "POST", sessions, body)

	// The next invitation is for a known person: no link adds a passkey to an existing account.
	known := invite("ada@globex.example")
	memory.Know("ada@globex.example")
	(&browser{t: t, world: world.Handler}).want(409, "conflict sign_in_first", "POST", challenge, known)

	// A passkey alone does not accept: it may belong to another person that was invited under the address first.
	admin.want(204, "", "DELETE", base+"/orgs/acme/members/new@acme.example", nil)
	guest.want(404, "", "GET", "/api/v1/apps/acme/web", nil)
	again := invite("new@acme.example")
	guest.want(403, "forbidden link_required", "POST", base+"/me/invitations/acme/accept", nil)
	guest.want(401, "", "POST", base+"/me/invitations/acme/accept", link)
	guest.want(403, "forbidden link_required", "POST", base+"/me/invitations/acme/accept", known)
	guest.want(200, "", "POST", base+"/me/invitations/acme/accept", again)
	withdrawn := invite("late@acme.example")
	admin.want(204, "", "DELETE", base+"/orgs/acme/members/late@acme.example", nil)
	(&browser{t: t, world: world.Handler}).want(401, "", "POST", challenge, withdrawn)
}
