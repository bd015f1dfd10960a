// Package billing receives the webhooks of payment providers.
package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/revenue"
	"svc/http/route"
)

// Connectors reads the billing connectors.
type Connectors interface {
	// Hooked returns the connector of a webhook's address, and its credential. It fails with not_found if there is no
	// connector, or if it is switched off.
	Hooked(hook string) (domain.AppRef, *revenue.BillingConnector, revenue.BillingCredential, error)
}

// Provider reads events of a payment provider.
type Provider interface {
	// Hook returns the items of an event. It fails with invalid_request if the body is not an event.
	Hook(ctx context.Context, connector *revenue.BillingConnector, key domain.Secret, body []byte) ([]revenue.BillingRow, error)
}

// Log accepts billing items.
type Log interface {
	// AppendBilling returns once the log has acknowledged the items.
	AppendBilling(ctx context.Context, items []revenue.BillingRow) error
}

// Hooks serves the webhooks of payment providers.
type Hooks struct {
	Connectors Connectors
	Provider   Provider
	// Signed reports whether the header Stripe-Signature signs a body with one of some secrets at an instant.
	Signed func(header string, body []byte, secrets []domain.Secret, now time.Time) bool
	Log    Log
	// Allowed reports whether an application has the module revenue.
	Allowed func(ctx context.Context, ref domain.AppRef) (bool, error)
	// Absent is true if the program was built without the module revenue.
	Absent bool
	Now    func() time.Time
}

const (
	// maxEvent bounds an event of Stripe.
	maxEvent = 1 << 20
	// hookTime bounds the lookups for an event: Stripe waits for an answer and sends the event again without one.
	hookTime = 15 * time.Second
	// hookRetry is the Retry-After while events cannot be accepted.
	hookRetry = 5 * time.Second
)

// hookInput describes the path; the body is Stripe's own.
type hookInput struct {
	Connector string `path:"connector" doc:"The connector's name in its webhookPath."`
}

// taken is the answer to an event.
type taken struct {
	Items int `json:"items" doc:"Billing items that the log has acknowledged; none where revenue is not made of the event."`
}

// Routes returns the rows of the package.
func (h *Hooks) Routes() []route.Route {
	return []route.Route{{
		Surface: route.Collect, Method: http.MethodPost, Path: "/api/v1/revenue/stripe/{connector}", Operation: "collect.stripe", Effect: route.Write,
		Summary: "The webhook of a billing connector of Stripe: takes an event that Stripe has signed.", Handler: route.Shape[hookInput, taken](),
		Codes: []domain.Code{domain.CodeInvalidRequest, domain.CodeUnauthorized, domain.CodeModuleDisabled, domain.CodeNotFound, domain.CodeTooLarge, domain.CodeUnavailable, domain.CodeNotAvailable},
		Raw:   h.serve,
	}}
}

// serve answers 200 after the items of an event are in the log. An event that is sent again has the same items.
func (h *Hooks) serve(w *route.Response, r *http.Request) {
	items, err := h.take(r)
	if err != nil {
		w.Refuse(r, err, nil)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, "{\"items\":%d}\n", items) // A sender that has disconnected sends the event again.
}

// take checks an event and appends its items to the log.
func (h *Hooks) take(r *http.Request) (items int, err error) {
	if h.Absent {
		return 0, domain.Errorf(domain.CodeNotAvailable, "This deployment was built without the module revenue.")
	}
	ref, connector, credential, err := h.Connectors.Hooked(r.PathValue("connector"))
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxEvent+1))
	switch {
	case err != nil:
		return 0, domain.Invalid(domain.FieldError{Code: "invalid_body", Message: "The body could not be read."})
	case len(body) > maxEvent:
		return 0, domain.Errorf(domain.CodeTooLarge, "The event is over %d bytes.", maxEvent)
	case !h.Signed(r.Header.Get("Stripe-Signature"), body, credential.SigningSecrets(h.Now()), h.Now()):
		return 0, domain.Errorf(domain.CodeUnauthorized, "The event is not signed by the webhook's signing secret, or was signed more than five minutes ago.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), hookTime)
	defer cancel()
	// A refused event is read from the list of events later, after the module is switched on.
	if allowed, err := h.Allowed(ctx, ref); err != nil || !allowed {
		return 0, cmp.Or(err, error(&domain.Error{Code: domain.CodeModuleDisabled, Module: domain.ModuleRevenue, Message: "The application has switched the module revenue off."}))
	}
	rows, err := h.Provider.Hook(ctx, connector, credential.APIKey, body)
	if _, away := errors.AsType[*revenue.BillingProblemError](err); away {
		return 0, domain.Unavailable("The payment provider", hookRetry)
	}
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return len(rows), h.Log.AppendBilling(ctx, rows)
}
