package billing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/revenue"
)

// Provider reads a billing system.
type Provider interface {
	// Step reads the items after a position; an empty one is the beginning. A failure is a *revenue.BillingProblemError.
	Step(ctx context.Context, connector *revenue.BillingConnector, key domain.Secret, position json.RawMessage) (revenue.BillingStep, error)
}

// Log accepts billing items.
type Log interface {
	// AppendBilling returns once the log has acknowledged the items. Repeating it is harmless: ledgers count each id
	// once.
	AppendBilling(ctx context.Context, items []revenue.BillingRow) error
}

// Opener decrypts credentials.
type Opener interface {
	// Open fails if the text was not sealed under the name.
	Open(name string, sealed []byte) ([]byte, error)
}

// Ports holds the dependencies of a node's readers.
type Ports struct {
	Actors   grain.Caller
	Index    *Index
	Provider Provider
	Log      Log
	Opener   Opener
	// Allowed reports whether an application has the module revenue; without it no provider is called.
	Allowed func(ctx context.Context, ref domain.AppRef) (bool, error)
	// Slots bounds the concurrent steps of all readers of the node.
	Slots  chan struct{}
	Logger *slog.Logger
}

// Slots is the number of concurrent steps of a node.
const Slots = 16

// stepTime bounds one step.
const stepTime = 2 * time.Minute

// reader is the shell of a book: a grain that also reads, on goroutines outside its mailbox.
type reader struct {
	*grain.Grain
	core  *book
	node  *grain.Node
	ports *Ports
	// reading holds the connectors with a step under way.
	reading map[string]bool
	stopped bool
}

// stepEnded reports that a step of a connector has ended.
type stepEnded struct{ id string }

// Kinds returns the kinds of this package for the actors of a node.
func Kinds(node *grain.Node, ports *Ports) []cluster.Kind {
	return []cluster.Kind{{
		Name: kindBook, Rank: bookKind.Rank(), Idle: bookKind.Idle(),
		New: func(identity string) actor.Actor { return newReader(node, ports, identity) },
	}}
}

func newReader(node *grain.Node, ports *Ports, identity string) *reader {
	core := &book{identity: identity, publish: func(version domain.Version, all []revenue.ConnectedBilling) {
		ports.Index.Publish(version, identity, all)
	}}
	return &reader{Grain: grain.New(node, bookKind, identity, core), core: core, node: node, ports: ports, reading: map[string]bool{}}
}

// Receive handles one message of the mailbox.
func (r *reader) Receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *stepEnded:
		r.Touch()
		delete(r.reading, message.id)
	case *actor.Stopping:
		r.stopped = true
		r.Grain.Receive(c)
		return
	default:
		r.Grain.Receive(c)
	}
	r.pump(c)
}

// pump begins the steps that are due, one of each connector. Steps for which the node has no slot wait for the wake-up.
func (r *reader) pump(c actor.Context) {
	if r.stopped || !r.Loaded() {
		return
	}
	now := r.node.Now()
	for _, connected := range r.core.due() {
		if connected.Sync.NextAt.After(now) {
			return
		}
		if r.reading[connected.ID] {
			continue
		}
		select {
		case r.ports.Slots <- struct{}{}:
		default:
			return
		}
		r.reading[connected.ID] = true
		root, self := c.ActorSystem().Root, c.Self()
		r.node.Workers.Go(func(ctx context.Context) {
			defer func() {
				<-r.ports.Slots
				root.Send(self, &stepEnded{connected.ID})
			}()
			r.step(ctx, &connected)
		})
	}
}

// step makes one step and stores the result in the actor. A step with a result that does not reach the actor is
// repeated after the wake-up.
func (r *reader) step(ctx context.Context, connected *revenue.ConnectedBilling) {
	reading, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	next, err := r.readOrRest(reading, connected)
	if ctx.Err() != nil {
		return // the node stops
	}
	if err != nil {
		problem, known := errors.AsType[*revenue.BillingProblemError](err)
		if !known {
			problem = &revenue.BillingProblemError{Problem: revenue.BillingProviderAway}
		}
		r.ports.Logger.Warn("a step of a billing connector failed", "connector", connected.Hook, "problem", problem.Problem, "failures", connected.Sync.Failures+1)
		next = connected.Sync.Fail(problem, r.node.Now())
	}
	keeping, cancel := context.WithTimeout(ctx, grain.IOTime)
	defer cancel()
	if _, err := bookAdvance.Ask(keeping, r.ports.Actors, r.Identity(), advanceSync{ID: connected.ID, Step: connected.Sync.Step, Next: next}); err != nil {
		r.ports.Logger.Warn("the position of a billing connector was not kept", "connector", connected.Hook, "error", err)
	}
}

// readOrRest makes one step if the application has the module.
func (r *reader) readOrRest(ctx context.Context, connected *revenue.ConnectedBilling) (revenue.BillingSync, error) {
	allowed, err := r.ports.Allowed(ctx, refOf(r.Identity()))
	switch {
	case err != nil: // this service is away, as if the log were away
		return revenue.BillingSync{}, &revenue.BillingProblemError{Problem: revenue.BillingLogAway}
	case !allowed:
		return connected.Sync.Rest(r.node.Now()), nil
	}
	return r.read(ctx, connected)
}

// refOf returns the application of an actor.
func refOf(identity string) (ref domain.AppRef) {
	ref.Org, ref.App, _ = strings.Cut(identity, "/")
	return ref
}

// read makes one step and returns the state after it.
func (r *reader) read(ctx context.Context, connected *revenue.ConnectedBilling) (revenue.BillingSync, error) {
	credential, err := credentialOf(r.ports.Opener, &connected.BillingConnector)
	if err != nil || credential.APIKey == "" {
		return revenue.BillingSync{}, &revenue.BillingProblemError{Problem: revenue.BillingCredentialEmpty}
	}
	step, err := r.ports.Provider.Step(ctx, &connected.BillingConnector, credential.APIKey, connected.Sync.Position)
	if err != nil {
		return revenue.BillingSync{}, err
	}
	if len(step.Items) > 0 {
		if err := r.ports.Log.AppendBilling(ctx, step.Items); err != nil {
			return revenue.BillingSync{}, &revenue.BillingProblemError{Problem: revenue.BillingLogAway}
		}
	}
	return connected.Sync.Advance(&step, r.node.Now()), nil
}

// credentialOf opens the credential of a connector; it is empty if the connector has none.
func credentialOf(opener Opener, connector *revenue.BillingConnector) (credential revenue.BillingCredential, err error) {
	if len(connector.Sealed) == 0 {
		return credential, nil
	}
	clear, err := opener.Open(connector.Hook, connector.Sealed)
	if err != nil {
		return credential, fmt.Errorf("opening the credential of a billing connector: %w", err)
	}
	if err := json.Unmarshal(clear, &credential); err != nil {
		return credential, errors.New("the credential of a billing connector cannot be decoded")
	}
	return credential, nil
}
