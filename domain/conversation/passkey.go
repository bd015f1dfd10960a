package conversation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"svc/domain"
)

// Limits of passkeys.
const (
	// CeremonyTime is how long a challenge waits for its answer.
	CeremonyTime = 2 * time.Minute
	// FreshSession is the time after signing in within which passkeys can be added and removed: another person may use
	// an older session.
	FreshSession = 10 * time.Minute
	// MaxPasskeys limits the passkeys of a person.
	MaxPasskeys = 10
)

// Passkey is a key of a person, held by an authenticator, that proves the person's presence. Everything stored here is
// public.
type Passkey struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Party is the host of its registration, and the only host that accepts it.
	Party      string     `json:"party"`
	CreatedAt  time.Time  `json:"createdAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"`
	// Handle is the name of the person in the authenticator; empty if it is the person's id. A passkey without a handle
	// confirms actions but cannot sign in.
	Handle []byte `json:"handle,omitempty"`
	// Credential is the public key with its counter, as http/passkey writes it.
	Credential json.RawMessage `json:"credential"`
}

// Ceremony is one challenge to an authenticator; it is answered at most once.
type Ceremony struct {
	ID string `json:"id"`
	// Purpose names the action that the answer confirms; the challenge is derived from it.
	Purpose string `json:"purpose"`
	// Nonce is the unpredictable part of the challenge.
	Nonce []byte `json:"nonce"`
	// Session holds the data with which http/passkey verifies the answer.
	Session json.RawMessage `json:"session"`
	EndsAt  time.Time       `json:"endsAt"`
}

// RegistrationPurpose is the purpose of a ceremony that registers a passkey.
const RegistrationPurpose = "register"

// ApprovalPurpose is the purpose of a ceremony that confirms an action: its id and a digest of its effect and target.
func (a *Action) ApprovalPurpose() string {
	sum := sha256.New()
	for _, part := range []string{a.ID, a.ConversationID, a.Tool, string(a.Effect), CanonicalJSON(a.Input), CanonicalJSON(a.Before)} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return "approve " + a.ID + " " + hex.EncodeToString(sum.Sum(nil))
}

// PasskeyRequired is the error for a request that needs a fresh passkey; reason names the missing step.
func PasskeyRequired(reason, message string) error {
	return &domain.Error{Code: domain.CodePasskeyRequired, Reason: reason, Message: message}
}
