package cluster

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"svc/protos"
)

// ErrMoved is the answer for a request that was not executed because its actor
// is stopping or lives elsewhere; the same request may be sent again.
var ErrMoved = errors.New("actor moved")

// ErrUnavailable is the answer where no activation could take the request
// within the caller's deadline, or the kind has too many under way.
var ErrUnavailable = errors.New("actor unavailable")

// ErrPanicked is the answer for a request whose execution panicked. It is not
// repeated: the panic may have come after an effect, and would likely come again.
var ErrPanicked = errors.New("actor panicked")

// ErrRank is the answer for a call from an actor to a kind of its own or a
// higher rank.
var ErrRank = errors.New("call does not go down in rank")

// Request carries a call to an actor. Exactly one of its answer
// methods takes effect.
type Request struct {
	Call *protos.Call
	// Generation is the epoch of the ownership under which the node accepted it.
	Generation uint32

	left     <-chan struct{} // closed when the caller waits no longer
	answered atomic.Bool
	reply    chan reply
}

type reply struct {
	answer *protos.Answer
	err    error
}

func newRequest(call *protos.Call, generation uint32) *Request {
	return &Request{Call: call, Generation: generation, reply: make(chan reply, 1)}
}

// Abandoned reports whether the caller has given up. A request that was not begun by
// then is better bounced: nobody waits for its effect.
func (r *Request) Abandoned() bool {
	select {
	case <-r.left:
		return true
	default:
		return false
	}
}

// Answer ends the request; the answer must not be changed afterwards.
func (r *Request) Answer(answer *protos.Answer) { r.end(reply{answer: answer}) }

// Bounce ends the request as not executed.
func (r *Request) Bounce() { r.end(reply{err: ErrMoved}) }

// Abort ends the request as begun and not finished: what it did is unknown.
func (r *Request) Abort() { r.end(reply{err: ErrPanicked}) }

// LogValue names the request and keeps its content out of logs.
func (r *Request) LogValue() slog.Value {
	return slog.StringValue(r.Call.GetKind() + "." + r.Call.GetMethod())
}

func (r *Request) end(with reply) {
	if r.answered.CompareAndSwap(false, true) {
		r.reply <- with
	}
}

// Passivate asks an actor to stop if it has had nothing to do; the actor
// compares its own account of activity, since messages may have come between.
type Passivate struct{}

// Released tells an actor of a kind that stays that the ownership of its
// partition has ended: it gives its state up.
type Released struct{}
