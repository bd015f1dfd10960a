package connector

import (
	"context"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/connector"
)

// Sealer encrypts secrets.
type Sealer interface {
	Opener
	// Seal encrypts a text under a name.
	Seal(name string, clear []byte) []byte
}

// TargetChecker checks addresses that this service is asked to call.
type TargetChecker interface {
	// CheckTarget returns the reason for not calling a URL, or nil. It also refuses a name that resolves to an address
	// that is not public.
	CheckTarget(ctx context.Context, url string) *domain.FieldError
}

// Connectors sets, deletes and probes connectors.
type Connectors struct {
	Ports *Ports
	// Allowed holds the addresses to which a URL may lead. Targets checks the addresses that its name resolves to.
	Allowed domain.Targets
	Targets TargetChecker
	Sealer  Sealer
	Now     func() time.Time
	// Sync publishes a change on this node before it is answered; nil if there are no other nodes.
	Sync func(ctx context.Context, kind, identity string) error
}

// Connector returns the connector of an application, or nil. It must not be changed.
func (c *Connectors) Connector(ref domain.AppRef) *connector.Connector {
	return c.Ports.Index.Connector(ref)
}

// Put sets the connector of an application; an empty secret retains the current one. It fails with invalid_request if
// the address may not be called, or if there is no secret.
func (c *Connectors) Put(ctx context.Context, ref domain.AppRef, url string, secret domain.Secret, enabled bool) (connector.Connector, error) {
	var problems []domain.FieldError
	if problem := connector.CheckConnectorURL(c.Allowed, url); problem != nil {
		problems = append(problems, *problem)
	} else if problem := c.Targets.CheckTarget(ctx, url); problem != nil {
		problems = append(problems, *problem)
	}
	message := put{URL: trimmed(url), Enabled: enabled}
	if secret != "" {
		if problem := connector.CheckConnectorSecret(secret); problem != nil {
			problems = append(problems, *problem)
		}
		message.Sealed = c.Sealer.Seal(sealName(ref), []byte(secret.Reveal()))
	}
	if len(problems) > 0 {
		return connector.Connector{}, domain.Invalid(problems...)
	}
	changed, err := connectorPut.Ask(ctx, c.Ports.Actors, ref.String(), message)
	return changed, c.synced(ctx, ref, err)
}

// trimmed returns a base URL without slashes at its end.
func trimmed(url string) string {
	for len(url) > 0 && url[len(url)-1] == '/' {
		url = url[:len(url)-1]
	}
	return url
}

// Delete removes the connector of an application. It fails with not_found if there is no connector.
func (c *Connectors) Delete(ctx context.Context, ref domain.AppRef) error {
	_, err := connectorDelete.Ask(ctx, c.Ports.Actors, ref.String(), grain.None{})
	return c.synced(ctx, ref, err)
}

// busyPause is the pause between two checks of a caller whether the probe under way is over.
const busyPause = 100 * time.Millisecond

// Probe probes the connector of an application now, after the probe under way, even if it is disabled. It fails with
// not_found if there is no connector.
func (c *Connectors) Probe(ctx context.Context, ref domain.AppRef) (connector.Probe, connector.Connector, error) {
	for {
		begun, err := connectorBegin.Ask(ctx, c.Ports.Actors, ref.String(), grain.None{})
		if err != nil {
			return connector.Probe{}, connector.Connector{}, err
		}
		if begun.Task != nil {
			return c.finish(ctx, ref, begun.Task)
		}
		select {
		case <-ctx.Done():
			return connector.Probe{}, connector.Connector{}, ctx.Err()
		case <-time.After(busyPause):
		}
	}
}

// finish makes a probe that began.
func (c *Connectors) finish(ctx context.Context, ref domain.AppRef, begun *task) (connector.Probe, connector.Connector, error) {
	made, err := c.Ports.run(ctx, ref.String(), begun, c.Now)
	if err == nil && made.connector == nil {
		err = domain.NotFound("connector")
	}
	if err = c.synced(ctx, ref, err); err != nil {
		return connector.Probe{}, connector.Connector{}, err
	}
	return made.probe, *made.connector, nil
}

// synced returns the error of a change once this node's index has the change. A change that does not arrive in time is
// on its way.
func (c *Connectors) synced(ctx context.Context, ref domain.AppRef, err error) error {
	if err != nil || c.Sync == nil {
		return err
	}
	_ = c.Sync(ctx, kindConnector, ref.String()) // see above
	return nil
}
