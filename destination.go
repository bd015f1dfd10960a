package svc

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// DestinationKind is the adapter of a destination (contract 72).
type DestinationKind string

// The kinds.
const (
	DestinationMeta     DestinationKind = "meta_capi"
	DestinationGoogle   DestinationKind = "google_ads"
	DestinationTikTok   DestinationKind = "tiktok_events"
	DestinationLinkedIn DestinationKind = "linkedin_capi"
	DestinationWebhook  DestinationKind = "webhook"
	DestinationSlack    DestinationKind = "slack"
)

// Values lists the kinds.
func (DestinationKind) Values() []DestinationKind { return DestinationKinds() }

// DestinationKinds lists the kinds.
func DestinationKinds() []DestinationKind {
	return []DestinationKind{DestinationMeta, DestinationGoogle, DestinationTikTok, DestinationLinkedIn, DestinationWebhook, DestinationSlack}
}

// Label returns the display name of a kind.
func (k DestinationKind) Label() string {
	switch k {
	case DestinationMeta:
		return "Meta Conversions API"
	case DestinationGoogle:
		return "Google Ads"
	case DestinationTikTok:
		return "TikTok Events API"
	case DestinationLinkedIn:
		return "LinkedIn Conversions API"
	case DestinationSlack:
		return "Slack-compatible chat"
	case DestinationWebhook:
		return "Signed webhook"
	}
	return string(k)
}

// PersonFields is the data of a person that a destination receives.
type PersonFields string

// The choices: hashes of the e-mail address and phone number, both in plain text, or no data of the person.
const (
	PersonHashed PersonFields = "hashed"
	PersonPlain  PersonFields = "plain"
	PersonNone   PersonFields = "none"
)

// Values lists the choices.
func (PersonFields) Values() []PersonFields {
	return []PersonFields{PersonHashed, PersonPlain, PersonNone}
}

// DestinationRule maps an event to the conversion that a destination receives.
type DestinationRule struct {
	Event            string `json:"event" required:"true" doc:"The name of the event that is forwarded."`
	DestinationEvent string `json:"destinationEvent" doc:"What the destination calls it; the event's own name where it is absent."`
	ValueProperty    string `json:"valueProperty" doc:"The property that holds the value; the event's value where it is empty."`
	Currency         string `json:"currency" doc:"The currency of the value, an ISO 4217 code; the event's own where it is empty."`
}

// DestinationConfig holds the settings of a destination that are not secret. validateConfig defines the settings of
// each kind.
type DestinationConfig struct {
	URL                string       `json:"url,omitempty" doc:"Where a webhook is sent: a public http or https address."`
	PersonFields       PersonFields `json:"personFields,omitempty" doc:"What of a person is sent: hashed (default), plain or none; plain is for webhooks only."`
	PixelID            string       `json:"pixelId,omitempty" doc:"The pixel or dataset of Meta, or the pixel code of TikTok."`
	TestEventCode      string       `json:"testEventCode,omitempty" doc:"Marks events as tests at Meta and TikTok while it is set."`
	CustomerID         string       `json:"customerId,omitempty" doc:"The account of Google Ads, digits only."`
	LoginCustomerID    string       `json:"loginCustomerId,omitempty" doc:"The manager account by which Google Ads is called, where there is one."`
	ConversionActionID string       `json:"conversionActionId,omitempty" doc:"The conversion action of Google Ads, or the conversion rule of LinkedIn."`
}

// Limits of destinations.
const (
	MaxDestinations      = 50 // per application
	MaxDestinationRules  = 200
	MaxCredentialBytes   = 8 << 10
	MinSigningSecret     = 16
	SecretRotation       = 24 * time.Hour // how long a replaced signing secret still signs along with its successor
	maxDestinationConfig = 200
)

// DestinationSpec describes a destination.
type DestinationSpec struct {
	Kind         DestinationKind   `json:"kind"`
	Name         string            `json:"name"`
	Enabled      bool              `json:"enabled"`
	Environments []string          `json:"environments"`
	Mapping      []DestinationRule `json:"mapping"`
	Config       DestinationConfig `json:"config"`
}

