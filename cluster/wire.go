package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/eventstream"
	"github.com/asynkron/protoactor-go/remote"
	"golang.org/x/sync/singleflight"

	"svc/protos"
)

const (
	// callsActor is the name of the actor on each node that receives calls and answers from other nodes.
	callsActor = "calls"
	// messageBytes limits one call or answer. A frame holds at most writerBatch of them, which stays below frameBytes.
	messageBytes = 512 << 10
	writerBatch  = 100
	frameBytes   = 64 << 20
	// writerQueue is the initial size of the queue to one peer. It grows, but never beyond the sum of peerCalls and the
	// peer's own calls.
	writerQueue = 1024
	// peerCalls limits the calls under way to one peer. Further calls are refused.
	peerCalls = 4096
	// probeTime limits the check whether a peer answers, before a stream to it is opened. The library itself sleeps two
	// seconds after a refused connection.
	probeTime = time.Second
	// flushTime is the time for the last answers before the wire closes.
	flushTime = 50 * time.Millisecond
)

// RemoteConfig describes this node as a peer of other nodes.
type RemoteConfig struct {
	// Addr is the host:port to listen on and to announce to other nodes. Port 0 picks a free port.
	Addr string
	// Secret is shared by the nodes. Calls between nodes require it.
	Secret string
	Logger *slog.Logger
}

// Remote is the wire between nodes: proto.actor's remote, over TLS that proves the shared secret on both sides. This
// file adds safeguards: frames that fit, a probe before a stream, and an end for calls to a peer that is gone.
type Remote struct {
	config   RemoteConfig
	system   *actor.ActorSystem
	security *security
	remote   *remote.Remote
	calls    *actor.PID
	events   *eventstream.Subscription
	serve    atomic.Pointer[func(context.Context, *protos.Call) (*protos.Answer, error)]
	numbers  atomic.Uint64
	closing  sync.Once
	probes   singleflight.Group
	// base ends with the node, and so do the calls that it executes for other nodes.
	base context.Context //nolint:containedctx // the life of the wire, which every message of a peer belongs to
	end  context.CancelFunc

	mu    sync.Mutex
	peers map[string]*peer
}

// peer is one other node.
type peer struct {
	// connected means that a stream to the peer is open or being opened.
	connected bool
	pending   map[uint64]chan remoteResult
}

type remoteResult struct {
	answer *protos.RemoteAnswer
	err    error
}

// errPeerGone ends the calls to a peer when its stream breaks.
var errPeerGone = fmt.Errorf("%w: the connection broke", ErrLost)

// OpenRemote listens for other nodes. It converts the library's panics into errors.
func OpenRemote(config RemoteConfig) (r *Remote, err error) {
	host, portText, err := net.SplitHostPort(config.Addr)
	if err != nil {
		return nil, fmt.Errorf("reading the node's address: %w", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || host == "" {
		return nil, fmt.Errorf("the node's address %q is not host:port", config.Addr)
	}
	r = &Remote{config: config, peers: map[string]*peer{}}
	if r.security, err = newSecurity(config.Secret); err != nil {
		return nil, err
	}
	r.system = NewSystem(config.Logger)
	r.base, r.end = context.WithCancel(context.Background())
	if err := r.start(host, port); err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

func (r *Remote) start(host string, port int) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("listening for other nodes on %s: %v", r.config.Addr, cause)
		}
	}()
	options := []remote.ConfigOption{
		remote.WithEndpointWriterBatchSize(writerBatch), remote.WithEndpointWriterQueueSize(writerQueue),
		remote.WithServerOptions(r.security.serverOptions(r.config.Logger)...),
		remote.WithDialOptions(r.security.dialOptions()...),
	}
	if port != 0 {
		options = append(options, remote.WithAdvertisedHost(r.config.Addr))
	}
	config := remote.Configure(host, port, options...)
	config.MaxRetryCount = 1
	system := r.system
	r.remote = remote.NewRemote(system, config)
	r.remote.Start()
	r.events = system.EventStream.Subscribe(r.onEvent)
	r.calls, err = system.Root.SpawnNamed(actor.PropsFromFunc(r.receive), callsActor)
	if err != nil {
		return fmt.Errorf("starting the actor of calls: %w", err)
	}
	return nil
}

// Self implements Wire.
func (r *Remote) Self() string { return r.system.Address() }

// Join adds the wire and its actor system to the configuration of a cluster.
func (r *Remote) Join(config Config, directory Directory) Config {
	config.System, config.Wire, config.Directory = r.system, r, directory
	return config
}

// Serve implements Wire.
func (r *Remote) Serve(answer func(context.Context, *protos.Call) (*protos.Answer, error)) {
	r.serve.Store(&answer)
}

// Run keeps the wire open until ctx ends.
func (r *Remote) Run(ctx context.Context) error {
	<-ctx.Done()
	r.Close()
	return nil
}

// Close ends the wire. Peers notice at once.
func (r *Remote) Close() { r.closing.Do(r.close) }

func (r *Remote) close() {
	r.end()
	time.Sleep(flushTime) //nolint:forbidigo // the library has no way to wait for its writers
	r.system.EventStream.Unsubscribe(r.events)
	r.remote.Shutdown(false)
	r.system.Shutdown()
}

