// Package passkeytest is an authenticator in software, for tests and benchmarks: it combines the functions of a browser
// and a passkey.
package passkeytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"github.com/fxamacker/cbor/v2"
)

// The flags of authenticator data.
const (
	present  = 0x01
	verified = 0x04
	attested = 0x40
)

// T receives the errors of requests that cannot be answered; a testing.TB is one.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Authenticator holds one key. Tests may change its fields to make it misbehave.
type Authenticator struct {
	// Origin is the origin of the browser's page, Party the relying party.
	Origin, Party string
	// Verified reports whether the user was verified, by a finger for example.
	Verified bool
	// Counter grows with every signature.
	Counter uint32

	// Handle is the authenticator's id of its owner; a registration sets it.
	Handle []byte

	t   T
	id  []byte
	key *ecdsa.PrivateKey
}

// New returns an authenticator with its own key.
func New(t T, origin, party string) *Authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // It never fails.
	return &Authenticator{Origin: origin, Party: party, Verified: true, t: t, id: id, key: key}
}

func (a *Authenticator) flags(more byte) byte {
	flags := present | more
	if a.Verified {
		flags |= verified
	}
	return flags
}

// data returns the authenticator data and advances the counter.
func (a *Authenticator) data(flags byte) []byte {
	a.Counter++
	party := sha256.Sum256([]byte(a.Party))
	return binary.BigEndian.AppendUint32(append(party[:], flags), a.Counter)
}

func (a *Authenticator) encode(value any, how func(any) ([]byte, error)) []byte {
	a.t.Helper()
	encoded, err := how(value)
	if err != nil {
		a.t.Fatal(err)
	}
	return encoded
}

// client returns the data that a browser adds, for the challenge in options.
func (a *Authenticator) client(kind string, options []byte) []byte {
	a.t.Helper()
	var asked struct{ Challenge string }
	if err := json.Unmarshal(options, &asked); err != nil || asked.Challenge == "" {
		a.t.Fatalf("the options %s have no challenge: %v", options, err)
	}
	return a.encode(map[string]any{"type": kind, "challenge": asked.Challenge, "origin": a.Origin, "crossOrigin": false}, json.Marshal)
}

func text(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// Create answers the options of a registration.
func (a *Authenticator) Create(options []byte) []byte {
	a.t.Helper()
	var asked struct{ User struct{ ID string } }
	if err := json.Unmarshal(options, &asked); err != nil {
		a.t.Fatal(err)
	}
	a.Handle, _ = base64.RawURLEncoding.DecodeString(asked.User.ID)
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.t.Fatal(err)
	}
	public := a.encode(map[int]any{1: 2, 3: -7, -1: 1, -2: point[1:33], -3: point[33:]}, cbor.Marshal)
	data := append(a.data(a.flags(attested)), make([]byte, 16)...) // The authenticator's model is unknown.
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(a.id))), a.id...)
	object := a.encode(map[string]any{"fmt": "none", "attStmt": map[string]any{}, "authData": append(data, public...)}, cbor.Marshal)
	return a.answer(map[string]any{"clientDataJSON": text(a.client("webauthn.create", options)), "attestationObject": text(object)})
}

// Get answers the options of a confirmation.
func (a *Authenticator) Get(options []byte) []byte {
	a.t.Helper()
	client, data := a.client("webauthn.get", options), a.data(a.flags(0))
	hash := sha256.Sum256(client)
	signed := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, signed[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return a.answer(map[string]any{"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature), "userHandle": text(a.Handle)})
}

func (a *Authenticator) answer(response map[string]any) []byte {
	return a.encode(map[string]any{"id": text(a.id), "rawId": text(a.id), "type": "public-key", "response": response, "clientExtensionResults": map[string]any{}}, json.Marshal)
}
