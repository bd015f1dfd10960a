package billing

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/revenue"
)

// Sealer encrypts credentials.
type Sealer interface {
	Opener
	// Seal encrypts a text under a name.
	Seal(name string, clear []byte) []byte
}

// Connectors makes, changes and deletes billing connectors.
type Connectors struct {
	Actors grain.Caller
	Index  *Index
	Random grain.Random
	Sealer Sealer
	Now    func() time.Time
	// Sync publishes a change on this node before it is answered; nil if there are no other nodes.
	Sync func(ctx context.Context, kind, identity string) error
}

// List returns the connectors of an application by id.
func (c *Connectors) List(ctx context.Context, ref domain.AppRef) ([]revenue.ConnectedBilling, error) {
	return bookList.Ask(ctx, c.Actors, ref.String(), grain.None{})
}

// Put makes the connector with an id, or replaces it; empty secrets stay as they are. It fails with invalid_request as
// revenue.BillingSpec.Validate and CheckBillingSecrets do, and with conflict if there are too many.
func (c *Connectors) Put(ctx context.Context, app *domain.Application, id string, spec revenue.BillingSpec, apiKey, signing domain.Secret) (revenue.ConnectedBilling, error) {
	problems := append(spec.Validate(app.Environments), spec.CheckBillingSecrets(apiKey, signing)...)
	all, err := c.List(ctx, app.Ref())
	if err != nil {
		return revenue.ConnectedBilling{}, err
	}
	made := revenue.BillingConnector{ID: id, BillingSpec: spec}
	var present revenue.ConnectedBilling
	if at := slices.IndexFunc(all, func(one revenue.ConnectedBilling) bool { return one.ID == id }); at >= 0 {
		present = all[at]
		made.Hook = present.Hook
		if present.Provider != spec.Provider {
			problems = append(problems, domain.FieldError{Field: "provider", Code: "conflict", Message: "The provider of a connector does not change; delete it and make another one."})
		}
	}
	if len(problems) > 0 {
		return present, domain.Invalid(problems...)
	}
	if made.Hook == "" {
		made.Hook = c.Random.NewID(ctx, "bcn_")
	}
	if at := slices.IndexFunc(app.Environments, func(e domain.Environment) bool { return e.Slug == spec.Environment }); at >= 0 {
		made.Number = app.Environments[at].Number
	}
	if err := c.seal(&made, &present.BillingConnector, apiKey, signing); err != nil {
		return present, err
	}
	reread := made.Number != present.Number || apiKey != "" || made.Customers != present.Customers
	put, err := bookPut.Ask(ctx, c.Actors, app.Ref().String(), putConnector{Connector: made, Before: present.Sealed, Reread: reread})
	return put, c.synced(ctx, app.Ref(), err)
}

// seal gives a connector the credential of the current one, with the new secrets in it.
func (c *Connectors) seal(made, present *revenue.BillingConnector, apiKey, signing domain.Secret) error {
	if made.Provider != revenue.BillingStripe {
		return nil
	}
	before, err := credentialOf(c.Sealer, present)
	if err != nil {
		return err
	}
	next := before.With(apiKey, signing, c.Now())
	if next.APIKey == "" {
		return domain.Invalid(domain.FieldError{Field: "apiKey", Code: "required", Message: "A connector of Stripe needs a key; a restricted one that only reads is best."})
	}
	if problems := made.CheckBillingSecrets(next.APIKey, ""); len(problems) > 0 {
		return domain.Invalid(problems...) // the environment has changed, and the key does not fit the new one
	}
	clear, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding a credential: %w", err)
	}
	made.Live, _ = revenue.StripeKeyMode(next.APIKey)
	made.Sealed, made.HasSigningSecret = c.Sealer.Seal(made.Hook, clear), next.Signing != ""
	return nil
}

// Delete removes a connector and returns its last state. It fails with not_found if there is no such connector.
func (c *Connectors) Delete(ctx context.Context, ref domain.AppRef, id string) (revenue.ConnectedBilling, error) {
	deleted, err := bookDelete.Ask(ctx, c.Actors, ref.String(), findConnector{ID: id})
	return deleted, c.synced(ctx, ref, err)
}

// Hooked returns the connector that the address of a webhook names, its application, and its credential. It fails with
// not_found if there is no such connector, or if it is disabled.
func (c *Connectors) Hooked(hook string) (domain.AppRef, *revenue.BillingConnector, revenue.BillingCredential, error) {
	ref, connector := c.Index.hooked(hook)
	if connector == nil || !connector.Reads() {
		return ref, nil, revenue.BillingCredential{}, domain.NotFound("billing connector")
	}
	credential, err := credentialOf(c.Sealer, connector)
	return ref, connector, credential, err
}

// synced returns the error of a change once this node's index has the change. A change that does not arrive in time is
// on its way.
func (c *Connectors) synced(ctx context.Context, ref domain.AppRef, err error) error {
	if err != nil || c.Sync == nil {
		return err
	}
	_ = c.Sync(ctx, kindBook, ref.String()) // see above
	return nil
}
