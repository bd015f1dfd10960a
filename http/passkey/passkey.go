// Package passkey makes challenges for authenticators and checks their answers (WebAuthn). It stores nothing: the
// caller stores the state of a ceremony and returns it once.
//
// The challenge is SHA-256 over random bytes and the purpose of the ceremony, so the authenticator's signature confirms
// only that purpose. The authenticator must have verified its user, for example by a finger or a number.
package passkey

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

// Party is the service as browsers identify it.
type Party struct {
	host string
	web  *webauthn.WebAuthn
}

// NewParty returns the party of an origin: scheme, host and port. It fails with not_available if the host is an
// address, because browsers store passkeys for names only.
func NewParty(origin string) (*Party, error) {
	parsed, err := url.Parse(origin)
	if err != nil {
		return nil, fmt.Errorf("reading the origin: %w", err)
	}
	host := parsed.Hostname()
	if _, err := netip.ParseAddr(host); err == nil || host == "" {
		return nil, domain.Errorf(domain.CodeNotAvailable, "Passkeys belong to a name, and the service is reached by an address; set SVC_PUBLIC_URL.")
	}
	web, err := webauthn.New(&webauthn.Config{RPID: host, RPDisplayName: "svc", RPOrigins: []string{parsed.Scheme + "://" + parsed.Host}})
	if err != nil {
		return nil, domain.Errorf(domain.CodeNotAvailable, "Passkeys cannot belong to the name %q.", host)
	}
	return &Party{host: host, web: web}, nil
}

// holder is a person in the form that the library requires.
type holder struct {
	person domain.User
	// handle is the authenticator's id of the person.
	handle []byte
	keys   []webauthn.Credential
}

func (h holder) WebAuthnID() []byte                         { return h.handle }
func (h holder) WebAuthnName() string                       { return h.person.Email }
func (h holder) WebAuthnDisplayName() string                { return h.person.Name }
func (h holder) WebAuthnCredentials() []webauthn.Credential { return h.keys }

// holderOf selects the keys of a person that belong to the party.
func (p *Party) holderOf(person domain.User, keys []conversation.Passkey) (holder, error) {
	h := holder{person: person, handle: []byte(person.ID)}
	for _, key := range keys {
		if key.Party != p.host {
			continue
		}
		var credential webauthn.Credential
		if err := json.Unmarshal(key.Credential, &credential); err != nil {
			return h, fmt.Errorf("decoding the passkey %s: %w", key.ID, err)
		}
		h.keys = append(h.keys, credential)
	}
	return h, nil
}

// challenge returns the challenge of a ceremony.
func challenge(nonce []byte, purpose string) protocol.URLEncodedBase64 {
	sum := sha256.New()
	sum.Write(nonce)
	sum.Write([]byte("\x00" + purpose))
	return sum.Sum(nil)
}

// ceremony returns the state of a challenge.
func ceremony(id string, purpose string, nonce []byte, session *webauthn.SessionData, now time.Time) (conversation.Ceremony, error) {
	// The library has its own clock; the caller's clock decides about a ceremony.
	session.Expires, session.Challenge = time.Time{}, base64.RawURLEncoding.EncodeToString(challenge(nonce, purpose))
	encoded, err := json.Marshal(session)
	return conversation.Ceremony{ID: id, Purpose: purpose, Nonce: nonce, Session: encoded, EndsAt: now.Add(conversation.CeremonyTime)}, err
}

func newNonce() []byte {
	nonce := make([]byte, sha256.Size)
	_, _ = rand.Read(nonce) // It never fails.
	return nonce
}

// Candidate is the person that registers a passkey.
type Candidate struct {
	Person domain.User
	// Handle is the id by which authenticators will name the person, at most 64 bytes. It reveals nothing to others,
	// and identifies the person to the service at a sign-in.
	Handle []byte
	// Keys are the existing passkeys of the person.
	Keys []conversation.Passkey
	// Purpose is conversation.RegistrationPurpose, or the purpose of an invitation.
	Purpose string
}

