package cluster

import (
	"log/slog"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
)

// recovering is the outermost middleware of every kind. A panic ends the request at once, so that its caller does not
// wait for a timeout, and stops the actor. The actor's state is the last saved one, and the next call creates a new
// activation. The request is not repeated, because it may have had effects. Later requests in the mailbox are bounced
// and therefore repeated.
func recovering(kind string, logger *slog.Logger, metrics *Metrics) actor.ReceiverMiddleware {
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, envelope *actor.MessageEnvelope) {
			defer func() {
				cause := recover()
				if cause == nil {
					return
				}
				metrics.Panics.WithLabelValues(kind).Inc()
				logger.Error("actor panicked", "kind", kind, "actor", c.Self().Id, "cause", cause, "stack", string(debug.Stack()))
				abort(envelope)
				c.ActorSystem().Root.Stop(c.Self())
			}()
			next(c, envelope)
		}
	}
}

// abort ends a message after a panic. A request ends as unfinished; any other message that can be bounced ends as not
// executed.
func abort(envelope *actor.MessageEnvelope) {
	if request, ok := envelope.Message.(*Request); ok {
		request.Abort()
		return
	}
	bounce(envelope)
}
