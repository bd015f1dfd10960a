package svc

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Limits of passkeys.
const (
	// CeremonyTime is how long a challenge waits for its answer.
	CeremonyTime = 2 * time.Minute
	// FreshSession is how long after signing in passkeys are added and removed: an older
	// session may be in other hands.
	FreshSession = 10 * time.Minute
	// MaxPasskeys bounds the passkeys of a person.
	MaxPasskeys = 10
)

// Passkey is a key of a person, kept by an authenticator, that proves that the person is
// there. What is stored here is public.
type Passkey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Party is the host under which it was registered, and the only one that it serves.
	Party      string     `json:"party"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	// Handle is the name of the person in the authenticator; empty where that is the person's id.
	// A passkey without a handle confirms actions and signs nobody in.
	Handle []byte `json:"handle,omitempty"`
	// Credential is the public key with its counter, as http/passkey writes it.
	Credential json.RawMessage `json:"credential"`
}

// Ceremony is one question to an authenticator; it is answered once or not at all.
type Ceremony struct {
	ID string `json:"id"`
	// Purpose names the action that the answer confirms; the challenge is made of it.
	Purpose string `json:"purpose"`
	// Nonce is the part of the challenge that nobody can foresee.
	Nonce []byte `json:"nonce"`
	// Session holds the data with which http/passkey verifies the answer.
	Session json.RawMessage `json:"session"`
	EndsAt  time.Time       `json:"endsAt"`
}

// RegistrationPurpose is the purpose of a ceremony that registers a passkey.
const RegistrationPurpose = "register"

// ApprovalPurpose is the purpose of a ceremony that confirms an action: its id and a
// digest of what it does to what.
func (a *Action) ApprovalPurpose() string {
	sum := sha256.New()
	for _, part := range []string{a.ID, a.ConversationID, a.Tool, string(a.Effect), CanonicalJSON(a.Input), CanonicalJSON(a.Before)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return "approve " + a.ID + " " + hex.EncodeToString(sum.Sum(nil))
}

// PasskeyRequired is the error for a request that needs a fresh passkey; reason says which step is
// missing.
func PasskeyRequired(reason, message string) error {
	return &Error{Code: CodePasskeyRequired, Reason: reason, Message: message}
}