// Register begins the registration of a passkey that its authenticator can find without the name of its owner. The
// options are for PublicKeyCredential.parseCreationOptionsFromJSON.
func (p *Party) Register(id string, who *Candidate, now time.Time) (options json.RawMessage, state conversation.Ceremony, err error) {
	h, err := p.holderOf(who.Person, who.Keys)
	if err != nil {
		return nil, state, err
	}
	h.handle = who.Handle
	creation, session, err := p.web.BeginRegistration(h,
		webauthn.WithExclusions(webauthn.Credentials(h.keys).CredentialDescriptors()),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		}))
	if err != nil {
		return nil, state, fmt.Errorf("beginning a registration: %w", err)
	}
	nonce := newNonce()
	creation.Response.Challenge = challenge(nonce, who.Purpose)
	if state, err = ceremony(id, who.Purpose, nonce, session, now); err != nil {
		return nil, state, err
	}
	options, err = json.Marshal(creation.Response)
	return options, state, err
}

// Registered checks the answer to Register and returns the new passkey without a name. It fails with passkey_required
// if the answer is invalid.
func (p *Party) Registered(person domain.User, state *conversation.Ceremony, purpose string, answer []byte, now time.Time) (conversation.Passkey, error) {
	session, err := p.session(state, purpose, now)
	if err != nil {
		return conversation.Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return conversation.Passkey{}, refused()
	}
	credential, err := p.web.CreateCredential(holder{person: person, handle: session.UserID}, session, parsed)
	if err != nil {
		return conversation.Passkey{}, refused()
	}
	encoded, err := json.Marshal(credential)
	return conversation.Passkey{Party: p.host, CreatedAt: now, Credential: encoded, Handle: session.UserID}, err
}

// Ask begins the confirmation of a purpose. The options are for PublicKeyCredential.parseRequestOptionsFromJSON. It
// fails with passkey_required if the person has no passkey for the party.
func (p *Party) Ask(id string, person domain.User, keys []conversation.Passkey, purpose string, now time.Time) (options json.RawMessage, state conversation.Ceremony, err error) {
	h, err := p.holderOf(person, keys)
	if err != nil {
		return nil, state, err
	}
	if len(h.keys) == 0 {
		return nil, state, conversation.PasskeyRequired("no_passkey", "Register a passkey first; there is none of yours for "+p.host+".")
	}
	assertion, session, err := p.web.BeginLogin(h, webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, state, fmt.Errorf("beginning a confirmation: %w", err)
	}
	nonce := newNonce()
	assertion.Response.Challenge = challenge(nonce, purpose)
	if state, err = ceremony(id, purpose, nonce, session, now); err != nil {
		return nil, state, err
	}
	options, err = json.Marshal(assertion.Response)
	return options, state, err
}

// Confirmed checks the answer to Ask and returns the passkey that gave it, with its counter advanced. It fails with
// passkey_required if the answer belongs to another challenge, is late, comes from a key that may be a copy, or is
// invalid for another reason.
func (p *Party) Confirmed(person domain.User, keys []conversation.Passkey, state *conversation.Ceremony, purpose string, answer []byte, now time.Time) (conversation.Passkey, error) {
	session, err := p.session(state, purpose, now)
	if err != nil {
		return conversation.Passkey{}, err
	}
	h, err := p.holderOf(person, keys)
	if err != nil {
		return conversation.Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return conversation.Passkey{}, refused()
	}
	at := p.find(keys, parsed.RawID)
	if at < 0 || !slices.Equal(session.UserID, h.handle) {
		return conversation.Passkey{}, refused()
	}
	if len(keys[at].Handle) > 0 {
		h.handle = keys[at].Handle
	}
	session.UserID = h.handle
	credential, err := p.web.ValidateLogin(h, session, parsed)
	if err != nil {
		return conversation.Passkey{}, refused()
	}
	return used(keys[at], credential, now)
}

