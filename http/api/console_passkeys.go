package api

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"svc"
	"svc/http/passkey"
	"svc/http/route"
)

// Passkeys keeps the passkeys of people and the questions to their authenticators.
type Passkeys interface {
	Passkeys(ctx context.Context, person svc.User) ([]svc.Passkey, error)
	// AddPasskey returns the passkey with its id, conflict where there are too many.
	AddPasskey(ctx context.Context, person svc.User, key svc.Passkey) (svc.Passkey, error)
	UsePasskey(ctx context.Context, person svc.User, key svc.Passkey) error
	RemovePasskey(ctx context.Context, person svc.User, id string) error
	// OpenCeremony remembers a question; TakeCeremony returns it once.
	NewCeremonyID() string
	OpenCeremony(ctx context.Context, person svc.User, ceremony svc.Ceremony) error
	TakeCeremony(ctx context.Context, person svc.User, id string) (svc.Ceremony, error)
}

// passkeys answers the console's routes of passkeys.
type passkeys struct {
	passkeys      Passkeys
	organizations Organizations
}

// concern has the ledgers of the person's organizations tell of the call: whoever has a
// passkey may approve with it in each of them.
func (p passkeys) concern(ctx context.Context, call *route.Call) error {
	return concernHomes(ctx, call, p.organizations)
}

