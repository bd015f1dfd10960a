package outbound

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"svc/domain"
	"svc/domain/connector"
)

// ConnectorProber probes tenants' handlers. It may be used from any number of goroutines.
type ConnectorProber struct {
	client *http.Client
	now    func() time.Time
}

// NewConnectorProber returns a prober over a dialer. It follows no redirect.
func NewConnectorProber(dialer *Dialer, now func() time.Time) *ConnectorProber {
	return &ConnectorProber{client: dialer.Client(), now: now}
}

// Probe sends a request to the handler at a base URL, with a token of the given id that is valid for
// connector.TokenLife. It validates the answer: it must arrive with a status of 2xx within the context, be signed,
// and list the handler's capabilities.
func (p *ConnectorProber) Probe(ctx context.Context, app domain.AppRef, url string, secret domain.Secret, id string) connector.Probe {
	probe := connector.Probe{At: p.now()}
	if problem := p.ask(ctx, app, url, secret, id, &probe); problem != "" {
		probe.Problem, probe.Capabilities, probe.Version = problem, nil, ""
	}
	probe.Latency = p.now().Sub(probe.At)
	return probe
}

// ask makes the request and returns the reason why the probe failed, "" if it succeeded.
func (p *ConnectorProber) ask(ctx context.Context, app domain.AppRef, url string, secret domain.Secret, id string, probe *connector.Probe) (problem string) {
	claims := connector.Claims{
		Issuer: "svc", Audience: url, Subject: app.String(), ID: id, IssuedAt: probe.At.Unix(), ExpiresAt: probe.At.Add(connector.TokenLife).Unix(),
	}
	token, err := claims.Sign(secret)
	if err != nil {
		return err.Error()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", http.NoBody)
	if err != nil {
		return "the address is not valid"
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "svc-connector/1")
	response, err := p.client.Do(request)
	if err != nil {
		return connectorProblem(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, connector.MaxConnectorAnswer+1))
	switch {
	case err != nil:
		return connectorProblem(ctx, err)
	case len(body) > connector.MaxConnectorAnswer:
		return fmt.Sprintf("the answer is longer than %d bytes", connector.MaxConnectorAnswer)
	}
	probe.Answered = true
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Sprintf("the handler answered with status %d", response.StatusCode)
	}
	if !hmac.Equal([]byte(response.Header.Get("X-SVC-Signature")), []byte(connector.Signature(secret, id, body))) {
		return "the signature of the answer is not right"
	}
	return connector.ReadConnectorHealth(body, probe)
}

// connectorProblem describes the failure of a request.
func connectorProblem(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "the handler did not answer in time"
	case errors.Is(err, ErrNotPublic):
		return ErrNotPublic.Error()
	}
	text := Plain(err).Error()
	return text[:min(len(text), maxConnectorProblem)]
}

// maxConnectorProblem bounds the text of a failure, in bytes.
const maxConnectorProblem = 300