// find returns the index of the passkey of a credential, negative if there is no such passkey.
func (p *Party) find(keys []conversation.Passkey, credential []byte) int {
	return slices.IndexFunc(keys, func(key conversation.Passkey) bool {
		var known webauthn.Credential
		return key.Party == p.host && json.Unmarshal(key.Credential, &known) == nil && slices.Equal(known.ID, credential)
	})
}

// used returns a passkey after a use. It refuses a passkey that may be a copy.
func used(key conversation.Passkey, credential *webauthn.Credential, now time.Time) (conversation.Passkey, error) {
	if credential.Authenticator.CloneWarning {
		return conversation.Passkey{}, refused()
	}
	encoded, err := json.Marshal(credential)
	key.LastUsedAt, key.Credential = &now, encoded
	return key, err
}

// SignIn begins a challenge without a known person: any authenticator with a passkey of this party may answer. The
// options are for PublicKeyCredential.parseRequestOptionsFromJSON.
func (p *Party) SignIn(id string, now time.Time) (options json.RawMessage, state conversation.Ceremony, err error) {
	assertion, session, err := p.web.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, state, fmt.Errorf("beginning to sign in: %w", err)
	}
	nonce := newNonce()
	assertion.Response.Challenge = challenge(nonce, signin.SignInPurpose)
	if state, err = ceremony(id, signin.SignInPurpose, nonce, session, now); err != nil {
		return nil, state, err
	}
	options, err = json.Marshal(assertion.Response)
	return options, state, err
}

// HandleOf returns the handle in the answer to SignIn. It is unverified until SignedIn has checked the answer.
func HandleOf(answer []byte) ([]byte, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil || len(parsed.Response.UserHandle) == 0 {
		return nil, refused()
	}
	return parsed.Response.UserHandle, nil
}

// SignedIn checks the answer to SignIn for the person of its handle, under the rules of Confirmed.
func (p *Party) SignedIn(person domain.User, keys []conversation.Passkey, state *conversation.Ceremony, answer []byte, now time.Time) (conversation.Passkey, error) {
	session, err := p.session(state, signin.SignInPurpose, now)
	if err != nil {
		return conversation.Passkey{}, err
	}
	h, err := p.holderOf(person, keys)
	if err != nil {
		return conversation.Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return conversation.Passkey{}, refused()
	}
	at := p.find(keys, parsed.RawID)
	if at < 0 || len(keys[at].Handle) == 0 {
		return conversation.Passkey{}, refused()
	}
	h.handle = keys[at].Handle
	credential, err := p.web.ValidateDiscoverableLogin(func(_, _ []byte) (webauthn.User, error) { return h, nil }, session, parsed)
	if err != nil {
		return conversation.Passkey{}, refused()
	}
	return used(keys[at], credential, now)
}

// session returns the library's state of a ceremony that is still open for a purpose.
func (p *Party) session(state *conversation.Ceremony, purpose string, now time.Time) (session webauthn.SessionData, err error) {
	if !now.Before(state.EndsAt) {
		return session, conversation.PasskeyRequired("challenge_over", "The challenge is over; begin again.")
	}
	if err := json.Unmarshal(state.Session, &session); err != nil {
		return session, fmt.Errorf("decoding a ceremony: %w", err)
	}
	made := base64.RawURLEncoding.EncodeToString(challenge(state.Nonce, purpose))
	if state.Purpose != purpose || subtle.ConstantTimeCompare([]byte(made), []byte(session.Challenge)) != 1 {
		return session, conversation.PasskeyRequired("other_purpose", "The challenge was made for something else, or the action is not what it was.")
	}
	return session, nil
}

func refused() error {
	return conversation.PasskeyRequired("passkey_refused", "The passkey's answer is not valid for this challenge.")
}
