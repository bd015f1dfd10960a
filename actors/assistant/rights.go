package assistant

import (
	"context"

	"svc/domain"
	"svc/domain/conversation"
)

// loadRights loads the rights of the turn. A question uses the grant with which its request was just admitted. An
// approved action needs a fresh token, and is not executed without it.
func (t *turn) loadRights(ctx context.Context) (err error) {
	if t.approved == nil {
		return t.readRights(ctx, &t.who.Grant)
	}
	if t.settings, err = t.Settings.Settings(ctx, t.who.Ref.Org, t.who.User.ID); err != nil {
		return err
	}
	grant, err := t.tokenGrant(ctx)
	if err != nil {
		return err
	}
	if err := t.readRights(ctx, grant); err != nil {
		return err
	}
	if err := t.checkSend(ctx); err != nil {
		return err
	}
	return t.ensureClaim(ctx)
}

// ensureToken mints the turn's token on first use; many answers never need one.
func (t *turn) ensureToken(ctx context.Context) error {
	if t.token.ID != "" {
		return nil
	}
	token, secret, err := t.mint(ctx, t.who, t.settings.Policy)
	if err == nil {
		t.token, t.secret = token, secret
	}
	return err
}

// tokenGrant returns the current rights of the turn's token.
func (t *turn) tokenGrant(ctx context.Context) (*domain.Grant, error) {
	if err := t.ensureToken(ctx); err != nil {
		return nil, err
	}
	grant, _, err := t.Tokens.Authorize(ctx, t.secret.Reveal(), domain.RateNone, t.who.Ref.Org)
	if code := domain.CodeOf(err); err != nil && (code == domain.CodeNotFound || code == domain.CodeUnauthorized) {
		err = errRevoked
	}
	return &grant, err
}

// readRights reads the organization's rules and the application again, and applies them to a grant: first the grant of
// the request, later the grant of the turn's token.
func (t *turn) readRights(ctx context.Context, of *domain.Grant) error {
	var err error
	if t.settings, err = t.Settings.Settings(ctx, t.who.Ref.Org, t.who.User.ID); err != nil {
		return err
	}
	app, err := t.Apps.Get(ctx, t.who.Ref)
	if err != nil {
		return err
	}
	audience := conversation.NewAudience(*of, app.Modules, t.settings.Policy)
	audience.Grant.Permissions = domain.EffectivePermissions(audience.Grant.Role, audience.Grant.Token.Scopes)
	if !audience.Grant.May(domain.PermAIUse) || !app.Has(domain.ModuleAI) {
		return errRevoked
	}
	t.audience = audience
	return nil
}
