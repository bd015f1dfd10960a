package grain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/cluster"
	"svc/domain"
	"svc/protos"
)

// Core is the pure part of a kind: the state of one actor and its rules, without clock, I/O or the actor library.
type Core interface {
	// Restore rebuilds the state from the stored entities; none means a new actor.
	Restore(entities []domain.Entity) error
}

// Guard is a Core that refuses some messages before they are handled.
type Guard interface {
	// Admit returns the reason for refusing a method now, or nil.
	Admit(now time.Time, method string) error
}

// Creator is a Core that some messages create under an identity that was just drawn at random. Nothing can be stored
// under such an identity.
type Creator interface {
	// Creates reports whether a message creates the actor.
	Creates(method string, payload []byte) bool
}

// SaveObserver is a Core that is notified when its writes are durable.
type SaveObserver interface{ Saved(now time.Time) }

// None is the request or the answer of a method without content.
type None struct{}

// Handler handles one method. It may change the state only together with the writes of its outcome: if the save fails,
// the state is dropped and loaded again.
type Handler[S, M, R any] func(core S, now time.Time, message M) (Outcome[R], error)

// Option is a property of a method.
type Option int

const (
	// Repeatable methods may be executed twice without harm. If the answer of another node is lost, their calls are
	// repeated. Other calls then fail as unavailable, since they may have been executed.
	Repeatable Option = iota + 1
	// NeedsStore methods write nothing themselves, but their answer is useful only if a save succeeds soon. They are
	// refused while the store does not answer.
	NeedsStore
)

// Kind is one kind of persistent actor: its name, its rank, and the table of its methods. The table is complete once
// the package that declares it is initialised.
type Kind[S Core] struct {
	name    string
	rank    int
	idle    time.Duration
	methods map[string]method[S]
}

// method is an entry of a kind's table.
type method[S Core] struct {
	handle     func(core S, now time.Time, payload []byte) (Outcome[any], error)
	needsStore bool
}

// NewKind declares a kind. The rank orders the kinds (see cluster.Kind); an activation stops
// after the idle time without a message.
func NewKind[S Core](name string, rank int, idle time.Duration) *Kind[S] {
	return &Kind[S]{name: name, rank: rank, idle: idle, methods: map[string]method[S]{}}
}

// Name returns the kind's name on the wire.
func (k *Kind[S]) Name() string { return k.name }

// Rank returns the kind's rank.
func (k *Kind[S]) Rank() int { return k.rank }

// Idle returns the time without a message after which an activation stops.
func (k *Kind[S]) Idle() time.Duration { return k.idle }

// Methods returns the names of the methods, in no order.
func (k *Kind[S]) Methods() []string {
	names := make([]string, 0, len(k.methods))
	for name := range k.methods {
		names = append(names, name)
	}
	return names
}

// Apply makes a core handle one message. An unknown method is an error, so that the caller gets an answer instead of a
// timeout.
func (k *Kind[S]) Apply(core S, now time.Time, name string, payload []byte) (Outcome[any], error) {
	if guard, ok := any(core).(Guard); ok {
		if err := guard.Admit(now, name); err != nil {
			return Outcome[any]{}, err
		}
	}
	handle := k.methods[name].handle
	if handle == nil {
		return Outcome[any]{}, fmt.Errorf("unknown method %q", name)
	}
	return handle(core, now, payload)
}

// Row returns the kind's row in the cluster's table. newCore makes the core of an identity without I/O.
func (k *Kind[S]) Row(node *Node, newCore func(identity string) S) cluster.Kind {
	return cluster.Kind{Name: k.name, Rank: k.rank, Idle: k.idle, New: func(identity string) actor.Actor {
		return New(node, k, identity, newCore(identity))
	}}
}