// Destination forwards the conversions of an application to one receiver. Its credential is sealed.
type Destination struct {
	ID    string `json:"id"`
	AppID string `json:"appId"`
	DestinationSpec
	// Numbers are the numbers of Environments, in the same order.
	Numbers []uint64 `json:"numbers"`
	// Sealed is a DestinationCredential, or empty.
	Sealed    []byte    `json:"sealed,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// HasCredential reports whether a credential is stored.
func (d *Destination) HasCredential() bool { return len(d.Sealed) > 0 }

// DestinationCredential is the secret of a destination: the signing secret of a webhook, the address of a chat, or the
// access token of a platform.
type DestinationCredential struct {
	Secret Secret `json:"secret"`
	// Before is the signing secret that Secret replaced. It also signs until BeforeUntil.
	Before      Secret    `json:"before,omitempty"`
	BeforeUntil time.Time `json:"beforeUntil,omitzero"`
}

// Secrets returns the secrets that sign at an instant, the newest first.
func (c *DestinationCredential) Secrets(now time.Time) []Secret {
	if c.Before != "" && now.Before(c.BeforeUntil) {
		return []Secret{c.Secret, c.Before}
	}
	return []Secret{c.Secret}
}

// Replaced returns the credential after its secret was replaced.
func (c *DestinationCredential) Replaced(secret Secret, now time.Time) DestinationCredential {
	next := DestinationCredential{Secret: secret}
	if c.Secret != "" && c.Secret != secret {
		next.Before, next.BeforeUntil = c.Secret, now.Add(SecretRotation)
	}
	return next
}

// DestinationPatch holds the fields of a destination to change; nil fields are unchanged.
type DestinationPatch struct {
	Name         *string
	Enabled      *bool
	Environments *[]string
	Mapping      *[]DestinationRule
	Config       *DestinationConfig
}

// With returns the specification with the fields of a patch.
func (s DestinationSpec) With(p DestinationPatch) DestinationSpec {
	assign(&s.Name, p.Name)
	assign(&s.Enabled, p.Enabled)
	assign(&s.Environments, p.Environments)
	assign(&s.Mapping, p.Mapping)
	assign(&s.Config, p.Config)
	return s
}

// Normalize fills in the defaults of a specification.
func (s *DestinationSpec) Normalize() {
	s.Name = strings.TrimSpace(s.Name)
	if len(s.Environments) == 0 {
		s.Environments = []string{DefaultEnvironment}
	}
	s.Mapping = slices.Clone(s.Mapping)
	if s.Mapping == nil {
		s.Mapping = []DestinationRule{}
	}
	for i := range s.Mapping {
		rule := &s.Mapping[i]
		rule.Currency = strings.ToUpper(rule.Currency)
		if rule.DestinationEvent == "" {
			rule.DestinationEvent = rule.Event
		}
	}
	if s.Config.PersonFields == "" && s.Kind != DestinationSlack {
		s.Config.PersonFields = PersonHashed
	}
	s.Config.CustomerID = strings.ReplaceAll(s.Config.CustomerID, "-", "")
	s.Config.LoginCustomerID = strings.ReplaceAll(s.Config.LoginCustomerID, "-", "")
}

// Validate returns every problem of a normalized specification, none if it is valid.
func (s *DestinationSpec) Validate(targets Targets, environments []Environment) []FieldError {
	problems := validateName(s.Name)
	if !slices.Contains(DestinationKinds(), s.Kind) {
		return append(problems, FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: words(DestinationKinds())})
	}
	problems = append(problems, validateSlugs(s.Environments, environments)...)
	problems = append(problems, validateRules(s.Mapping)...)
	problems = append(problems, s.validateConfig()...)
	if s.Kind == DestinationWebhook {
		if problem := targets.Check(s.Config.URL); problem != nil {
			problem.Field = "config.url"
			problems = append(problems, *problem)
		}
	}
	return problems
}

// validateSlugs checks the environments of a destination.
func validateSlugs(slugs []string, environments []Environment) (problems []FieldError) {
	allowed := slugsOf(environments)
	for i, slug := range slugs {
		field := fmt.Sprintf("environments[%d]", i)
		switch {
		case !slices.Contains(allowed, slug):
			problems = append(problems, FieldError{Field: field, Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", slug), Allowed: allowed})
		case slices.Contains(slugs[:i], slug):
			problems = append(problems, FieldError{Field: field, Code: "duplicate", Message: fmt.Sprintf("The environment %q is named twice.", slug)})
		}
	}
	return problems
}

// currencyCode matches an ISO 4217 code.
var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// validateRules checks a mapping. An event may have only one rule, because the id of a conversion is the id of its
// event.
func validateRules(rules []DestinationRule) (problems []FieldError) {
	if len(rules) > MaxDestinationRules {
		return []FieldError{{Field: "mapping", Code: "too_many", Message: fmt.Sprintf("A mapping has %d rules at most.", MaxDestinationRules)}}
	}
	seen := map[string]bool{}
	for i, rule := range rules {
		field := func(name string) string { return fmt.Sprintf("mapping[%d].%s", i, name) }
		switch {
		case rule.Event == "" || len(rule.Event) > MaxNameBytes:
			problems = append(problems, FieldError{Field: field("event"), Code: "required", Message: fmt.Sprintf("The event must be a name of 1 to %d bytes.", MaxNameBytes)})
		case seen[rule.Event]:
			problems = append(problems, FieldError{Field: field("event"), Code: "duplicate", Message: fmt.Sprintf("The event %q has a rule already.", rule.Event)})
		}
		seen[rule.Event] = true
		if len(rule.DestinationEvent) > MaxNameBytes || len(rule.ValueProperty) > MaxNameBytes {
			problems = append(problems, FieldError{Field: field("destinationEvent"), Code: "too_long", Message: fmt.Sprintf("A name has %d bytes at most.", MaxNameBytes)})
		}
		if rule.Currency != "" && !currencyCode.MatchString(rule.Currency) {
			problems = append(problems, FieldError{Field: field("currency"), Code: "invalid_value", Message: "The currency must be a code of three letters, such as EUR."})
		}
	}
	return problems
}

// configKey is one setting of a configuration by its name.
type configKey struct {
	name, value string
	pattern     *regexp.Regexp
}

var (
	accountNumber = regexp.MustCompile(`^[0-9]{1,20}$`)
	accountWord   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)
)

// configKeys returns the text settings of a configuration.
func (c *DestinationConfig) configKeys() []configKey {
	return []configKey{
		{"url", c.URL, nil},
		{"pixelId", c.PixelID, accountWord},
		{"testEventCode", c.TestEventCode, accountWord},
		{"customerId", c.CustomerID, accountNumber},
		{"loginCustomerId", c.LoginCustomerID, accountNumber},
		{"conversionActionId", c.ConversionActionID, accountNumber},
	}
}

// destinationKeys returns the required and the optional settings of a kind.
func destinationKeys(kind DestinationKind) (needed, optional []string) {
	switch kind {
	case DestinationMeta, DestinationTikTok:
		return []string{"pixelId"}, []string{"testEventCode"}
	case DestinationGoogle:
		return []string{"customerId", "conversionActionId"}, []string{"loginCustomerId"}
	case DestinationLinkedIn:
		return []string{"conversionActionId"}, nil
	case DestinationWebhook:
		return []string{"url"}, nil
	case DestinationSlack:
	}
	return nil, nil
}

// validateConfig checks that a configuration has all settings that its kind needs, and no others.
func (s *DestinationSpec) validateConfig() (problems []FieldError) {
	needed, optional := destinationKeys(s.Kind)
	for _, key := range s.Config.configKeys() {
		field := "config." + key.name
		has := slices.Contains(needed, key.name)
		switch {
		case key.value == "" && has:
			problems = append(problems, FieldError{Field: field, Code: "required", Message: fmt.Sprintf("A destination of kind %s needs %s.", s.Kind, key.name)})
		case key.value == "":
		case !has && !slices.Contains(optional, key.name):
			problems = append(problems, FieldError{Field: field, Code: "unknown_value", Message: fmt.Sprintf("A destination of kind %s has no %s.", s.Kind, key.name)})
		case key.pattern != nil && !key.pattern.MatchString(key.value):
			problems = append(problems, FieldError{Field: field, Code: "invalid_value", Message: fmt.Sprintf("%s has characters that such an id does not have.", key.name)})
		case len(key.value) > maxDestinationConfig && key.pattern != nil:
			problems = append(problems, FieldError{Field: field, Code: "too_long", Message: key.name + " is too long."})
		}
	}
	allowed := []PersonFields{PersonHashed, PersonNone}
	switch s.Kind {
	case DestinationWebhook:
		allowed = PersonHashed.Values()
	case DestinationSlack:
		allowed = []PersonFields{""}
	case DestinationMeta, DestinationGoogle, DestinationTikTok, DestinationLinkedIn:
	}
	if !slices.Contains(allowed, s.Config.PersonFields) {
		problems = append(problems, FieldError{Field: "config.personFields", Code: "unknown_value", Message: fmt.Sprintf("Unknown value %q for a destination of kind %s.", s.Config.PersonFields, s.Kind), Allowed: words(allowed)})
	}
	return problems
}

// Rule returns the rule for an event, nil if the event is not forwarded.
func (d *Destination) Rule(event string) *DestinationRule {
	for i := range d.Mapping {
		if d.Mapping[i].Event == event {
			return &d.Mapping[i]
		}
	}
	return nil
}

// CheckCredential returns the reason why a text cannot be the credential of a kind of destination, or nil. It does not
// quote the text.
func CheckCredential(kind DestinationKind, secret Secret) *FieldError {
	refuse := func(code, message string) *FieldError {
		return &FieldError{Field: "credential", Code: code, Message: message}
	}
	text := secret.Reveal()
	switch {
	case strings.TrimSpace(text) == "":
		return refuse("required", "The credential must not be empty.")
	case len(text) > MaxCredentialBytes:
		return refuse("too_long", fmt.Sprintf("The credential is longer than %d bytes.", MaxCredentialBytes))
	case kind == DestinationWebhook && len(text) < MinSigningSecret:
		return refuse("too_short", fmt.Sprintf("A signing secret has %d bytes at least.", MinSigningSecret))
	case strings.ContainsAny(text, "\r\n") && kind != DestinationGoogle:
		return refuse("invalid_value", "The credential must be one line.")
	}
	if kind != DestinationGoogle {
		return nil
	}
	var access GoogleAccess
	if json.Unmarshal([]byte(text), &access) != nil || access.DeveloperToken == "" || access.ClientID == "" || access.ClientSecret == "" || access.RefreshToken == "" {
		return refuse("invalid_value", "The credential of Google Ads is a JSON object with developerToken, clientId, clientSecret and refreshToken.")
	}
	return nil
}

// GoogleAccess is the credential of Google Ads.
type GoogleAccess struct {
	DeveloperToken string `json:"developerToken"`
	ClientID       string `json:"clientId"`
	ClientSecret   string `json:"clientSecret"`
	RefreshToken   string `json:"refreshToken"`
}
