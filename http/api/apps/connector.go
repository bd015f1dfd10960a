package apps

import (
	"context"

	"svc/domain"
	"svc/domain/connector"
	"svc/http/api"
	"svc/http/route"
)

// Connectors stores the connectors of applications.
type Connectors interface {
	// Connector returns the connector of an application, nil if it has none.
	Connector(ref domain.AppRef) *connector.Connector
	// Put sets the connector; an empty secret leaves the present one unchanged. It fails with invalid_request if the
	// address may not be called, or if there is no secret.
	Put(ctx context.Context, ref domain.AppRef, url string, secret domain.Secret, enabled bool) (connector.Connector, error)
	// Delete and Probe fail with not_found if the application has no connector.
	Delete(ctx context.Context, ref domain.AppRef) error
	// Probe probes the connector now, also if it is switched off.
	Probe(ctx context.Context, ref domain.AppRef) (connector.Probe, connector.Connector, error)
}

// connectors serves the routes of connectors.
type connectors struct{ connectors Connectors }

func connectorRoutes(ports Ports) []route.Route {
	c := connectors{ports.Connectors}
	return []route.Route{
		{
			Surface: route.Console, Method: "PUT", Path: "/apps/{org}/{app}/connector", Operation: "console.connector.put", Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Destructive, Ledger: "connector.configured", Rate: domain.RateDefault,
			Summary: "Set where the connector is, its secret, and whether it is on", Handler: route.Typed(c.put),
		},
		{
			Surface: route.Console, Method: "DELETE", Path: "/apps/{org}/{app}/connector", Operation: "console.connector.delete", Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Destructive, Ledger: "connector.deleted", Rate: domain.RateDefault,
			Summary: "Delete the connector and its secret", Status: 204, Handler: route.Typed(c.delete),
		},
		{
			Surface: route.Console, Method: "POST", Path: "/apps/{org}/{app}/connector/probe", Operation: "console.connector.probe", Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.External, Ledger: "connector.probed", Rate: domain.RateDefault,
			Summary: "Probe the connector at once", Handler: route.Typed(c.probe),
		},
	}
}

// connectorJSON is the verdict of the last probe of a tenant's handler.
type connectorJSON struct {
	Status       connector.Status `json:"status" enum:"unconfigured,configured,healthy,unhealthy,disabled"`
	Capabilities []string         `json:"capabilities"`
	Version      *string          `json:"version"`
	LastHealthAt *route.Time      `json:"lastHealthAt" doc:"When a probe was last answered, whatever the answer."`
	URL          string           `json:"url,omitempty" doc:"Present only for a token holding apps.write."`
	LastError    string           `json:"lastError,omitempty" doc:"Why the last probe failed; present only where it did, for a token holding apps.write."`
}

// connectorOf returns a connector as a caller sees it, nil if there is no connector.
func connectorOf(call *route.Call, c *connector.Connector) *connectorJSON {
	if c == nil {
		return nil
	}
	shown := &connectorJSON{Status: c.Status(), Capabilities: append([]string{}, c.Health.Capabilities...), Version: api.OrNull(c.Health.Version)}
	if !c.Health.LastHealthAt.IsZero() {
		shown.LastHealthAt = route.TimeOf(&c.Health.LastHealthAt)
	}
	if call.Grant.May(domain.PermAppsWrite) {
		shown.URL, shown.LastError = c.URL, c.Health.Problem
	}
	return shown
}

type putConnector struct {
	api.AppPath
	Body newConnector `body:"json"`
}

// newConnector is the body of PUT …/connector.
type newConnector struct {
	URL     string  `json:"url" required:"true" doc:"The base URL of the handler: a public http or https address without query and fragment. Probes ask <url>/health."`
	Secret  *string `json:"secret" doc:"What both sides sign with: 32 to 256 printable ASCII characters. It is never shown; the present one stays where it is absent."`
	Enabled *bool   `json:"enabled" doc:"Whether the handler is probed; true where it is absent."`
}

// Check refuses a secret that is given and empty.
func (p *putConnector) Check(*route.Call) []domain.FieldError {
	if p.Body.Secret != nil && *p.Body.Secret == "" {
		return []domain.FieldError{{Field: "secret", Code: "invalid_value", Message: "The secret is empty; leave it out to keep the present one."}}
	}
	return nil
}

func (c connectors) put(ctx context.Context, call *route.Call, in putConnector) (*connectorJSON, error) {
	call.About(call.App.ID)
	secret := domain.Secret("")
	if in.Body.Secret != nil {
		secret = domain.Secret(*in.Body.Secret)
	}
	kept, err := c.connectors.Put(ctx, call.Ref(), in.Body.URL, secret, in.Body.Enabled == nil || *in.Body.Enabled)
	if err != nil {
		return nil, err
	}
	return connectorOf(call, &kept), nil
}

func (c connectors) delete(ctx context.Context, call *route.Call, _ api.AppPath) (route.Empty, error) {
	call.About(call.App.ID)
	return route.Empty{}, c.connectors.Delete(ctx, call.Ref())
}

// probedConnector is the result of a probe.
type probedConnector struct {
	OK        bool           `json:"ok"`
	Error     *string        `json:"error" doc:"Why the probe failed; null where it did not."`
	LatencyMs int64          `json:"latencyMs"`
	Connector *connectorJSON `json:"connector" doc:"The connector after the probe."`
}

func (c connectors) probe(ctx context.Context, call *route.Call, _ api.AppPath) (probedConnector, error) {
	call.About(call.App.ID)
	probe, after, err := c.connectors.Probe(ctx, call.Ref())
	if err != nil {
		return probedConnector{}, err
	}
	return probedConnector{OK: probe.Problem == "", Error: api.OrNull(probe.Problem), LatencyMs: probe.Latency.Milliseconds(), Connector: connectorOf(call, &after)}, nil
}