// On declares a method of a kind: its name on the wire and its handler. A second method of the same name is a bug, so
// On panics when the program starts.
func On[S Core, M, R any](kind *Kind[S], name string, handle Handler[S, M, R], options ...Option) Method[M, R] {
	if _, known := kind.methods[name]; known {
		panic(fmt.Sprintf("the method %q of %s is declared twice", name, kind.name))
	}
	made := Declare[M, R](kind.name, name, options...)
	kind.methods[name] = method[S]{needsStore: made.needsStore, handle: func(core S, now time.Time, payload []byte) (Outcome[any], error) {
		var message M
		if err := json.Unmarshal(payload, &message); err != nil {
			return Outcome[any]{}, fmt.Errorf("decoding a message: %w", err)
		}
		outcome, err := handle(core, now, message)
		if err != nil {
			return Outcome[any]{}, err
		}
		return Outcome[any]{Answer: outcome.Answer, Effects: outcome.Effects}, nil
	}}
	return made
}

// Method is the client side of a method, with a request of type M and an answer of type R.
type Method[M, R any] struct {
	kind, name string
	repeatable bool
	needsStore bool
}

// Declare returns a method of a kind that has its own shell. Kinds with the shell of this package use On.
func Declare[M, R any](kind, name string, options ...Option) Method[M, R] {
	m := Method[M, R]{kind: kind, name: name}
	declared.add(Message{Kind: kind, Method: name, Request: reflect.TypeFor[M](), Answer: reflect.TypeFor[R]()})
	for _, option := range options {
		m.repeatable = m.repeatable || option == Repeatable
		m.needsStore = m.needsStore || option == NeedsStore
	}
	return m
}

// Message names a method of a kind with the types of its request and its answer.
type Message struct {
	Kind, Method    string
	Request, Answer reflect.Type
}

// messages is a list that several goroutines may extend.
type messages struct {
	mu   sync.Mutex
	list []Message
}

func (m *messages) add(one Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, one)
}

// declared lists the methods of all packages of the program and of tests. Packages add to it while they are
// initialised.
var declared messages //nolint:gochecknoglobals // packages are initialised without arguments

// Messages lists the methods of all kinds of the program with their types.
func Messages() []Message {
	declared.mu.Lock()
	defer declared.mu.Unlock()
	return slices.Clone(declared.list)
}

// Name returns the method's name on the wire.
func (m Method[M, R]) Name() string { return m.name }

// uncertain reports whether an answer leaves open if something was saved.
func uncertain(reply *protos.Answer) bool {
	return reply.GetFailure() != nil && domain.CodeOf(decodeFailure(reply.GetFailure())) == domain.CodeUnavailable
}

// Caller calls actors on any node.
type Caller interface {
	Call(ctx context.Context, call *protos.Call) (*protos.Answer, error)
}

// Ask sends a request to the actor of an identity and returns its answer. It fails with unavailable if the actor cannot
// be reached in time, and with the domain.Error that the actor answered.
func (m Method[M, R]) Ask(ctx context.Context, to Caller, identity string, message M) (answer R, err error) {
	payload, err := json.Marshal(message)
	if err != nil {
		return answer, fmt.Errorf("encoding %s: %w", m.name, err)
	}
	carrier := domain.CarrierOf(ctx)
	var trail []byte
	if !m.repeatable { // a repeated call could save its trail twice
		if trail, err = carrier.Lend(); err != nil {
			return answer, err
		}
	}
	reply, err := to.Call(ctx, &protos.Call{Kind: m.kind, Identity: identity, Method: m.name, Payload: payload, Repeatable: m.repeatable, Trail: trail})
	// A save that failed may have been stored all the same.
	carrier.Return(trail, reply.GetSaved(), err == nil && !uncertain(reply))
	switch {
	case errors.Is(err, cluster.ErrUnavailable):
		return answer, domain.Unavailable("The "+m.kind, time.Second)
	case err != nil:
		return answer, fmt.Errorf("asking %s: %w", m.kind, err)
	case reply.GetFailure() != nil:
		return answer, decodeFailure(reply.GetFailure())
	}
	if err := json.Unmarshal(reply.GetPayload(), &answer); err != nil {
		return answer, fmt.Errorf("decoding the answer to %s: %w", m.name, err)
	}
	return answer, nil
}
