package apitest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
)

// OpenSession is the port accounts.Sessions.
func (m *Memory) OpenSession(_ context.Context, spec signin.SessionSpec) (domain.Token, domain.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ends := m.now().Add(signin.SessionTime)
	token, secret := m.mint(domain.TokenConsole, domain.TokenOwner{User: spec.Person}, domain.TokenSpec{Name: spec.By, Scopes: domain.Scopes(), ExpiresAt: &ends})
	m.sessions = append(m.sessions, heldSession{signin.ConsoleSession{
		ID: token.ID, By: spec.By, Passkey: spec.Passkey, Device: spec.Device, Place: spec.Place, CreatedAt: m.now(), LastUsedAt: m.now(), ExpiresAt: ends,
	}, spec.Person.ID, token.Hash})
	m.noteSignIn(spec.Person, signin.SignIn{Method: spec.Method, Device: spec.Device, Place: spec.Place})
	return token, secret, nil
}

// EndSession is the port accounts.Sessions.
func (m *Memory) EndSession(_ context.Context, secret domain.Secret) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tokens, domain.HashSecretHex(secret.Reveal()))
	return nil
}

// heldSession is a session of a person.
type heldSession struct {
	signin.ConsoleSession
	person, hash string
}

// Sessions is the port accounts.Sessions.
func (m *Memory) Sessions(_ context.Context, person domain.User) ([]signin.ConsoleSession, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sessions := []signin.ConsoleSession{}
	for _, one := range m.sessions {
		if one.person == person.ID {
			sessions = append(sessions, one.ConsoleSession)
		}
	}
	return sessions, nil
}

// EndSessionOf is the port accounts.Sessions.
func (m *Memory) EndSessionOf(_ context.Context, person domain.User, id string) error {
	if !m.endSessions(func(one heldSession) bool { return one.person == person.ID && one.ID == id }) {
		return domain.NotFound("session")
	}
	return nil
}

// EndOtherSessions is the port accounts.Sessions.
func (m *Memory) EndOtherSessions(_ context.Context, person domain.User, except string) error {
	m.endSessions(func(one heldSession) bool { return one.person == person.ID && one.ID != except })
	return nil
}

func (m *Memory) endSessions(which func(one heldSession) bool) (ended bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions = slices.DeleteFunc(m.sessions, func(one heldSession) bool {
		if !which(one) {
			return false
		}
		delete(m.tokens, one.hash)
		ended = true
		return true
	})
	return ended
}

// NoteSignIn is the port accounts.Sessions.
func (m *Memory) NoteSignIn(_ context.Context, person domain.User, signIn signin.SignIn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.noteSignIn(person, signIn)
	return nil
}

func (m *Memory) noteSignIn(person domain.User, signIn signin.SignIn) {
	signIn.ID, signIn.At = fmt.Sprintf("sgn_%026d", len(m.signIns[person.ID])+1), m.now()
	m.signIns[person.ID] = append(m.signIns[person.ID], signIn)
}

// SignIns is the port accounts.Sessions.
func (m *Memory) SignIns(_ context.Context, person domain.User) ([]signin.SignIn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.signIns[person.ID]), nil
}

// RefusedSignIn is the sign-in of Ada in a World that failed before she signed in.
func RefusedSignIn() signin.SignIn {
	return signin.SignIn{Method: signin.SignInPasskey, Device: "Firefox, macOS", Place: "Bern, CH", Failure: "passkey_refused"}
}

// AddressOf is the port accounts.Sessions.
func (m *Memory) AddressOf(person domain.User) []byte {
	sum := sha256.Sum256([]byte(person.Email))
	return sum[:]
}

// PersonAt is the port accounts.Sessions.
func (m *Memory) PersonAt(_ context.Context, address []byte) (domain.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, person := range m.users {
		if bytes.Equal(m.AddressOf(person), address) {
			return person, nil
		}
	}
	return domain.User{}, domain.NotFound("user")
}

