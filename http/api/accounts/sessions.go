package accounts

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
	"svc/http/api"
	"svc/http/passkey"
	"svc/http/route"
)

// Sessions opens and ends console sessions.
type Sessions interface {
	// OpenSession makes a session. It fails with not_found if its passkey was removed meanwhile.
	OpenSession(ctx context.Context, spec signin.SessionSpec) (domain.Token, domain.Secret, error)
	// EndSession ends a session. It succeeds for a session that has ended or is unknown.
	EndSession(ctx context.Context, secret domain.Secret) error
	// Sessions lists the sessions of a person, the newest first.
	Sessions(ctx context.Context, person domain.User) ([]signin.ConsoleSession, error)
	// EndSessionOf ends a session of a person; it fails with not_found if the person has no session with the id.
	EndSessionOf(ctx context.Context, person domain.User, id string) error
	// EndOtherSessions ends all sessions of a person but one.
	EndOtherSessions(ctx context.Context, person domain.User, except string) error
	// NoteSignIn notes a failed sign-in; OpenSession notes a successful one. SignIns lists both, the newest first.
	NoteSignIn(ctx context.Context, person domain.User, signIn signin.SignIn) error
	SignIns(ctx context.Context, person domain.User) ([]signin.SignIn, error)
	// AddressOf returns a handle of a person, of 32 bytes; PersonAt finds the person by it.
	AddressOf(person domain.User) []byte
	// PersonAt returns the person of a handle, or not_found.
	PersonAt(ctx context.Context, address []byte) (domain.User, error)
	// SpendCeremony notes that a challenge was answered; a second call fails with passkey_required.
	SpendCeremony(ctx context.Context, person domain.User, ceremony *conversation.Ceremony) error
}

// Seal encrypts values that the service hands to a client and must get back unchanged.
type Seal interface {
	Seal(name string, clear []byte) []byte
	// Open fails if the value was not sealed under the name.
	Open(name string, sealed []byte) ([]byte, error)
}

// The names for sealed values: the owner of a passkey, and a challenge that waits for its answer.
const (
	sealedHandle   = "passkey handle"
	sealedCeremony = "ceremony"
)

// consoleSessions serves the rows by which people sign in and out. It reads and stores nothing for a caller before the
// caller is known. It seals challenges and hands them out. The service also seals the handle in a passkey's answer, so
// it refuses a forged handle before any lookup.
type consoleSessions struct {
	sessions      Sessions
	links         Links
	invitations   Invitations
	passkeys      api.Passkeys
	organizations Organizations
	seal          Seal
	client        Client
}

func consoleSessionRoutes(ports Ports) []route.Route {
	sessions := consoleSessions{ports.Sessions, ports.Links, ports.Invitations, ports.Passkeys, ports.Organizations, ports.Seal, ports.Client}
	return []route.Route{
		{
			Surface: route.Console, Method: "POST", Path: "/sessions/challenge", Operation: "console.sessions.challenge", Open: true, Effect: route.Write, Unrecorded: "a challenge changes nothing", Rate: domain.RateDefault,
			Summary: "Begin to sign in with a passkey, or to answer an invitation by registering one", Codes: []domain.Code{domain.CodePasskeyRequired, domain.CodeNotAvailable, domain.CodeConflict}, Handler: route.Typed(sessions.challenge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/sessions", Operation: "console.sessions.create", Open: true, Effect: route.Write, Ledger: "session.opened", Rate: domain.RateDefault,
			Summary: "Sign in: by a passkey, by a link of the operator, or by an invitation and a new passkey", Status: 201, Codes: []domain.Code{domain.CodePasskeyRequired, domain.CodeNotAvailable, domain.CodeConflict}, Handler: route.Typed(sessions.create),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/sessions", Operation: "console.sessions.delete", Open: true, Effect: route.Destructive, Unrecorded: "signing out gives up what a session could do", Rate: domain.RateDefault,
			Summary: "Sign out", Status: 204, Handler: route.Typed(sessions.end),
		},
	}
}

type beginSession struct {
	Body beginBody `body:"json" optional:"true"`
}

// beginBody is the body of POST /sessions/challenge.
type beginBody struct {
	Link string `json:"link" doc:"The secret of an invitation's link; absent to sign in with a passkey."`
}

// signInChallenge is a challenge to an authenticator and its subject.
type signInChallenge struct {
	api.Challenged
	Invitation *invitation `json:"invitation" doc:"The invitation that the answer accepts; null to sign in."`
	Email      string      `json:"email" doc:"The address that was invited; empty to sign in."`
}

func (c consoleSessions) challenge(ctx context.Context, call *route.Call, in beginSession) (signInChallenge, error) {
	party, err := passkey.NewParty(call.Site())
	if err != nil {
		return signInChallenge{}, err
	}
	if in.Body.Link != "" {
		return c.invited(ctx, call, party, domain.Secret(in.Body.Link))
	}
	options, state, err := party.SignIn(c.passkeys.NewCeremonyID(), call.Now)
	if err != nil {
		return signInChallenge{}, err
	}
	question, err := c.ask(options, &state)
	return signInChallenge{Challenged: question}, err
}

// ask hands a challenge out and stores nothing.
func (c consoleSessions) ask(options json.RawMessage, state *conversation.Ceremony) (api.Challenged, error) {
	encoded, err := json.Marshal(state)
	if err != nil {
		return api.Challenged{}, err
	}
	sealed := base64.RawURLEncoding.EncodeToString(c.seal.Seal(sealedCeremony, encoded))
	return api.Challenged{Ceremony: sealed, Options: options, ExpiresAt: route.Time(state.EndsAt)}, nil
}

// asked returns a challenge that was handed out.
func (c consoleSessions) asked(sealed string) (state conversation.Ceremony, err error) {
	encoded, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		encoded, err = c.seal.Open(sealedCeremony, encoded)
	}
	if err != nil || json.Unmarshal(encoded, &state) != nil {
		return state, conversation.PasskeyRequired("challenge_over", "The challenge is not one of this service; begin again.")
	}
	return state, nil
}

