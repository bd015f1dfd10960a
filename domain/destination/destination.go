package destination

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"svc/domain"
	"svc/domain/event"
)

// Kind is the adapter of a destination (contract 72).
type Kind string

// The kinds.
const (
	Meta     Kind = "meta_capi"
	Google   Kind = "google_ads"
	TikTok   Kind = "tiktok_events"
	LinkedIn Kind = "linkedin_capi"
	Webhook  Kind = "webhook"
	Slack    Kind = "slack"
)

// Values lists the kinds.
func (Kind) Values() []Kind { return Kinds() }

// Kinds lists the kinds.
func Kinds() []Kind {
	return []Kind{Meta, Google, TikTok, LinkedIn, Webhook, Slack}
}

// Label returns the display name of a kind.
func (k Kind) Label() string {
	switch k {
	case Meta:
		return "Meta Conversions API"
	case Google:
		return "Google Ads"
	case TikTok:
		return "TikTok Events API"
	case LinkedIn:
		return "LinkedIn Conversions API"
	case Slack:
		return "Slack-compatible chat"
	case Webhook:
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

// Rule maps an event to the conversion that a destination receives.
type Rule struct {
	Event            string `json:"event" required:"true" doc:"The name of the event that is forwarded."`
	DestinationEvent string `json:"destinationEvent" doc:"What the destination calls it; the event's own name where it is absent."`
	ValueProperty    string `json:"valueProperty" doc:"The property that holds the value; the event's value where it is empty."`
	Currency         string `json:"currency" doc:"The currency of the value, an ISO 4217 code; the event's own where it is empty."`
}

// Config holds the settings of a destination that are not secret. validateConfig defines the settings of
// each kind.
type Config struct {
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

// Spec describes a destination.
type Spec struct {
	Kind         Kind     `json:"kind"`
	Name         string   `json:"name"`
	Enabled      bool     `json:"enabled"`
	Environments []string `json:"environments"`
	Mapping      []Rule   `json:"mapping"`
	Config       Config   `json:"config"`
}

// Destination forwards the conversions of an application to one receiver. Its credential is sealed.
type Destination struct {
	ID    string `json:"id"`
	AppID string `json:"appId"`
	Spec
	// Numbers are the numbers of Environments, in the same order.
	Numbers []uint64 `json:"numbers"`
	// Sealed is a Credential, or empty.
	Sealed    []byte    `json:"sealed,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// HasCredential reports whether a credential is stored.
func (d *Destination) HasCredential() bool { return len(d.Sealed) > 0 }

// Credential is the secret of a destination: the signing secret of a webhook, the address of a chat, or the
// access token of a platform.
type Credential struct {
	Secret domain.Secret `json:"secret"`
	// Before is the signing secret that Secret replaced. It also signs until BeforeUntil.
	Before      domain.Secret `json:"before,omitempty"`
	BeforeUntil time.Time     `json:"beforeUntil,omitzero"`
}

// Secrets returns the secrets that sign at an instant, the newest first.
func (c *Credential) Secrets(now time.Time) []domain.Secret {
	if c.Before != "" && now.Before(c.BeforeUntil) {
		return []domain.Secret{c.Secret, c.Before}
	}
	return []domain.Secret{c.Secret}
}

// Replaced returns the credential after its secret was replaced.
func (c *Credential) Replaced(secret domain.Secret, now time.Time) Credential {
	next := Credential{Secret: secret}
	if c.Secret != "" && c.Secret != secret {
		next.Before, next.BeforeUntil = c.Secret, now.Add(SecretRotation)
	}
	return next
}

// Patch holds the fields of a destination to change; nil fields are unchanged.
type Patch struct {
	Name         *string
	Enabled      *bool
	Environments *[]string
	Mapping      *[]Rule
	Config       *Config
}

// With returns the specification with the fields of a patch.
func (s Spec) With(p Patch) Spec {
	domain.Assign(&s.Name, p.Name)
	domain.Assign(&s.Enabled, p.Enabled)
	domain.Assign(&s.Environments, p.Environments)
	domain.Assign(&s.Mapping, p.Mapping)
	domain.Assign(&s.Config, p.Config)
	return s
}

// Normalize fills in the defaults of a specification.
func (s *Spec) Normalize() {
	s.Name = strings.TrimSpace(s.Name)
	if len(s.Environments) == 0 {
		s.Environments = []string{domain.DefaultEnvironment}
	}
	s.Mapping = slices.Clone(s.Mapping)
	if s.Mapping == nil {
		s.Mapping = []Rule{}
	}
	for i := range s.Mapping {
		rule := &s.Mapping[i]
		rule.Currency = strings.ToUpper(rule.Currency)
		if rule.DestinationEvent == "" {
			rule.DestinationEvent = rule.Event
		}
	}
	if s.Config.PersonFields == "" && s.Kind != Slack {
		s.Config.PersonFields = PersonHashed
	}
	s.Config.CustomerID = strings.ReplaceAll(s.Config.CustomerID, "-", "")
	s.Config.LoginCustomerID = strings.ReplaceAll(s.Config.LoginCustomerID, "-", "")
}

// Validate returns every problem of a normalized specification, none if it is valid.
func (s *Spec) Validate(targets domain.Targets, environments []domain.Environment) []domain.FieldError {
	problems := domain.ValidateName(s.Name)
	if !slices.Contains(Kinds(), s.Kind) {
		return append(problems, domain.FieldError{Field: "kind", Code: "unknown_value", Message: fmt.Sprintf("Unknown kind %q.", s.Kind), Allowed: domain.Texts(Kinds())})
	}
	problems = append(problems, validateSlugs(s.Environments, environments)...)
	problems = append(problems, validateRules(s.Mapping)...)
	problems = append(problems, s.validateConfig()...)
	if s.Kind == Webhook {
		if problem := targets.Check(s.Config.URL); problem != nil {
			problem.Field = "config.url"
			problems = append(problems, *problem)
		}
	}
	return problems
}

// validateSlugs checks the environments of a destination.
func validateSlugs(slugs []string, environments []domain.Environment) (problems []domain.FieldError) {
	allowed := domain.SlugsOf(environments)
	for i, slug := range slugs {
		field := fmt.Sprintf("environments[%d]", i)
		switch {
		case !slices.Contains(allowed, slug):
			problems = append(problems, domain.FieldError{Field: field, Code: "unknown_value", Message: fmt.Sprintf("Unknown environment %q.", slug), Allowed: allowed})
		case slices.Contains(slugs[:i], slug):
			problems = append(problems, domain.FieldError{Field: field, Code: "duplicate", Message: fmt.Sprintf("The environment %q is named twice.", slug)})
		}
	}
	return problems
}

// currencyCode matches an ISO 4217 code.
var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// validateRules checks a mapping. An event may have only one rule, because the id of a conversion is the id of its
// event.
func validateRules(rules []Rule) (problems []domain.FieldError) {
	if len(rules) > MaxDestinationRules {
		return []domain.FieldError{{Field: "mapping", Code: "too_many", Message: fmt.Sprintf("A mapping has %d rules at most.", MaxDestinationRules)}}
	}
	seen := map[string]bool{}
	for i, rule := range rules {
		field := func(name string) string { return fmt.Sprintf("mapping[%d].%s", i, name) }
		switch {
		case rule.Event == "" || len(rule.Event) > event.MaxNameBytes:
			problems = append(problems, domain.FieldError{Field: field("event"), Code: "required", Message: fmt.Sprintf("The event must be a name of 1 to %d bytes.", event.MaxNameBytes)})
		case seen[rule.Event]:
			problems = append(problems, domain.FieldError{Field: field("event"), Code: "duplicate", Message: fmt.Sprintf("The event %q has a rule already.", rule.Event)})
		}
		seen[rule.Event] = true
		if len(rule.DestinationEvent) > event.MaxNameBytes || len(rule.ValueProperty) > event.MaxNameBytes {
			problems = append(problems, domain.FieldError{Field: field("destinationEvent"), Code: "too_long", Message: fmt.Sprintf("A name has %d bytes at most.", event.MaxNameBytes)})
		}
		if rule.Currency != "" && !currencyCode.MatchString(rule.Currency) {
			problems = append(problems, domain.FieldError{Field: field("currency"), Code: "invalid_value", Message: "The currency must be a code of three letters, such as EUR."})
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
func (c *Config) configKeys() []configKey {
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
func destinationKeys(kind Kind) (needed, optional []string) {
	switch kind {
	case Meta, TikTok:
		return []string{"pixelId"}, []string{"testEventCode"}
	case Google:
		return []string{"customerId", "conversionActionId"}, []string{"loginCustomerId"}
	case LinkedIn:
		return []string{"conversionActionId"}, nil
	case Webhook:
		return []string{"url"}, nil
	case Slack:
	}
	return nil, nil
}

// validateConfig checks that a configuration has all settings that its kind needs, and no others.
func (s *Spec) validateConfig() (problems []domain.FieldError) {
	needed, optional := destinationKeys(s.Kind)
	for _, key := range s.Config.configKeys() {
		field := "config." + key.name
		has := slices.Contains(needed, key.name)
		switch {
		case key.value == "" && has:
			problems = append(problems, domain.FieldError{Field: field, Code: "required", Message: fmt.Sprintf("A destination of kind %s needs %s.", s.Kind, key.name)})
		case key.value == "":
		case !has && !slices.Contains(optional, key.name):
			problems = append(problems, domain.FieldError{Field: field, Code: "unknown_value", Message: fmt.Sprintf("A destination of kind %s has no %s.", s.Kind, key.name)})
		case key.pattern != nil && !key.pattern.MatchString(key.value):
			problems = append(problems, domain.FieldError{Field: field, Code: "invalid_value", Message: fmt.Sprintf("%s has characters that such an id does not have.", key.name)})
		case len(key.value) > maxDestinationConfig && key.pattern != nil:
			problems = append(problems, domain.FieldError{Field: field, Code: "too_long", Message: key.name + " is too long."})
		}
	}
	allowed := []PersonFields{PersonHashed, PersonNone}
	switch s.Kind {
	case Webhook:
		allowed = PersonHashed.Values()
	case Slack:
		allowed = []PersonFields{""}
	case Meta, Google, TikTok, LinkedIn:
	}
	if !slices.Contains(allowed, s.Config.PersonFields) {
		problems = append(problems, domain.FieldError{Field: "config.personFields", Code: "unknown_value", Message: fmt.Sprintf("Unknown value %q for a destination of kind %s.", s.Config.PersonFields, s.Kind), Allowed: domain.Texts(allowed)})
	}
	return problems
}

// Rule returns the rule for an event, nil if the event is not forwarded.
func (d *Destination) Rule(event string) *Rule {
	for i := range d.Mapping {
		if d.Mapping[i].Event == event {
			return &d.Mapping[i]
		}
	}
	return nil
}

// CheckCredential returns the reason why a text cannot be the credential of a kind of destination, or nil. It does not
// quote the text.
func CheckCredential(kind Kind, secret domain.Secret) *domain.FieldError {
	refuse := func(code, message string) *domain.FieldError {
		return &domain.FieldError{Field: "credential", Code: code, Message: message}
	}
	text := secret.Reveal()
	switch {
	case strings.TrimSpace(text) == "":
		return refuse("required", "The credential must not be empty.")
	case len(text) > MaxCredentialBytes:
		return refuse("too_long", fmt.Sprintf("The credential is longer than %d bytes.", MaxCredentialBytes))
	case kind == Webhook && len(text) < MinSigningSecret:
		return refuse("too_short", fmt.Sprintf("A signing secret has %d bytes at least.", MinSigningSecret))
	case strings.ContainsAny(text, "\r\n") && kind != Google:
		return refuse("invalid_value", "The credential must be one line.")
	}
	if kind != Google {
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