func consolePasskeyRoutes(ports Ports) []route.Route {
	keys := passkeys{ports.Passkeys, ports.Organizations}
	return []route.Route{
		{
			Surface: route.Console, Method: "GET", Path: "/me/passkeys", Operation: "console.passkeys.list", Scope: svc.ScopeRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "List the signed-in person's passkeys", Handler: route.Typed(keys.list),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/me/passkeys/challenge", Operation: "console.passkeys.challenge", Scope: svc.ScopeWrite, Effect: route.Write, Rate: svc.RateDefault,
			Summary: "Begin to register a passkey, soon after signing in", Codes: []svc.Code{svc.CodePasskeyRequired, svc.CodeNotAvailable}, Handler: route.Typed(keys.challenge),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/me/passkeys", Operation: "console.passkeys.register", Scope: svc.ScopeWrite, Effect: route.Write, Ledger: "passkey.created", Rate: svc.RateDefault,
			Summary: "Register a passkey", Status: 201, Codes: []svc.Code{svc.CodeConflict, svc.CodePasskeyRequired, svc.CodeNotAvailable}, Handler: route.Typed(keys.register),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/me/passkeys/{id}", Operation: "console.passkeys.remove", Scope: svc.ScopeWrite, Effect: route.Destructive, Ledger: "passkey.removed", Rate: svc.RateDefault,
			Summary: "Remove a passkey, soon after signing in", Status: 204, Codes: []svc.Code{svc.CodePasskeyRequired}, Handler: route.Typed(keys.remove),
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

func passkeyOf(key *svc.Passkey) passkeyRow {
	return passkeyRow{ID: key.ID, Name: key.Name, Host: key.Party, CreatedAt: route.Time(key.CreatedAt), LastUsedAt: route.TimeOf(key.LastUsedAt)}
}

func (p passkeys) list(ctx context.Context, call *route.Call, in paging) (svc.Page[passkeyRow], error) {
	person, err := signedIn(call)
	if err != nil {
		return svc.Page[passkeyRow]{}, err
	}
	keys, err := p.passkeys.Passkeys(ctx, person)
	if err != nil {
		return svc.Page[passkeyRow]{}, err
	}
	return pageOfAll(call, convert(keys, passkeyOf), in, func(row passkeyRow) string { return row.ID })
}

// challenged is a question to an authenticator.
type challenged struct {
	Ceremony  string          `json:"ceremony" doc:"Names the question in the answer."`
	Options   json.RawMessage `json:"options" doc:"For PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON."`
	ExpiresAt route.Time      `json:"expiresAt"`
}

// freshlySignedIn returns the person of a session that is young enough to change what
// proves who the person is.
func freshlySignedIn(call *route.Call) (svc.User, error) {
	person, err := signedIn(call)
	if err == nil && call.Now.Sub(call.Grant.Token.CreatedAt) >= svc.FreshSession {
		err = svc.PasskeyRequired("session_too_old", "Sign in again: passkeys are added and removed within ten minutes of signing in.")
	}
	return person, err
}

// open remembers a question and shows it.
func open(ctx context.Context, port Passkeys, person svc.User, options json.RawMessage, state svc.Ceremony) (challenged, error) {
	if err := port.OpenCeremony(ctx, person, state); err != nil {
		return challenged{}, err
	}
	return challenged{Ceremony: state.ID, Options: options, ExpiresAt: route.Time(state.EndsAt)}, nil
}

func (p passkeys) challenge(ctx context.Context, call *route.Call, _ struct{}) (challenged, error) {
	person, err := freshlySignedIn(call)
	if err != nil {
		return challenged{}, err
	}
	party, err := passkey.NewParty(call.Origin())
	if err != nil {
		return challenged{}, err
	}
	keys, err := p.passkeys.Passkeys(ctx, person)
	if err != nil {
		return challenged{}, err
	}
	options, state, err := party.Register(p.passkeys.NewCeremonyID(), person, keys, call.Now)
	if err != nil {
		return challenged{}, err
	}
	return open(ctx, p.passkeys, person, options, state)
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
func (r *registerPasskey) Check(*route.Call) []svc.FieldError {
	if name := strings.TrimSpace(r.Body.Name); name == "" || len(name) > maxPasskeyName {
		return []svc.FieldError{{Field: "name", Code: "invalid_value", Message: "A name has 1 to 100 bytes."}}
	}
	return nil
}

func (p passkeys) register(ctx context.Context, call *route.Call, in registerPasskey) (passkeyRow, error) {
	person, err := freshlySignedIn(call)
	if err != nil {
		return passkeyRow{}, err
	}
	party, err := passkey.NewParty(call.Origin())
	if err != nil {
		return passkeyRow{}, err
	}
	state, err := p.passkeys.TakeCeremony(ctx, person, in.Body.Ceremony)
	if err != nil {
		return passkeyRow{}, err
	}
	key, err := party.Registered(person, &state, in.Body.Credential, call.Now)
	if err != nil {
		return passkeyRow{}, err
	}
	if err := p.concern(ctx, call); err != nil {
		return passkeyRow{}, err
	}
	key.Name = strings.TrimSpace(in.Body.Name)
	key, err = p.passkeys.AddPasskey(ctx, person, key)
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

// confirmable returns a destructive action of the signed-in person that waits.
func (c consoleAI) confirmable(ctx context.Context, call *route.Call, id string) (svc.Asker, svc.Action, error) {
	who, err := asker(call)
	if err != nil {
		return who, svc.Action{}, err
	}
	rows, err := c.assistant.Actions(ctx, who.Ref, who.User.ID)
	if err != nil {
		return who, svc.Action{}, err
	}
	at := slices.IndexFunc(rows, func(row svc.Action) bool { return row.ID == id })
	if at < 0 {
		return who, svc.Action{}, svc.NotFound("action")
	}
	if err := rows[at].CheckDecide(call.Now); err != nil {
		return who, svc.Action{}, err
	}
	if rows[at].Effect == svc.EffectExternal {
		return who, svc.Action{}, svc.SecondOperatorRequired()
	}
	return who, rows[at], nil
}

// challenge begins to confirm an action: the challenge is made of it.
func (c consoleAI) challenge(ctx context.Context, call *route.Call, in actionPath) (challenged, error) {
	who, action, err := c.confirmable(ctx, call, in.ID)
	if err != nil {
		return challenged{}, err
	}
	party, err := passkey.NewParty(call.Origin())
	if err != nil {
		return challenged{}, err
	}
	keys, err := c.passkeys.Passkeys(ctx, who.User)
	if err != nil {
		return challenged{}, err
	}
	options, state, err := party.Ask(c.passkeys.NewCeremonyID(), who.User, keys, action.ApprovalPurpose(), call.Now)
	if err != nil {
		return challenged{}, err
	}
	return open(ctx, c.passkeys, who.User, options, state)
}

type confirmAction struct {
	actionPath
	Body confirmationBody `body:"json"`
}

// confirmationBody is the body of the console's POST …/approve.
type confirmationBody struct {
	Reason     string          `json:"reason" required:"true"`
	Ceremony   string          `json:"ceremony" doc:"From the challenge."`
	Credential json.RawMessage `json:"credential" doc:"What navigator.credentials.get returned, by toJSON()."`
}

// Check applies the limits of reasons.
func (c *confirmAction) Check(*route.Call) []svc.FieldError { return checkReason(c.Body.Reason, true) }

// approve executes an action that its member confirms with a reason and a passkey.
func (c consoleAI) approve(ctx context.Context, call *route.Call, in confirmAction) (approved, error) {
	who, action, err := c.confirmable(ctx, call, in.ID)
	if err != nil {
		return approved{}, err
	}
	if in.Body.Ceremony == "" || len(in.Body.Credential) == 0 {
		return approved{}, svc.PasskeyRequired("", "The session needs a fresh passkey to approve the action.")
	}
	if err := c.confirm(ctx, call, who.User, &action, &in.Body); err != nil {
		return approved{}, err
	}
	who.Confirmed = action.ID
	return assistant{c.assistant}.approveAs(ctx, who, action.ID, in.Body.Reason)
}

// confirm judges the answer of an authenticator, which serves once whatever it is.
func (c consoleAI) confirm(ctx context.Context, call *route.Call, person svc.User, action *svc.Action, body *confirmationBody) error {
	party, err := passkey.NewParty(call.Origin())
	if err != nil {
		return err
	}
	state, err := c.passkeys.TakeCeremony(ctx, person, body.Ceremony)
	if err != nil {
		return err
	}
	keys, err := c.passkeys.Passkeys(ctx, person)
	if err != nil {
		return err
	}
	key, err := party.Confirmed(person, keys, &state, action.ApprovalPurpose(), body.Credential, call.Now)
	if err != nil {
		return err
	}
	err = c.passkeys.UsePasskey(ctx, person, key)
	if svc.CodeOf(err) == svc.CodeNotFound {
		return svc.PasskeyRequired("passkey_refused", "The passkey was removed.")
	}
	return err
}
