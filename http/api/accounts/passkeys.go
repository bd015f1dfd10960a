package accounts

import (
	"context"
	"encoding/json"
	"strings"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api"
	"svc/http/passkey"
	"svc/http/route"
)

// passkeys serves the console's routes of passkeys.
type passkeys struct {
	passkeys      api.Passkeys
	organizations Organizations
	sessions      Sessions
	seal          Seal
}

// concern records the call in the ledgers of all organizations of the person, because a passkey approves actions in
// each of them.
func (p passkeys) concern(ctx context.Context, call *route.Call) error {
	return concernHomes(ctx, call, p.organizations)
}

func consolePasskeyRoutes(ports Ports) []route.Route {
	keys := passkeys{ports.Passkeys, ports.Organizations, ports.Sessions, ports.Seal}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/me/passkeys", Operation: "console.passkeys.list", Scope: domain.ScopeRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "List the signed-in person's passkeys", Handler: route.Typed(keys.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/me/passkeys/challenge", Operation: "console.passkeys.challenge", Scope: domain.ScopeWrite, Effect: route.Write, Unrecorded: "a challenge changes nothing", Rate: domain.RateDefault,
			Summary: "Begin to register a passkey, soon after signing in", Codes: []domain.Code{domain.CodePasskeyRequired, domain.CodeNotAvailable}, Handler: route.Typed(keys.challenge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/me/passkeys", Operation: "console.passkeys.register", Scope: domain.ScopeWrite, Effect: route.Write, Ledger: "passkey.created", Rate: domain.RateDefault,
			Summary: "Register a passkey", Status: 201, Codes: []domain.Code{domain.CodeConflict, domain.CodePasskeyRequired, domain.CodeNotAvailable}, Handler: route.Typed(keys.register),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/me/passkeys/{id}", Operation: "console.passkeys.remove", Scope: domain.ScopeWrite, Effect: route.Destructive, Ledger: "passkey.removed", Rate: domain.RateDefault,
			Summary: "Remove a passkey, soon after signing in", Status: 204, Codes: []domain.Code{domain.CodePasskeyRequired}, Handler: route.Typed(keys.remove),
		},
	}
}

// passkeyRow is a passkey as answers show it.
type passkeyRow struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Host       string      `json:"host" doc:"The name of the service that it was registered for."`
	CreatedAt  route.Time  `json:"createdAt"`
	LastUsedAt *route.Time `json:"lastUsedAt"`
}

func passkeyOf(key *conversation.Passkey) passkeyRow {
	return passkeyRow{ID: key.ID, Name: key.Name, Host: key.Party, CreatedAt: route.Time(key.CreatedAt), LastUsedAt: route.TimeOf(key.LastUsedAt)}
}

func (p passkeys) list(ctx context.Context, call *route.Call, in api.Paging) (domain.Page[passkeyRow], error) {
	person, err := api.SignedIn(call)
	if err != nil {
		return domain.Page[passkeyRow]{}, err
	}
	keys, err := p.passkeys.Passkeys(ctx, person)
	if err != nil {
		return domain.Page[passkeyRow]{}, err
	}
	return api.PageOfAll(call, api.Convert(keys, passkeyOf), in, func(row passkeyRow) string { return row.ID })
}

// freshlySignedIn returns the person of a session that is recent enough to change passkeys.
func freshlySignedIn(call *route.Call) (domain.User, error) {
	person, err := api.SignedIn(call)
	if err == nil && call.Now.Sub(call.Grant.Token.CreatedAt) >= conversation.FreshSession {
		err = conversation.PasskeyRequired("session_too_old", "Sign in again: passkeys are added and removed within ten minutes of signing in.")
	}
	return person, err
}

func (p passkeys) challenge(ctx context.Context, call *route.Call, _ struct{}) (api.Challenged, error) {
	person, err := freshlySignedIn(call)
	if err != nil {
		return api.Challenged{}, err
	}
	party, err := passkey.NewParty(call.Site())
	if err != nil {
		return api.Challenged{}, err
	}
	keys, err := p.passkeys.Passkeys(ctx, person)
	if err != nil {
		return api.Challenged{}, err
	}
	options, state, err := party.Register(p.passkeys.NewCeremonyID(), &passkey.Candidate{
		Person: person, Handle: p.seal.Seal(sealedHandle, p.sessions.AddressOf(person)), Keys: keys, Purpose: conversation.RegistrationPurpose,
	}, call.Now)
	if err != nil {
		return api.Challenged{}, err
	}
	return api.OpenCeremony(ctx, p.passkeys, person, options, state)
}

type registerPasskey struct {
	Body passkeyBody `body:"json"`
}

// passkeyBody is the body of POST …/passkeys.
type passkeyBody struct {
	Name       string          `json:"name" required:"true" doc:"By which its owner knows it."`
	Ceremony   string          `json:"ceremony" required:"true" doc:"From the challenge."`
	Credential json.RawMessage `json:"credential" required:"true" doc:"What navigator.credentials.create returned, by toJSON()."`
}

// maxPasskeyName bounds the name of a passkey, in bytes.
const maxPasskeyName = 100

// Check applies the limits of names.
func (r *registerPasskey) Check(*route.Call) []domain.FieldError {
	return checkPasskeyName(r.Body.Name)
}

func checkPasskeyName(name string) []domain.FieldError {
	if name = strings.TrimSpace(name); name == "" || len(name) > maxPasskeyName {
		return []domain.FieldError{{Field: "name", Code: "invalid_value", Message: "A name has 1 to 100 bytes."}}
	}
	return nil
}

func (p passkeys) register(ctx context.Context, call *route.Call, in registerPasskey) (passkeyRow, error) {
	person, err := freshlySignedIn(call)
	if err != nil {
		return passkeyRow{}, err
	}
	party, err := passkey.NewParty(call.Site())
	if err != nil {
		return passkeyRow{}, err
	}
	state, err := p.passkeys.TakeCeremony(ctx, person, in.Body.Ceremony)
	if err != nil {
		return passkeyRow{}, err
	}
	key, err := party.Registered(person, &state, conversation.RegistrationPurpose, in.Body.Credential, call.Now)
	if err != nil {
		return passkeyRow{}, err
	}
	if err := p.concern(ctx, call); err != nil {
		return passkeyRow{}, err
	}
	key.Name = strings.TrimSpace(in.Body.Name)
	key, err = p.passkeys.AddPasskey(ctx, person, call.Grant.Token.ID, key)
	if err != nil {
		return passkeyRow{}, err
	}
	call.Created("/me/passkeys/" + key.ID)
	return passkeyOf(&key), nil
}

type passkeyPath struct {
	ID string `path:"id" doc:"The passkey's id."`
}

func (p passkeys) remove(ctx context.Context, call *route.Call, in passkeyPath) (route.Empty, error) {
	person, err := freshlySignedIn(call)
	if err == nil {
		err = p.concern(ctx, call)
	}
	if err != nil {
		return route.Empty{}, err
	}
	return route.Empty{}, p.passkeys.RemovePasskey(ctx, person, in.ID)
}
