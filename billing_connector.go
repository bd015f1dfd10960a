package svc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// BillingProvider is where a billing connector has its items from.
type BillingProvider string

// The providers.
const (
	// BillingStripe is read by Stripe's API and by its webhooks.
	BillingStripe BillingProvider = "stripe"
	// BillingGeneric is any system that sends its items with a secret key, or whose items are imported.
	BillingGeneric BillingProvider = "generic"
)

// BillingProviders lists the providers.
func BillingProviders() []BillingProvider { return []BillingProvider{BillingStripe, BillingGeneric} }

// Values returns the providers, for descriptions.
func (BillingProvider) Values() []BillingProvider { return BillingProviders() }

// BillingCustomers says by what a provider's customer is known as a person.
type BillingCustomers string

// The choices: the metadata distinct_id of the customer or the subscription; where there is none, the customer's e-mail address
// too. A customer of whom neither is known has the provider's own id.
const (
	CustomersByMetadata BillingCustomers = "metadata"
	CustomersByEmail    BillingCustomers = "email"
)

// Values returns the choices, for descriptions.
func (BillingCustomers) Values() []BillingCustomers {
	return []BillingCustomers{CustomersByMetadata, CustomersByEmail}
}

// Bounds of billing connectors.
const (
	MaxBillingConnectors = 10 // of an application
	maxBillingSecret     = 500
	// billingRotation is how long a replaced signing secret verifies beside its successor.
	billingRotation = 24 * time.Hour
)

// BillingSpec is what a member chooses of a billing connector.
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
	// Hook names the connector in the address of its webhook.
	Hook string `json:"hook"`
	// Number is the number of the environment.
	Number uint64 `json:"number"`
	// Live says whether the provider's real data is read, or that of its test mode.
	Live bool `json:"live"`
	// Sealed is a BillingCredential; empty where there is none.
	Sealed []byte `json:"sealed,omitempty"`
	// HasSigningSecret says whether the credential has one.
	HasSigningSecret bool      `json:"hasSigningSecret,omitempty"`
	CreatedAt        time.Time `json:"createdAt"`
	UpdatedAt        time.Time `json:"updatedAt"`
}

// Reads reports whether the connector has a provider to read from.
func (c *BillingConnector) Reads() bool {
	return c.Enabled && c.Provider == BillingStripe && len(c.Sealed) > 0
}

// BillingCredential is what a provider is read with, and what its webhooks are signed with.
type BillingCredential struct {
	APIKey Secret `json:"apiKey"`
	// Signing verifies webhooks; Before is the secret that it replaced, which verifies until BeforeUntil.
	Signing     Secret    `json:"signing,omitempty"`
	Before      Secret    `json:"before,omitempty"`
	BeforeUntil time.Time `json:"beforeUntil,omitzero"`
}

// SigningSecrets returns the secrets by which a webhook may be signed at an instant.
func (c *BillingCredential) SigningSecrets(now time.Time) []Secret {
	var secrets []Secret
	if c.Signing != "" {
		secrets = append(secrets, c.Signing)
	}
	if c.Before != "" && now.Before(c.BeforeUntil) {
		secrets = append(secrets, c.Before)
	}
	return secrets
}

