package api

import (
	"context"
	"encoding/json"

	"svc/domain"
	"svc/domain/conversation"
	"svc/domain/signin"
	"svc/http/route"
)

// Passkeys stores the passkeys of people and the challenges to their authenticators.
type Passkeys interface {
	Passkeys(ctx context.Context, person domain.User) ([]conversation.Passkey, error)
	// AddPasskey returns the passkey with its id. It fails with conflict if there are too many, and with
	// passkey_required if the session has ended.
	AddPasskey(ctx context.Context, person domain.User, session string, key conversation.Passkey) (conversation.Passkey, error)
	UsePasskey(ctx context.Context, person domain.User, key conversation.Passkey) error
	RemovePasskey(ctx context.Context, person domain.User, id string) error
	// OpenCeremony stores a challenge; TakeCeremony returns it once.
	NewCeremonyID() string
	OpenCeremony(ctx context.Context, person domain.User, ceremony conversation.Ceremony) error
	TakeCeremony(ctx context.Context, person domain.User, id string) (conversation.Ceremony, error)
}

// Challenged is a challenge to an authenticator.
type Challenged struct {
	Ceremony  string          `json:"ceremony" doc:"Names the question in the answer."`
	Options   json.RawMessage `json:"options" doc:"For PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON."`
	ExpiresAt route.Time      `json:"expiresAt"`
}

// OpenCeremony stores a challenge and returns it as an answer.
func OpenCeremony(ctx context.Context, port Passkeys, person domain.User, options json.RawMessage, state conversation.Ceremony) (Challenged, error) {
	if err := port.OpenCeremony(ctx, person, state); err != nil {
		return Challenged{}, err
	}
	return Challenged{Ceremony: state.ID, Options: options, ExpiresAt: route.Time(state.EndsAt)}, nil
}

// FreshPasskey refuses a call if its session was not opened with a passkey a short time ago. The person then signs in
// again and repeats the call.
func FreshPasskey(call *route.Call) error {
	if _, err := SignedIn(call); err != nil {
		return err
	}
	token := &call.Grant.Token
	if token.Name != signin.SessionOfPasskey || call.Now.Sub(token.CreatedAt) >= conversation.FreshSession {
		return conversation.PasskeyRequired("session_too_old", "Sign in again with a passkey: this is done within ten minutes of that.")
	}
	return nil
}
