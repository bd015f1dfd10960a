package svc

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
)

// ConnectorStatus is the verdict of a connector's last probes (contract 30).
type ConnectorStatus string

// The statuses.
const (
	ConnectorUnconfigured ConnectorStatus = "unconfigured" // there is no connector
	ConnectorConfigured   ConnectorStatus = "configured"   // no verdict yet
	ConnectorHealthy      ConnectorStatus = "healthy"
	ConnectorUnhealthy    ConnectorStatus = "unhealthy"
	ConnectorDisabled     ConnectorStatus = "disabled"
)

// ConnectorCapabilities lists the capabilities that a tenant's handler may announce.
func ConnectorCapabilities() []string {
	return []string{"overview", "users", "controls", "prompts", "agent-context", "communications"}
}

// Limits of connectors.
const (
	// ConnectorEvery is the time from the start of one probe to the start of the next.
	ConnectorEvery = time.Minute
	// ConnectorTime bounds a probe.
	ConnectorTime = 5 * time.Second
	// ConnectorTokenLife is how long a signed token may be used.
	ConnectorTokenLife = time.Minute
	// ConnectorFailures is the number of consecutive failed probes that make a connector unhealthy.
	ConnectorFailures = 2
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
	URL       string          `json:"url"`
	Enabled   bool            `json:"enabled"`
	Sealed    []byte          `json:"sealed"`
	Health    ConnectorHealth `json:"health"`
	CreatedAt time.Time       `json:"createdAt"`
	UpdatedAt time.Time       `json:"updatedAt"`
}

// ConnectorHealth is the result of a connector's probes.
type ConnectorHealth struct {
	// Verdict is healthy or unhealthy, empty before there is one.
	Verdict  ConnectorStatus `json:"verdict,omitempty"`
	Failures int             `json:"failures,omitempty"` // consecutive
	// Capabilities and Version come from the last successful probe.
	Capabilities []string `json:"capabilities,omitempty"`
	Version      string   `json:"version,omitempty"`
	// LastHealthAt is when a probe was last answered, LastProbeAt when the last one began.
	LastHealthAt time.Time `json:"lastHealthAt,omitzero"`
	LastProbeAt  time.Time `json:"lastProbeAt,omitzero"`
	// Problem is why the last probe failed, empty if it succeeded.
	Problem string `json:"problem,omitempty"`
}

// ConnectorProbe is the result of one probe.
type ConnectorProbe struct {
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
func (c *Connector) Status() ConnectorStatus {
	switch {
	case c == nil:
		return ConnectorUnconfigured
	case !c.Enabled:
		return ConnectorDisabled
	case c.Health.Verdict == "":
		return ConnectorConfigured
	}
	return c.Health.Verdict
}

// After returns the health after a probe. A single failure does not change the verdict.
func (h ConnectorHealth) After(p *ConnectorProbe) ConnectorHealth {
	h.LastProbeAt, h.Problem = p.At, p.Problem
	if p.Answered {
		h.LastHealthAt = p.At.Add(p.Latency)
	}
	if p.Problem == "" {
		h.Verdict, h.Failures, h.Capabilities, h.Version = ConnectorHealthy, 0, p.Capabilities, p.Version
		return h
	}
	if h.Failures = min(h.Failures+1, ConnectorFailures); h.Failures == ConnectorFailures {
		h.Verdict = ConnectorUnhealthy
	}
	return h
}

// CheckConnectorURL returns the reason why a URL cannot be the base of a handler, or nil.
func CheckConnectorURL(targets Targets, raw string) *FieldError {
	if problem := targets.Check(raw); problem != nil {
		return problem
	}
	if strings.ContainsAny(raw, "?#") {
		return &FieldError{Field: "url", Code: "invalid_value", Message: "The url is the base of addresses, so it has no query and no fragment."}
	}
	return nil
}

// CheckConnectorSecret returns the reason why a text cannot be the secret of a connector, or nil.
func CheckConnectorSecret(secret Secret) *FieldError {
	text := secret.Reveal()
	if len(text) < MinConnectorSecret || len(text) > MaxConnectorSecret || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &FieldError{Field: "secret", Code: "invalid_value", Message: fmt.Sprintf("The secret has %d to %d printable ASCII characters and no space.", MinConnectorSecret, MaxConnectorSecret)}
	}
	return nil
}

// ConnectorClaims are the claims of a token for a handler.
type ConnectorClaims struct {
	Issuer    string `json:"iss"` // svc
	Audience  string `json:"aud"` // the base URL of the handler
	Subject   string `json:"sub"` // the application, as organization/application
	ID        string `json:"jti"` // id of the request
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
}

// Sign returns the claims as a JSON Web Token, signed with HMAC-SHA256 (HS256).
func (c *ConnectorClaims) Sign(secret Secret) (string, error) {
	claims, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encoding a token: %w", err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(connectorSum(secret, text)), nil
}

// ConnectorSignature returns the value that the header X-SVC-Signature of a handler's answer must have. The answer
// belongs to the request with the token of an id.
func ConnectorSignature(secret Secret, id string, body []byte) string {
	return "v1=" + hex.EncodeToString(connectorSum(secret, id+"."+string(body)))
}

func connectorSum(secret Secret, text string) []byte {
	sum := hmac.New(sha256.New, []byte(secret.Reveal()))
	sum.Write([]byte(text))
	return sum.Sum(nil)
}

// ReadConnectorHealth parses the body of a handler's answer into a probe. It returns the reason of a failure, "" on
// success. It leaves out capabilities that this service does not know.
func ReadConnectorHealth(body []byte, into *ConnectorProbe) (problem string) {
	var answer struct {
		Capabilities *[]string `json:"capabilities"`
		Version      *string   `json:"version"`
	}
	switch err := DecodeJSON(body, &answer); {
	case err != nil:
		return "the answer is not the JSON that was expected"
	case answer.Capabilities == nil:
		return "the answer has no capabilities"
	case answer.Version != nil && len(*answer.Version) > maxConnectorVersion:
		return fmt.Sprintf("the version is longer than %d bytes", maxConnectorVersion)
	}
	into.Capabilities = []string{}
	for _, known := range ConnectorCapabilities() {
		if slices.Contains(*answer.Capabilities, known) {
			into.Capabilities = append(into.Capabilities, known)
		}
	}
	if answer.Version != nil {
		into.Version = *answer.Version
	}
	return ""
}
