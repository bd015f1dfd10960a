package cluster

import (
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// bounceMailbox is an unbounded mailbox that loses no messages. After the stop message has passed, it bounces every
// later request to its caller at once, instead of dropping the request with the mailbox.
type bounceMailbox struct {
	actor.Mailbox
}

// newBounceMailbox returns the producer of such mailboxes.
func newBounceMailbox() actor.MailboxProducer {
	inner := actor.Unbounded()
	return func() actor.Mailbox { return &bounceMailbox{Mailbox: inner()} }
}

// RegisterHandlers puts the bouncing invoker in front of the actor.
func (m *bounceMailbox) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	m.Mailbox.RegisterHandlers(&bounceInvoker{MessageInvoker: invoker}, dispatcher)
}

type bounceInvoker struct {
	actor.MessageInvoker
	stopping atomic.Bool
}

// InvokeSystemMessage records the stop before the actor sees it.
func (i *bounceInvoker) InvokeSystemMessage(message any) {
	if _, isStop := message.(*actor.Stop); isStop {
		i.stopping.Store(true)
	}
	i.MessageInvoker.InvokeSystemMessage(message)
}

// InvokeUserMessage bounces messages that arrive after the stop.
func (i *bounceInvoker) InvokeUserMessage(message any) {
	if i.stopping.Load() && bounce(message) {
		return
	}
	i.MessageInvoker.InvokeUserMessage(message)
}

// bouncer is a message whose sender waits for its outcome. Bounce reports that it was not executed.
type bouncer interface{ Bounce() }

// bounce ends a message that will not be executed. It reports whether a sender waits for the message.
func bounce(message any) bool {
	if envelope, ok := message.(*actor.MessageEnvelope); ok {
		message = envelope.Message
	}
	waited, ok := message.(bouncer)
	if ok {
		waited.Bounce()
	}
	return ok
}
