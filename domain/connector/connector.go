package connector

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/domain"
)

// Status is the verdict of a connector's last probes (contract 30).
type Status string

// The statuses.
const (
	Unconfigured Status = "unconfigured" // there is no connector
	Configured   Status = "configured"   // no verdict yet
	Healthy      Status = "healthy"
	Unhealthy    Status = "unhealthy"
	Disabled     Status = "disabled"
)

// Capabilities lists the capabilities that a tenant's handler may announce.
func Capabilities() []string {
	return []string{"overview", "users", "controls", "prompts", "agent-context", "communications"}
}

// Limits of connectors.
const (
	// Every is the time from the start of one probe to the start of the next.
	Every = time.Minute
	// Time bounds a probe.
	Time = 5 * time.Second
	// TokenLife is how long a signed token may be used.
	TokenLife = time.Minute
	// Failures is the number of consecutive failed probes that make a connector unhealthy.
	Failures = 2
	// MaxConnectorAnswer bounds the answer to a probe, in bytes.
	MaxConnectorAnswer = 16 << 10
	// MinConnectorSecret and MaxConnectorSecret bound the secret, in bytes.
	MinConnectorSecret = 32
	MaxConnectorSecret = 256

	maxConnectorVersion = 64
)

// Connector is an application's handler that the tenant runs. Its secret is sealed.
type Connector struct {
	// URL is the base of the handler's addresses, without a trailing slash.
	URL       string    `json:"url"`
	Enabled   bool      `json:"enabled"`
	Sealed    []byte    `json:"sealed"`
	Health    Health    `json:"health"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Health is the result of a connector's probes.
type Health struct {
	// Verdict is healthy or unhealthy, empty before there is one.
	Verdict  Status `json:"verdict,omitempty"`
	Failures int    `json:"failures,omitempty"` // consecutive
	// Capabilities and Version come from the last successful probe.
	Capabilities []string `json:"capabilities,omitempty"`
	Version      string   `json:"version,omitempty"`
	// LastHealthAt is when a probe was last answered, LastProbeAt when the last one began.
	LastHealthAt time.Time `json:"lastHealthAt,omitzero"`
	LastProbeAt  time.Time `json:"lastProbeAt,omitzero"`
	// Problem is why the last probe failed, empty if it succeeded.
	Problem string `json:"problem,omitempty"`
}

// Probe is the result of one probe.
type Probe struct {
	At      time.Time     `json:"at"`
	Latency time.Duration `json:"latency"`
	// Answered says that a complete answer arrived, with any content.
	Answered bool `json:"answered"`
	// Problem is why the probe failed, empty if it succeeded.
	Problem      string   `json:"problem,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
	Version      string   `json:"version,omitempty"`
}

// Status returns the verdict on a connector; a nil connector is unconfigured.
func (c *Connector) Status() Status {
	switch {
	case c == nil:
		return Unconfigured
	case !c.Enabled:
		return Disabled
	case c.Health.Verdict == "":
		return Configured
	}
	return c.Health.Verdict
}

// After returns the health after a probe. A single failure does not change the verdict.
func (h Health) After(p *Probe) Health {
	h.LastProbeAt, h.Problem = p.At, p.Problem
	if p.Answered {
		h.LastHealthAt = p.At.Add(p.Latency)
	}
	if p.Problem == "" {
		h.Verdict, h.Failures, h.Capabilities, h.Version = Healthy, 0, p.Capabilities, p.Version
		return h
	}
	if h.Failures = min(h.Failures+1, Failures); h.Failures == Failures {
		h.Verdict = Unhealthy
	}
	return h
}

// CheckConnectorURL returns the reason why a URL cannot be the base of a handler, or nil.
func CheckConnectorURL(targets domain.Targets, raw string) *domain.FieldError {
	if problem := targets.Check(raw); problem != nil {
		return problem
	}
	if strings.ContainsAny(raw, "?#") {
		return &domain.FieldError{Field: "url", Code: "invalid_value", Message: "The url is the base of addresses, so it has no query and no fragment."}
	}
	return nil
}

// CheckConnectorSecret returns the reason why a text cannot be the secret of a connector, or nil.
func CheckConnectorSecret(secret domain.Secret) *domain.FieldError {
	text := secret.Reveal()
	if len(text) < MinConnectorSecret || len(text) > MaxConnectorSecret || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &domain.FieldError{Field: "secret", Code: "invalid_value", Message: fmt.Sprintf("The secret has %d to %d printable ASCII characters and no space.", MinConnectorSecret, MaxConnectorSecret)}
	}
	return nil
}

// Claims are the claims of a token for a handler.
type Claims struct {
	Issuer    string `json:"iss"` // svc
	Audience  string `json:"aud"` // the base URL of the handler
	Subject   string `json:"sub"` // the application, as organization/application
	ID        string `json:"jti"` // id of the request
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
}

// Sign returns the claims as a JSON Web Token, signed with HMAC-SHA256 (HS256).
func (c *Claims) Sign(secret domain.Secret) (string, error) {
	claims, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encoding a token: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(connectorSum(secret, text)), nil
}

// Signature returns the value that the header X-SVC-Signature of a handler's answer must have. The answer
// belongs to the request with the token of an id.
func Signature(secret domain.Secret, id string, body []byte) string {
	return "v1=" + hex.EncodeToString(connectorSum(secret, id+"."+string(body)))
}

func connectorSum(secret domain.Secret, text string) []byte {
	sum := hmac.New(sha256.New, []byte(secret.Reveal()))
	sum.Write([]byte(text))
	return sum.Sum(nil)
}

// ReadConnectorHealth parses the body of a handler's answer into a probe. It returns the reason of a failure, "" on
// success. It leaves out capabilities that this service does not know.
func ReadConnectorHealth(body []byte, into *Probe) (problem string) {
	var answer struct {
		Capabilities *[]string `json:"capabilities"`
		Version      *string   `json:"version"`
	}
	switch err := domain.DecodeJSON(body, &answer); {
	case err != nil:
		return "the answer is not the JSON that was expected"
	case answer.Capabilities == nil:
		return "the answer has no capabilities"
	case answer.Version != nil && len(*answer.Version) > maxConnectorVersion:
		return fmt.Sprintf("the version is longer than %d bytes", maxConnectorVersion)
	}
	into.Capabilities = []string{}
	for _, known := range Capabilities() {
		if slices.Contains(*answer.Capabilities, known) {
			into.Capabilities = append(into.Capabilities, known)
		}
	}
	if answer.Version != nil {
		into.Version = *answer.Version
	}
	return ""
}