// SpendCeremony is the port accounts.Sessions.
func (m *Memory) SpendCeremony(_ context.Context, person domain.User, ceremony *conversation.Ceremony) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, spent := m.ceremonies[person.ID+ceremony.ID]; spent {
		return conversation.PasskeyRequired("challenge_over", "The challenge is over or was answered before; begin again.")
	}
	m.ceremonies[person.ID+ceremony.ID] = *ceremony
	return nil
}

// NewLink is the port accounts.Links.
func (m *Memory) NewLink(_ context.Context, link signin.Link) (domain.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, secret := m.mint(domain.TokenLink, domain.TokenOwner{User: link.User, Org: link.Org}, domain.TokenSpec{Name: link.Invitation, ExpiresAt: &link.EndsAt})
	return secret, nil
}

// Link is the port accounts.Links.
func (m *Memory) Link(_ context.Context, secret domain.Secret) (signin.Link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.tokens[domain.HashSecretHex(secret.Reveal())]
	if held == nil || held.token.Kind != domain.TokenLink || !held.token.Live(m.now()) {
		return signin.Link{}, domain.Errorf(domain.CodeUnauthorized, "The link is over, or was used before. Ask for another one; the operator makes one with: svc admin link --email …")
	}
	return signin.Link{User: *held.token.User, Invitation: held.token.Name, Org: held.token.Org, EndsAt: *held.token.ExpiresAt}, nil
}

// SpendLink is the port accounts.Links.
func (m *Memory) SpendLink(ctx context.Context, secret domain.Secret) error {
	if _, err := m.Link(ctx, secret); err != nil {
		return err
	}
	return m.EndSession(ctx, secret)
}

// Enter is the port accounts.Links.
func (m *Memory) Enter(ctx context.Context, email string) (domain.User, error) {
	person, err := m.KnownUser(ctx, email)
	if err == nil {
		return person, nil
	}
	offers, err := m.Offers(ctx, domain.User{Email: email})
	if err != nil || len(offers) == 0 {
		return domain.User{}, domain.NotFound("user")
	}
	return m.person(email, offers[0].Invitation.Name), nil
}

// MayRegister is the port accounts.Links.
func (m *Memory) MayRegister(ctx context.Context, link signin.Link) error {
	if _, err := m.KnownUser(ctx, link.User.Email); err == nil {
		return &domain.Error{Code: domain.CodeConflict, Reason: "sign_in_first", Message: "You are known here. Sign in with your passkey, and accept the invitation then."}
	}
	return nil
}

// Register is the port accounts.Links.
func (m *Memory) Register(ctx context.Context, link signin.Link, key conversation.Passkey) (domain.User, conversation.Passkey, error) {
	if err := m.MayRegister(ctx, link); err != nil {
		return domain.User{}, key, err
	}
	person := m.person(link.User.Email, link.User.Name)
	key, err := m.AddPasskey(ctx, person, "", key)
	return person, key, err
}

// ProveAddress is the port accounts.Links.
func (m *Memory) ProveAddress(context.Context, domain.User, string) error { return nil }

// KnownUser returns the person of an e-mail address, or not_found.
func (m *Memory) KnownUser(_ context.Context, email string) (domain.User, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	person, known := m.users[email]
	if !known {
		return domain.User{}, domain.NotFound("user")
	}
	return person, nil
}

// openSeal is the port accounts.Seal without a secret: a sealed value contains its name.
type openSeal struct{}

// Seal is the port accounts.Seal.
func (openSeal) Seal(name string, clear []byte) []byte {
	return slices.Concat([]byte(name), []byte{0}, clear)
}

// Open is the port accounts.Seal.
func (openSeal) Open(name string, sealed []byte) ([]byte, error) {
	clear, found := bytes.CutPrefix(sealed, []byte(name+"\x00"))
	if !found {
		return nil, errors.New("not sealed under this name")
	}
	return clear, nil
}

// Know makes the person of an e-mail address known.
func (m *Memory) Know(email string) domain.User { return m.person(email, "Known") }