// Call implements Wire.
func (r *Remote) Call(ctx context.Context, address string, call *protos.Call) (*protos.Answer, error) {
	if call.SizeVT() > messageBytes {
		return nil, fmt.Errorf("a call of %d bytes is too large for another node", call.SizeVT())
	}
	if err := r.connect(ctx, address); err != nil {
		return nil, err
	}
	number := r.numbers.Add(1)
	reply, err := r.register(address, number)
	if err != nil {
		return nil, err
	}
	defer r.forget(address, number)
	left := DefaultCallTime
	if deadline, bounded := ctx.Deadline(); bounded {
		left = time.Until(deadline) //nolint:forbidigo // what is left crosses the wire, since clocks differ
	}
	message := &protos.RemoteCall{Number: number, Call: call, TimeoutMs: max(1, left.Milliseconds())}
	r.system.Root.RequestWithCustomSender(actor.NewPID(address, callsActor), message, r.calls)
	select {
	case result := <-reply:
		if result.err != nil {
			return nil, result.err
		}
		return result.answer.GetAnswer(), outcomeError(result.answer.GetOutcome())
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect checks that the peer answers, unless a stream to it is open.
func (r *Remote) connect(ctx context.Context, address string) error {
	r.mu.Lock()
	p := r.peer(address)
	connected := p.connected
	r.mu.Unlock()
	if connected {
		return nil
	}
	result := r.probes.DoChan(address, func() (any, error) {
		err := r.security.probe(r.base, address)
		if err == nil {
			r.mu.Lock()
			p.connected = true
			r.mu.Unlock()
		}
		return nil, err
	})
	select {
	case done := <-result:
		if done.Err != nil {
			r.config.Logger.Debug("a node does not answer", "address", address, "error", done.Err)
			return ErrMoved
		}
		return nil
	case <-ctx.Done():
		return ErrMoved
	}
}

// peer returns the record of a peer. The caller holds the lock.
func (r *Remote) peer(address string) *peer {
	p := r.peers[address]
	if p == nil {
		p = &peer{pending: map[uint64]chan remoteResult{}}
		r.peers[address] = p
	}
	return p
}

func (r *Remote) register(address string, number uint64) (<-chan remoteResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.peer(address)
	if len(p.pending) >= peerCalls {
		return nil, fmt.Errorf("%w: too many calls to %s under way", ErrUnavailable, address)
	}
	reply := make(chan remoteResult, 1)
	p.pending[number] = reply
	return reply, nil
}

func (r *Remote) forget(address string, number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.peer(address).pending, number)
}

// receive handles the messages of other nodes. It never waits.
func (r *Remote) receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *protos.RemoteCall:
		serve, from := r.serve.Load(), c.Sender()
		if from == nil {
			return
		}
		go r.answer(serve, from, message)
	case *protos.RemoteAnswer:
		from := c.Sender()
		if from == nil {
			return
		}
		r.settle(from.GetAddress(), message)
	}
}

// answer executes a peer's call and sends the result.
func (r *Remote) answer(serve *func(context.Context, *protos.Call) (*protos.Answer, error), to *actor.PID, message *protos.RemoteCall) {
	result := &protos.RemoteAnswer{Number: message.GetNumber(), Outcome: protos.Outcome_OUTCOME_MOVED}
	if serve != nil {
		ctx, cancel := context.WithTimeout(r.base, time.Duration(message.GetTimeoutMs())*time.Millisecond)
		defer cancel()
		answer, err := (*serve)(ctx, message.GetCall())
		result.Answer, result.Outcome = answer, r.outcome(message, answer, err)
	}
	if result.Outcome != protos.Outcome_OUTCOME_ANSWERED {
		result.Answer = nil
	}
	r.system.Root.RequestWithCustomSender(to, result, r.calls)
}

func (r *Remote) outcome(message *protos.RemoteCall, answer *protos.Answer, err error) protos.Outcome {
	switch {
	case err == nil && answer.SizeVT() > messageBytes:
		r.config.Logger.Error("an answer is too large for another node", "kind", message.GetCall().GetKind(), "bytes", answer.SizeVT())
		return protos.Outcome_OUTCOME_UNAVAILABLE
	case err == nil:
		return protos.Outcome_OUTCOME_ANSWERED
	case errors.Is(err, ErrMoved):
		return protos.Outcome_OUTCOME_MOVED
	case errors.Is(err, ErrPanicked):
		return protos.Outcome_OUTCOME_PANICKED
	}
	return protos.Outcome_OUTCOME_UNAVAILABLE
}

// outcomeError is the inverse of outcome.
func outcomeError(outcome protos.Outcome) error {
	switch outcome {
	case protos.Outcome_OUTCOME_ANSWERED:
		return nil
	case protos.Outcome_OUTCOME_MOVED:
		return ErrMoved
	case protos.Outcome_OUTCOME_PANICKED:
		return ErrPanicked
	case protos.Outcome_OUTCOME_UNAVAILABLE, protos.Outcome_OUTCOME_UNSPECIFIED:
	}
	return fmt.Errorf("%w: on another node", ErrUnavailable)
}

// settle passes an answer to the waiting call. The answer must come from the peer that was called.
func (r *Remote) settle(address string, answer *protos.RemoteAnswer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reply := r.peer(address).pending[answer.GetNumber()]; reply != nil {
		delete(r.peer(address).pending, answer.GetNumber())
		reply <- remoteResult{answer: answer}
	}
}

// onEvent ends the calls to a peer when its stream broke or could not be opened. It also ends calls that reached no
// peer.
func (r *Remote) onEvent(event any) {
	switch message := event.(type) {
	case *remote.EndpointTerminatedEvent:
		r.mu.Lock()
		defer r.mu.Unlock()
		p := r.peer(message.Address)
		p.connected = false
		for number, reply := range p.pending {
			delete(p.pending, number)
			reply <- remoteResult{err: errPeerGone}
		}
	case *actor.DeadLetterEvent:
		call, isCall := message.Message.(*protos.RemoteCall)
		if !isCall || message.PID == nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		p := r.peer(message.PID.GetAddress())
		p.connected = false
		if reply := p.pending[call.GetNumber()]; reply != nil {
			delete(p.pending, call.GetNumber())
			reply <- remoteResult{err: ErrMoved}
		}
	}
}
