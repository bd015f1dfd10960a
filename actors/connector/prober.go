package connector

import (
	"context"
	"log/slog"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/connector"
)

// Ports holds the dependencies of a node's connectors.
type Ports struct {
	Actors grain.Caller
	Index  *Index
	Prober Prober
	Opener Opener
	Random grain.Random
	Logger *slog.Logger
}

// Prober probes handlers.
type Prober interface {
	// Probe makes one request, within connector.Time, with a token of the given id.
	Probe(ctx context.Context, app domain.AppRef, url string, secret domain.Secret, id string) connector.Probe
}

// Opener decrypts secrets.
type Opener interface {
	// Open fails if the text was not sealed under the name.
	Open(name string, sealed []byte) ([]byte, error)
}

// Kind returns the kind of connectors for the actors of a node. Probes are made on goroutines outside the mailbox.
func Kind(node *grain.Node, ports *Ports) cluster.Kind {
	return connectorKind.Row(node, func(identity string) *core {
		return &core{
			identity: identity,
			publish: func(version domain.Version, connector *connector.Connector) {
				ports.Index.Publish(version, refOf(identity), connector)
			},
			begin: func(begun task) {
				node.Workers.Go(func(ctx context.Context) {
					if _, err := ports.run(ctx, identity, &begun, node.Now); err != nil {
						ports.Logger.Warn("probing a connector failed", "connector", identity, "error", err)
					}
				})
			},
		}
	})
}

// result is a probe that was made, and the connector after it.
type result struct {
	probe     connector.Probe
	connector *connector.Connector
}

// run makes a probe that began, and reports its end. If the node stops meanwhile, the result says nothing about the
// handler and is not reported.
func (p *Ports) run(ctx context.Context, identity string, begun *task, now func() time.Time) (result, error) {
	probing, cancel := context.WithTimeout(ctx, min(connector.Time, begun.Until.Sub(now())))
	defer cancel()
	ref := refOf(identity)
	var made connector.Probe
	secret, err := p.Opener.Open(sealName(ref), begun.Connector.Sealed)
	if err != nil {
		made = connector.Probe{At: now(), Problem: "the secret cannot be read; set it again"}
	} else {
		made = p.Prober.Probe(probing, ref, begun.Connector.URL, domain.Secret(secret), p.Random.NewID(ctx, "prb_"))
	}
	if ctx.Err() != nil {
		return result{}, ctx.Err()
	}
	reporting, stop := context.WithTimeout(ctx, grain.IOTime)
	defer stop()
	connector, err := connectorEnded.Ask(reporting, p.Actors, identity, ended{ID: begun.ID, Probe: made})
	return result{made, connector}, err
}

// sealName is the name under which the secret of an application's connector is sealed.
func sealName(ref domain.AppRef) string { return ref.String() }
