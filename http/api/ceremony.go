package api

import (
	"context"
	"encoding/json"

	"svc"
	"svc/http/route"
)

// Passkeys stores the passkeys of people and the challenges to their authenticators.
type Passkeys interface {
	Passkeys(ctx context.Context, person svc.User) ([]svc.Passkey, error)
	// AddPasskey returns the passkey with its id. It fails with conflict if there are too many, and with
	// passkey_required if the session has ended.
	AddPasskey(ctx context.Context, person svc.User, session string, key svc.Passkey) (svc.Passkey, error)
	UsePasskey(ctx context.Context, person svc.User, key svc.Passkey) error
	RemovePasskey(ctx context.Context, person svc.User, id string) error
	// OpenCeremony stores a challenge; TakeCeremony returns it once.
	NewCeremonyID() string
	OpenCeremony(ctx context.Context, person svc.User, ceremony svc.Ceremony) error
	TakeCeremony(ctx context.Context, person svc.User, id string) (svc.Ceremony, error)
}

// Challenged is a challenge to an authenticator.
type Challenged struct {
	Ceremony  string          `json:"ceremony" doc:"Names the question in the answer."`
	Options   json.RawMessage `json:"options" doc:"For PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON."`
	ExpiresAt route.Time      `json:"expiresAt"`
}

// OpenCeremony stores a challenge and returns it as an answer.
func OpenCeremony(ctx context.Context, port Passkeys, person svc.User, options json.RawMessage, state svc.Ceremony) (Challenged, error) {
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
	if token.Name != svc.SessionOfPasskey || call.Now.Sub(token.CreatedAt) >= svc.FreshSession {
		return svc.PasskeyRequired("session_too_old", "Sign in again with a passkey: this is done within ten minutes of that.")
	}
	return nil
}
