package revenue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// BillingProvider is the source of a billing connector's items.
type BillingProvider string

// The providers.
const (
	// BillingStripe is read through Stripe's API and its webhooks.
	BillingStripe BillingProvider = "stripe"
	// BillingGeneric is any system that sends its items with a secret key, or an import of items.
	BillingGeneric BillingProvider = "generic"
)

// BillingProviders lists the providers.
func BillingProviders() []BillingProvider { return []BillingProvider{BillingStripe, BillingGeneric} }

// Values lists the providers.
func (BillingProvider) Values() []BillingProvider { return BillingProviders() }

// BillingCustomers is the way to map a provider's customer to a person.
type BillingCustomers string

// The choices: the metadata distinct_id of the customer or the subscription, or as a fallback also the customer's
// e-mail address. A customer with neither has the provider's own id.
const (
	CustomersByMetadata BillingCustomers = "metadata"
	CustomersByEmail    BillingCustomers = "email"
)

// Values lists the choices.
func (BillingCustomers) Values() []BillingCustomers {
	return []BillingCustomers{CustomersByMetadata, CustomersByEmail}
}

// Limits of billing connectors.
const (
	MaxBillingConnectors = 10 // per application
	maxBillingSecret     = 500
	// billingRotation is how long a replaced signing secret verifies along with its successor.
	billingRotation = 24 * time.Hour
)

// BillingSpec holds a member's settings of a billing connector.
type BillingSpec struct {
	Provider    BillingProvider  `json:"provider"`
	Environment string           `json:"environment"`
	Enabled     bool             `json:"enabled"`
	Customers   BillingCustomers `json:"customers"`
}

// BillingConnector connects a billing system to one environment of an application. Its credential is sealed.
type BillingConnector struct {
	ID string `json:"id"`
	BillingSpec
	// Hook identifies the connector in the address of its webhook.
	Hook string `json:"hook"`
	// Number is the number of the environment.
	Number uint64 `json:"number"`
	// Live says whether the provider's real data is read, or the data of its test mode.
	Live bool `json:"live"`
	// Sealed is a BillingCredential, or empty.
	Sealed []byte `json:"sealed,omitempty"`
	// HasSigningSecret says whether the credential has a signing secret.
	HasSigningSecret bool      `json:"hasSigningSecret,omitempty"`
	CreatedAt        time.Time `json:"createdAt"`
	UpdatedAt        time.Time `json:"updatedAt"`
}

// Reads reports whether the connector has a provider to read from.
func (c *BillingConnector) Reads() bool {
	return c.Enabled && c.Provider == BillingStripe && len(c.Sealed) > 0
}

// BillingCredential holds the secrets that read a provider and verify its webhooks.
type BillingCredential struct {
	APIKey domain.Secret `json:"apiKey"`
	// Signing verifies webhooks; Before is the secret that it replaced, which verifies until BeforeUntil.
	Signing     domain.Secret `json:"signing,omitempty"`
	Before      domain.Secret `json:"before,omitempty"`
	BeforeUntil time.Time     `json:"beforeUntil,omitzero"`
}

// SigningSecrets returns the secrets that may sign a webhook at an instant.
func (c *BillingCredential) SigningSecrets(now time.Time) []domain.Secret {
	var secrets []domain.Secret
	if c.Signing != "" {
		secrets = append(secrets, c.Signing)
	}
	if c.Before != "" && now.Before(c.BeforeUntil) {
		secrets = append(secrets, c.Before)
	}
	return secrets
}

// With returns the credential with the secrets of a member; an empty secret leaves the stored one.
func (c BillingCredential) With(apiKey, signing domain.Secret, now time.Time) BillingCredential {
	if apiKey != "" {
		c.APIKey = apiKey
	}
	if signing != "" && signing != c.Signing {
		if c.Signing != "" {
			c.Before, c.BeforeUntil = c.Signing, now.Add(billingRotation)
		}
		c.Signing = signing
	}
	return c
}