// With returns the credential with the secrets that a member gave; an empty one leaves the secret that is there.
func (c BillingCredential) With(apiKey, signing Secret, now time.Time) BillingCredential {
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
func (s *BillingSpec) Validate(environments []Environment) (problems []FieldError) {
	if !slices.Contains(BillingProviders(), s.Provider) {
		problems = append(problems, FieldError{Field: "provider", Code: "unknown_value", Message: fmt.Sprintf("Unknown provider %q.", s.Provider), Allowed: words(BillingProviders())})
	}
	if !slices.Contains(s.Customers.Values(), s.Customers) {
		problems = append(problems, FieldError{Field: "customers", Code: "unknown_value", Message: fmt.Sprintf("Unknown value %q.", s.Customers), Allowed: words(s.Customers.Values())})
	}
	if slugs := slugsOf(environments); !slices.Contains(slugs, s.Environment) {
		problems = append(problems, FieldError{Field: "environment", Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", s.Environment), Allowed: slugs})
	}
	return problems
}

// CheckBillingSecrets returns why texts cannot be the credential of a provider for an environment. It does not quote them.
func (s *BillingSpec) CheckBillingSecrets(apiKey, signing Secret) (problems []FieldError) {
	refuse := func(field, message string) {
		problems = append(problems, FieldError{Field: field, Code: "invalid_value", Message: message})
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
	case s.Environment == DefaultEnvironment && strings.Contains(key, "_test_"):
		refuse("apiKey", "A key of Stripe's test mode cannot fill the environment "+DefaultEnvironment+"; choose another environment.")
	}
	if secret != "" && (len(secret) > maxBillingSecret || !strings.HasPrefix(secret, "whsec_")) {
		refuse("signingSecret", "The signing secret of a webhook of Stripe begins with whsec_.")
	}
	return problems
}

// StripeKeyMode reports whether a text has the form of a key of Stripe, and whether it is for live data.
func StripeKeyMode(key Secret) (live, known bool) {
	kind, rest, _ := strings.Cut(key.Reveal(), "_")
	mode, id, _ := strings.Cut(rest, "_")
	return mode == "live", (kind == "rk" || kind == "sk") && (mode == "live" || mode == "test") && id != "" && !strings.ContainsAny(id, " \t\r\n")
}

// BillingSync is how far the reading of a connector's provider came.
type BillingSync struct {
	// Step counts the steps, so that one that is repeated late changes nothing.
	Step uint64 `json:"step"`
	// Position says where the next step begins; the provider's reader made it.
	Position json.RawMessage `json:"position,omitempty"`
	// Through is until when everything is known; it is zero before the first complete reading.
	Through time.Time `json:"through,omitzero"`
	// LastSyncAt is when a step last succeeded.
	LastSyncAt time.Time `json:"lastSyncAt,omitzero"`
	// Problem is why the last step failed, empty where it did not; Failures counts those in a row.
	Problem  BillingProblem `json:"problem,omitempty"`
	FailedAt time.Time      `json:"failedAt,omitzero"`
	Failures int            `json:"failures,omitempty"`
	// Items counts those that were handed to the log.
	Items uint64 `json:"items"`
	// Resting is set where the application had switched the module revenue off when the last step was due. What is known is as old as before.
	Resting bool `json:"resting,omitempty"`
	// NextAt is when the next step is due.
	NextAt time.Time `json:"nextAt"`
}

// BillingProblem names why a provider could not be read. It holds nothing of what the provider answered.
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
	// RetryAfter is how long the provider asked to wait; 0 where it did not.
	RetryAfter time.Duration
}

// Error returns the problem.
func (e *BillingProblemError) Error() string { return "reading billing: " + string(e.Problem) }

// BillingStep is what one step of a reading found.
type BillingStep struct {
	// Items are to be in the log before the position is kept.
	Items    []BillingRow
	Position json.RawMessage
	// Through is until when everything is known after the step; zero leaves what was known.
	Through time.Time
	// More says that the next step may begin at once.
	More bool
}

// Pauses of the reading of a provider.
const (
	// BillingPollEvery is how often a provider is asked for what webhooks did not bring.
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

// Fail returns the state after a step that failed. The pause doubles with every failure in a row.
func (s BillingSync) Fail(problem *BillingProblemError, now time.Time) BillingSync {
	s.Step++
	s.Problem, s.FailedAt, s.Resting = problem.Problem, now, false
	s.Failures++
	pause := min(2*time.Second<<min(s.Failures-1, 20), maxBillingPause)
	s.NextAt = now.Add(max(pause, min(problem.RetryAfter, time.Hour)))
	return s
}

// Rest returns the state after a step that was not made, because the application has switched the module revenue off.
func (s BillingSync) Rest(now time.Time) BillingSync {
	s.Step++
	s.Problem, s.Failures, s.Resting = "", 0, true
	s.NextAt = now.Add(BillingPollEvery)
	return s
}

// BillingState says how a connector fares.
type BillingState string

// The states.
const (
	// BillingOff is a connector that is switched off or has no credential.
	BillingOff BillingState = "off"
	// BillingWaiting is a generic connector that was sent nothing yet.
	BillingWaiting BillingState = "waiting"
	// BillingSyncing is a connector whose first reading is under way, or the first one since the module was switched on again.
	BillingSyncing BillingState = "syncing"
	BillingCurrent BillingState = "current"
	// BillingFailing is a connector whose last step failed: what it has is older than it should be.
	BillingFailing BillingState = "failing"
)

// Values returns the states, for descriptions.
func (BillingState) Values() []BillingState {
	return []BillingState{BillingOff, BillingWaiting, BillingSyncing, BillingCurrent, BillingFailing}
}

// staleAfter is how long without a successful step make a connector a failing one.
const staleAfter = 15 * time.Minute

// ConnectedBilling is a connector with how it fares.
type ConnectedBilling struct {
	BillingConnector
	Sync BillingSync
}

// State returns how a connector fares at an instant. A generic one has what any says.
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

// Known reports whether zeros of revenue may be taken for zeros as far as the connector goes: it was read completely at least once.
func (c *ConnectedBilling) Known() bool {
	return c.Provider == BillingStripe && !c.Sync.Through.IsZero()
}