type createSession struct {
	Body sessionBody `body:"json"`
}

// sessionBody is the body of POST /sessions.
type sessionBody struct {
	Link       string          `json:"link" doc:"The secret of a link. That of the operator serves alone, that of an invitation with the first passkey."`
	Ceremony   string          `json:"ceremony" doc:"From the challenge."`
	Credential json.RawMessage `json:"credential" doc:"What navigator.credentials.get or create returned, by toJSON()."`
	Name       string          `json:"name" doc:"By which its owner knows the new passkey of an invitation."`
}

// session is a console session as its person sees it.
type session struct {
	User      domain.User `json:"user"`
	ExpiresAt route.Time  `json:"expiresAt"`
	Passkeys  int         `json:"passkeys" doc:"How many passkeys the person has."`
}

func (c consoleSessions) create(ctx context.Context, call *route.Call, in createSession) (session, error) {
	answered, link := len(in.Body.Credential) > 0, domain.Secret(in.Body.Link)
	switch {
	case link != "" && answered:
		return c.join(ctx, call, &in.Body)
	case link != "":
		return c.byLink(ctx, call, link)
	case answered:
		return c.byPasskey(ctx, call, &in.Body)
	default:
		return session{}, domain.Invalid(domain.FieldError{Field: "credential", Code: "missing_value", Message: "Send the answer of a passkey, or the secret of a link."})
	}
}

// byPasskey signs in the person of a passkey, if the passkey proves to belong to them.
func (c consoleSessions) byPasskey(ctx context.Context, call *route.Call, body *sessionBody) (session, error) {
	party, err := passkey.NewParty(call.Site())
	if err != nil {
		return session{}, err
	}
	state, err := c.asked(body.Ceremony)
	if err != nil {
		return session{}, err
	}
	handle, err := passkey.HandleOf(body.Credential)
	if err != nil {
		return session{}, err
	}
	address, err := c.seal.Open(sealedHandle, handle)
	if err != nil {
		return session{}, unknownPasskey()
	}
	person, err := c.sessions.PersonAt(ctx, address)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return session{}, unknownPasskey()
	}
	if err != nil {
		return session{}, err
	}
	opened, err := c.asPerson(ctx, call, party, person, &state, body)
	if refusal, ok := errors.AsType[*domain.Error](err); ok && refusal.Code == domain.CodePasskeyRequired {
		device, place := c.client.of(call)
		_ = c.sessions.NoteSignIn(ctx, person, signin.SignIn{Method: signin.SignInPasskey, Device: device, Place: place, Failure: refusal.Reason}) // The caller gets the refusal; an error of this note does not replace it.
	}
	return opened, err
}

// asPerson signs in a person after verifying their passkey.
func (c consoleSessions) asPerson(ctx context.Context, call *route.Call, party *passkey.Party, person domain.User, state *conversation.Ceremony, body *sessionBody) (session, error) {
	keys, err := c.passkeys.Passkeys(ctx, person)
	if err != nil {
		return session{}, err
	}
	key, err := party.SignedIn(person, keys, state, body.Credential, call.Now)
	if err != nil {
		return session{}, err
	}
	if err := c.sessions.SpendCeremony(ctx, person, state); err != nil {
		return session{}, err
	}
	if err := c.passkeys.UsePasskey(ctx, person, key); domain.CodeOf(err) == domain.CodeNotFound {
		return session{}, unknownPasskey()
	} else if err != nil {
		return session{}, err
	}
	return c.open(ctx, call, signin.SessionSpec{Person: person, By: signin.SessionOfPasskey, Passkey: key.ID, Method: signin.SignInPasskey}, len(keys))
}

func unknownPasskey() error {
	return conversation.PasskeyRequired("passkey_unknown", "The passkey is not known here: it was removed, or it was made before passkeys signed people in. Sign in by a link of the operator (svc admin link), and register it again.")
}

// open makes a session of an authenticated person and sets its cookie in the browser.
func (c consoleSessions) open(ctx context.Context, call *route.Call, spec signin.SessionSpec, passkeys int) (session, error) {
	spec.Device, spec.Place = c.client.of(call)
	token, secret, err := c.sessions.OpenSession(ctx, spec)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return session{}, unknownPasskey()
	}
	if err != nil {
		return session{}, err
	}
	call.SignIn(token, secret)
	call.About(spec.Person.ID)
	if err := concernHomes(ctx, call, c.organizations); err != nil {
		return session{}, err
	}
	return session{User: spec.Person, ExpiresAt: route.Time(*token.ExpiresAt), Passkeys: passkeys}, nil
}

func (c consoleSessions) end(ctx context.Context, call *route.Call, _ struct{}) (route.Empty, error) {
	call.SignOut()
	if secret := call.Session(); secret != "" {
		return route.Empty{}, c.sessions.EndSession(ctx, secret)
	}
	return route.Empty{}, nil
}
