package cluster

import (
	"log/slog"
	"runtime/debug"

	"github.com/asynkron/protoactor-go/actor"
)

// recovering is the outermost middleware of every kind. A panic ends the
// request at once, so its caller does not wait for a time-out, and stops the
// actor: its state is the last saved one, and the next call makes a new
// activation. The request is not repeated, for it may have had effects; those
// after it in the mailbox are bounced, and so repeated.
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

// abort ends a message whose execution panicked: a request as unfinished, any
// other that can be bounced as not executed.
func abort(envelope *actor.MessageEnvelope) {
	if request, ok := envelope.Message.(*Request); ok {
		request.Abort()
		return
	}
	bounce(envelope)
}
