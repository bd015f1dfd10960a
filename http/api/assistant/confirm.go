package assistant

import (
	"context"
	"encoding/json"
	"slices"

	"svc/domain"
	"svc/domain/conversation"
	"svc/http/api"
	"svc/http/passkey"
	"svc/http/route"
)

// confirmable returns a destructive action of the signed-in person that waits.
func (c consoleAI) confirmable(ctx context.Context, call *route.Call, id string) (conversation.Principal, conversation.Action, error) {
	who, err := asker(call)
	if err != nil {
		return who, conversation.Action{}, err
	}
	rows, err := c.assistant.Actions(ctx, who.Ref, who.User.ID)
	if err != nil {
		return who, conversation.Action{}, err
	}
	at := slices.IndexFunc(rows, func(row conversation.Action) bool { return row.ID == id })
	if at < 0 {
		return who, conversation.Action{}, domain.NotFound("action")
	}
	if err := rows[at].CheckDecide(call.Now); err != nil {
		return who, conversation.Action{}, err
	}
	if rows[at].Effect == conversation.EffectExternal {
		return who, conversation.Action{}, conversation.SecondOperatorRequired()
	}
	return who, rows[at], nil
}

// challenge begins the confirmation of an action, with a challenge that is derived from the action.
func (c consoleAI) challenge(ctx context.Context, call *route.Call, in actionPath) (api.Challenged, error) {
	who, action, err := c.confirmable(ctx, call, in.ID)
	if err != nil {
		return api.Challenged{}, err
	}
	party, err := passkey.NewParty(call.Site())
	if err != nil {
		return api.Challenged{}, err
	}
	keys, err := c.passkeys.Passkeys(ctx, who.User)
	if err != nil {
		return api.Challenged{}, err
	}
	options, state, err := party.Ask(c.passkeys.NewCeremonyID(), who.User, keys, action.ApprovalPurpose(), call.Now)
	if err != nil {
		return api.Challenged{}, err
	}
	return api.OpenCeremony(ctx, c.passkeys, who.User, options, state)
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
func (c *confirmAction) Check(*route.Call) []domain.FieldError {
	return checkReason(c.Body.Reason, true)
}

// approve executes an action that its member confirms with a reason and a passkey.
func (c consoleAI) approve(ctx context.Context, call *route.Call, in confirmAction) (approved, error) {
	who, action, err := c.confirmable(ctx, call, in.ID)
	if err != nil {
		return approved{}, err
	}
	if in.Body.Ceremony == "" || len(in.Body.Credential) == 0 {
		return approved{}, conversation.PasskeyRequired("", "The session needs a fresh passkey to approve the action.")
	}
	if err := c.confirm(ctx, call, who.User, &action, &in.Body); err != nil {
		return approved{}, err
	}
	who.Confirmed = action.ID
	return assistant{c.assistant}.approveAs(ctx, who, action.ID, in.Body.Reason)
}

// confirm checks the answer of an authenticator. An answer can be used once, regardless of the result.
func (c consoleAI) confirm(ctx context.Context, call *route.Call, person domain.User, action *conversation.Action, body *confirmationBody) error {
	party, err := passkey.NewParty(call.Site())
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
	if domain.CodeOf(err) == domain.CodeNotFound {
		return conversation.PasskeyRequired("passkey_refused", "The passkey was removed.")
	}
	return err
}
