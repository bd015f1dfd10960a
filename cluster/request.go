package cluster

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"svc/protos"
)

// ErrMoved means that a request was not executed because its actor is stopping or lives elsewhere. The same request may
// be sent again.
var ErrMoved = errors.New("actor moved")

// ErrUnavailable means that no activation could take the request within the caller's deadline, or that the kind has too
// many requests under way. It is also the error if the answer was lost or had to be withheld.
var ErrUnavailable = errors.New("actor unavailable")

// ErrPanicked means that the execution of a request panicked. The request is not repeated: the panic may have come
// after an effect, and would likely occur again.
var ErrPanicked = errors.New("actor panicked")

// ErrRank means that an actor called a kind of its own or a higher rank.
var ErrRank = errors.New("call does not go down in rank")

// Request carries a call to an actor. Only the first call of its answer methods takes effect.
type Request struct {
	Call *protos.Call
	// Generation is the generation of the ownership under which the node accepted the request.
	Generation uint32

	left     <-chan struct{} // closed when the caller no longer waits
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

// Abandoned reports whether the caller has given up. A request that has not begun by then should be bounced: no caller
// waits for its effect.
func (r *Request) Abandoned() bool {
	select {
	case <-r.left:
		return true
	default:
		return false
	}
}

// Answer ends the request. The answer must not be changed afterwards.
func (r *Request) Answer(answer *protos.Answer) { r.end(reply{answer: answer}) }

// Bounce ends the request as not executed.
func (r *Request) Bounce() { r.end(reply{err: ErrMoved}) }

// Abort ends the request as begun and unfinished: its effects are unknown.
func (r *Request) Abort() { r.end(reply{err: ErrPanicked}) }

// LogValue returns the kind and method of the request. Its content stays out of logs.
func (r *Request) LogValue() slog.Value {
	return slog.StringValue(r.Call.GetKind() + "." + r.Call.GetMethod())
}

func (r *Request) end(with reply) {
	if r.answered.CompareAndSwap(false, true) {
		r.reply <- with
	}
}

// Passivate asks an idle actor to stop. The actor checks its own record of activity, since messages may have arrived in
// between.
type Passivate struct{}

// Released notifies an actor of a kind that stays that the ownership of its partition has ended. The actor drops its
// state.
type Released struct{}