// Validate returns every problem of a specification for the environments of an application.
func (s *BillingSpec) Validate(environments []domain.Environment) (problems []domain.FieldError) {
	if !slices.Contains(BillingProviders(), s.Provider) {
		problems = append(problems, domain.FieldError{Field: "provider", Code: "unknown_value", Message: fmt.Sprintf("Unknown provider %q.", s.Provider), Allowed: domain.Texts(BillingProviders())})
	}
	if !slices.Contains(s.Customers.Values(), s.Customers) {
		problems = append(problems, domain.FieldError{Field: "customers", Code: "unknown_value", Message: fmt.Sprintf("Unknown value %q.", s.Customers), Allowed: domain.Texts(s.Customers.Values())})
	}
	if slugs := domain.SlugsOf(environments); !slices.Contains(slugs, s.Environment) {
		problems = append(problems, domain.FieldError{Field: "environment", Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", s.Environment), Allowed: slugs})
	}
	return problems
}

// CheckBillingSecrets returns the reasons why texts cannot be the credential of a provider for an environment. It does
// not quote them.
func (s *BillingSpec) CheckBillingSecrets(apiKey, signing domain.Secret) (problems []domain.FieldError) {
	refuse := func(field, message string) {
		problems = append(problems, domain.FieldError{Field: field, Code: "invalid_value", Message: message})
	}
	key, secret := apiKey.Reveal(), signing.Reveal()
	if s.Provider != BillingStripe {
		if key != "" || secret != "" {
			refuse("apiKey", "This provider has no credential: its items are sent with a secret key.")
		}
		return problems
	}
	switch _, known := StripeKeyMode(apiKey); {
	case key == "":
	case len(key) > maxBillingSecret || !known:
		refuse("apiKey", "The key of Stripe begins with rk_live_, rk_test_, sk_live_ or sk_test_. A restricted key that only reads is best.")
	case s.Environment == domain.DefaultEnvironment && strings.Contains(key, "_test_"):
		refuse("apiKey", "A key of Stripe's test mode cannot fill the environment "+domain.DefaultEnvironment+"; choose another environment.")
	}
	if secret != "" && (len(secret) > maxBillingSecret || !strings.HasPrefix(secret, "whsec_")) {
		refuse("signingSecret", "The signing secret of a webhook of Stripe begins with whsec_.")
	}
	return problems
}

// StripeKeyMode reports whether a text has the form of a Stripe key, and whether it is for live data.
func StripeKeyMode(key domain.Secret) (live, known bool) {
	kind, rest, _ := strings.Cut(key.Reveal(), "_")
	mode, id, _ := strings.Cut(rest, "_")
	return mode == "live", (kind == "rk" || kind == "sk") && (mode == "live" || mode == "test") && id != "" && !strings.ContainsAny(id, " \t\r\n")
}

// BillingSync is the progress of reading a connector's provider.
type BillingSync struct {
	// Step counts the steps, so that a late repetition of a step changes nothing.
	Step uint64 `json:"step"`
	// Position is where the next step begins; only the provider's reader interprets it.
	Position json.RawMessage `json:"position,omitempty"`
	// Through is the instant up to which everything is known; it is zero before the first complete reading.
	Through time.Time `json:"through,omitzero"`
	// LastSyncAt is when a step last succeeded.
	LastSyncAt time.Time `json:"lastSyncAt,omitzero"`
	// Problem is why the last step failed, empty if it succeeded; Failures counts consecutive failures.
	Problem  BillingProblem `json:"problem,omitempty"`
	FailedAt time.Time      `json:"failedAt,omitzero"`
	Failures int            `json:"failures,omitempty"`
	// Items counts the items that were written to the log.
	Items uint64 `json:"items"`
	// Resting is set if the module revenue of the application was off when the last step was due. The data is then as
	// old as before.
	Resting bool `json:"resting,omitempty"`
	// NextAt is when the next step is due.
	NextAt time.Time `json:"nextAt"`
}

// BillingProblem names why a provider could not be read. It contains nothing from the provider's answer.
type BillingProblem string

// The problems.
const (
	BillingKeyRefused      BillingProblem = "key_refused"
	BillingForbidden       BillingProblem = "permission_missing"
	BillingLimited         BillingProblem = "rate_limited"
	BillingProviderAway    BillingProblem = "provider_unavailable"
	BillingRefused         BillingProblem = "request_refused"
	BillingWrongMode       BillingProblem = "wrong_mode"
	BillingLogAway         BillingProblem = "log_unavailable"
	BillingCredentialEmpty BillingProblem = "credential_missing"
)

// BillingProblemError is a failed step with its problem.
type BillingProblemError struct {
	Problem BillingProblem
	// RetryAfter is the wait that the provider asked for; 0 if it asked for none.
	RetryAfter time.Duration
}

// Error returns the problem.
func (e *BillingProblemError) Error() string { return "reading billing: " + string(e.Problem) }

// BillingStep is the result of one step of a reading.
type BillingStep struct {
	// Items must be in the log before the position is stored.
	Items    []BillingRow
	Position json.RawMessage
	// Through is the instant up to which everything is known after the step; zero leaves the previous one.
	Through time.Time
	// More says that the next step may begin at once.
	More bool
}

// Pauses of the reading of a provider.
const (
	// BillingPollEvery is how often a provider is polled for items that webhooks did not deliver.
	BillingPollEvery = time.Minute
	maxBillingPause  = 15 * time.Minute
)

// Advance returns the state after a step that succeeded.
func (s BillingSync) Advance(step *BillingStep, now time.Time) BillingSync {
	s.Step++
	s.Position, s.LastSyncAt, s.Items = step.Position, now, s.Items+uint64(len(step.Items))
	s.Problem, s.Failures, s.Resting = "", 0, false
	if !step.Through.IsZero() {
		s.Through = step.Through
	}
	s.NextAt = now
	if !step.More {
		s.NextAt = now.Add(BillingPollEvery)
	}
	return s
}

// Fail returns the state after a failed step. The pause doubles with every consecutive failure.
func (s BillingSync) Fail(problem *BillingProblemError, now time.Time) BillingSync {
	s.Step++
	s.Problem, s.FailedAt, s.Resting = problem.Problem, now, false
	s.Failures++
	pause := min(2*time.Second<<min(s.Failures-1, 20), maxBillingPause)
	s.NextAt = now.Add(max(pause, min(problem.RetryAfter, time.Hour)))
	return s
}

// Rest returns the state after a step that was skipped because the module revenue of the application is off.
func (s BillingSync) Rest(now time.Time) BillingSync {
	s.Step++
	s.Problem, s.Failures, s.Resting = "", 0, true
	s.NextAt = now.Add(BillingPollEvery)
	return s
}

// BillingState is the health of a connector.
type BillingState string

// The states.
const (
	// BillingOff is a connector that is switched off or has no credential.
	BillingOff BillingState = "off"
	// BillingWaiting is a generic connector that has received nothing yet.
	BillingWaiting BillingState = "waiting"
	// BillingSyncing is a connector during its first reading, or the first one since the module was switched on again.
	BillingSyncing BillingState = "syncing"
	BillingCurrent BillingState = "current"
	// BillingFailing is a connector with a failed last step: its data is older than it should be.
	BillingFailing BillingState = "failing"
)

// Values lists the states.
func (BillingState) Values() []BillingState {
	return []BillingState{BillingOff, BillingWaiting, BillingSyncing, BillingCurrent, BillingFailing}
}

// staleAfter is the time without a successful step after which a connector is failing.
const staleAfter = 15 * time.Minute

// ConnectedBilling is a connector with its progress.
type ConnectedBilling struct {
	BillingConnector
	Sync BillingSync
}

// State returns the health of a connector at an instant. A generic connector is current if anyItems is true, else
// waiting.
func (c *ConnectedBilling) State(anyItems bool, now time.Time) BillingState {
	switch {
	case !c.Enabled:
		return BillingOff
	case c.Provider != BillingStripe:
		if anyItems {
			return BillingCurrent
		}
		return BillingWaiting
	case len(c.Sealed) == 0:
		return BillingOff
	case c.Sync.Problem != "":
		return BillingFailing
	case c.Sync.Through.IsZero(), c.Sync.Resting:
		return BillingSyncing
	case now.Sub(c.Sync.Through) > staleAfter:
		return BillingFailing
	}
	return BillingCurrent
}

// Known reports whether a revenue of zero is certain as far as the connector goes: it was completely read at least
// once.
func (c *ConnectedBilling) Known() bool {
	return c.Provider == BillingStripe && !c.Sync.Through.IsZero()
}
