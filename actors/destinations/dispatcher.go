package destinations

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sony/gobreaker/v2"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/destination"
)

// Ports holds the dependencies of a node's dispatchers.
type Ports struct {
	Actors   grain.Caller
	Index    *Index
	Sender   Sender
	Opener   Opener
	Contacts Contacts
	Log      Log
	// Life returns the value that changes the number of an id, for a row that arrived at an instant. If the value has
	// changed since the conversion arrived, the person was erased.
	Life func(environment uint64, id string, receivedMs int64) uint64
	// Restored returns the time of the last restore or rebuild, and the zero time if there was none.
	Restored func() time.Time
	// Slots bounds the concurrent attempts of all dispatchers of the node.
	Slots  chan struct{}
	Logger *slog.Logger
}

// Sender sends conversions to destinations.
type Sender interface {
	// Batch returns the largest number of conversions in one request to a kind of destination.
	Batch(kind destination.Kind) int
	// Send makes one attempt for each of some conversions and returns its outcome for each.
	Send(ctx context.Context, request destination.DispatchRequest) []destination.DispatchOutcome
}

// Opener decrypts credentials.
type Opener interface {
	// Open fails if the text was not sealed under the name.
	Open(name string, sealed []byte) ([]byte, error)
}

// Contacts reads contact data of people.
type Contacts interface {
	// Contacts returns the contact data of the persons of visitors, by visitor.
	Contacts(ctx context.Context, environment uint64, visitors []uint64) (map[uint64]destination.Contacts, error)
}

// Log stores the delivery log.
type Log interface {
	// Append returns once records are stored; repeating it changes nothing.
	Append(ctx context.Context, records []destination.Dispatch) error
}

// Slots is the number of concurrent attempts of a node.
const Slots = 2048

const (
	// firstAtOnce and mostAtOnce bound the concurrent attempts to one destination: each success allows one more, each
	// failure half as many.
	firstAtOnce = 4
	mostAtOnce  = 64
	// maxUnrecorded bounds the attempts with an outcome that is not recorded yet.
	maxUnrecorded = 4096

	// The breaker opens after breakerFailures attempts in a row that may succeed later. It stays open for breakerTime.
	breakerFailures = 10
	breakerTime     = 10 * time.Second
	// again is the pause of a dispatcher that could not send the deliveries that are due.
	again = time.Second
	// forgetEvery is the pause between two searches for people that were erased while their conversions wait.
	forgetEvery = time.Minute
	// orphanTime is how long a queue waits for the definition of its destination.
	orphanTime = time.Minute
)

// dispatcher is the shell of a queue: a grain that also sends, on goroutines outside its mailbox.
type dispatcher struct {
	*grain.Grain
	core  *queue
	node  *grain.Node
	ports *Ports
	ref   domain.AppRef
	id    string

	breaker *gobreaker.TwoStepCircuitBreaker[any]
	// sending holds the events with an outcome that the queue has not recorded. active counts the attempts under way,
	// and atOnce bounds them.
	sending        map[string]bool
	active, atOnce int
	timer          *time.Timer
	orphaned       time.Time
	// looked is when the dispatcher last searched for erased people.
	looked  time.Time
	stopped bool
	// contacts finds the contact data of the people of its deliveries.
	contacts contacts

	mu        sync.Mutex
	finished  []conclusion
	recording bool
}

// Messages of the shell to itself.
type (
	// look makes it look for deliveries that are due.
	look struct{}
	// sent reports that an attempt for some conversions has ended. tried says whether it was made; ok is false if an
	// outcome asks for a retry.
	sent struct{ ok, tried bool }
	// recorded lists events with outcomes that the queue has recorded.
	recorded struct{ events []string }
)

func dispatcherKind(node *grain.Node, ports *Ports) cluster.Kind {
	return cluster.Kind{
		Name: kindQueue, Rank: queueKind.Rank(), Idle: queueKind.Idle(),
		New: func(identity string) actor.Actor { return newDispatcher(node, ports, identity) },
	}
}

func newDispatcher(node *grain.Node, ports *Ports, identity string) *dispatcher {
	d := &dispatcher{
		node: node, ports: ports, ref: refOf(identity), id: identity[strings.LastIndexByte(identity, '/')+1:], sending: map[string]bool{}, atOnce: firstAtOnce,
		core: &queue{identity: identity},
		breaker: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
			Name: identity, Timeout: breakerTime, MaxRequests: 1,
			ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= breakerFailures },
		}),
	}
	d.Grain = grain.New(node, queueKind, identity, d.core)
	return d
}

// Receive handles one message of the mailbox.
func (d *dispatcher) Receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *look:
	case *sent:
		d.active--
		if message.tried && message.ok {
			d.atOnce = min(d.atOnce+1, mostAtOnce)
		} else if message.tried {
			d.atOnce = max(d.atOnce/2, 1)
		}
	case *recorded:
		for _, event := range message.events {
			delete(d.sending, event)
			if item := d.core.entries[event]; item != nil {
				d.core.requeue(item) // pump skipped it if it was due again before its outcome was known here
			}
		}
	case *actor.Stopping:
		d.stopped = true
		if d.timer != nil {
			d.timer.Stop()
		}
		d.Grain.Receive(c)
		return
	default:
		d.Grain.Receive(c)
	}
	d.pump(c)
}

// pump begins the attempts that are due, up to the limit of concurrent ones.
func (d *dispatcher) pump(c actor.Context) {
	if d.stopped || !d.Loaded() || len(d.core.waiting) == 0 {
		return
	}
	d.Touch()
	now := d.node.Now()
	d.forget(c, now)
	definition := d.ports.Index.Destination(d.ref, d.id)
	if definition == nil {
		d.orphan(c, now)
		return
	}
	d.orphaned = time.Time{}
	for d.active < d.atOnce && len(d.sending) < maxUnrecorded {
		first := d.core.next(now)
		switch {
		case first == nil:
			d.lookAgain(c, now)
			return
		case d.sending[first.EventID]:
			continue // its outcome is on its way
		case d.erased(&first.Conversion, now):
			d.drop(c, first)
			continue
		case first.Surplus || !definition.Enabled || d.repeated(definition, first):
			d.park(c, definition, first)
			continue
		}
		if !d.begin(c, definition, first, now) {
			d.core.requeue(first)
			d.after(c, again)
			return
		}
	}
}

// erased reports whether the person of a conversion was erased since it arrived.
func (d *dispatcher) erased(conversion *destination.Conversion, now time.Time) bool {
	return d.ports.Life(conversion.EnvironmentNumber, conversion.Subject(), now.UnixMilli()) != conversion.Life
}

// repeated reports whether the installation before a restore may have already sent a message. A chat has no id by which
// a receiver recognizes a repetition.
func (d *dispatcher) repeated(definition *destination.Destination, item *entry) bool {
	restored := d.ports.Restored()
	return definition.Kind == destination.Slack && item.ReceivedAt.Before(restored) && item.Replayed.Before(restored)
}

// forget drops the deliveries that wait for erased people. A destination that is down must not retain them.
func (d *dispatcher) forget(c actor.Context, now time.Time) {
	if now.Sub(d.looked) < forgetEvery {
		return
	}
	d.looked = now
	for _, item := range d.core.waiting {
		if !d.sending[item.EventID] && d.erased(&item.Conversion, now) {
			d.drop(c, item)
		}
	}
}

// drop makes the queue drop a delivery that must no longer be made.
func (d *dispatcher) drop(c actor.Context, item *entry) {
	d.sending[item.EventID] = true
	d.record(c.ActorSystem().Root, c.Self(), conclusion{result: result{EventID: item.EventID, Turn: item.turn()}})
}

// orphan waits for the definition of a destination, which this node may not have received yet. If the definition does
// not arrive, it drops the deliveries.
func (d *dispatcher) orphan(c actor.Context, now time.Time) {
	if d.orphaned.IsZero() {
		d.orphaned = now
	}
	if now.Sub(d.orphaned) < orphanTime {
		d.after(c, again)
		return
	}
	d.orphaned = now
	d.node.Workers.Go(func(ctx context.Context) {
		if _, err := queueDiscard.Ask(ctx, d.ports.Actors, d.Identity(), grain.None{}); err != nil {
			d.ports.Logger.Warn("forgetting the deliveries of a deleted destination failed", "destination", d.id, "error", err)
		}
	})
}

// lookAgain sets the timer for the next delivery, or for an earlier search for erased people.
func (d *dispatcher) lookAgain(c actor.Context, now time.Time) {
	if len(d.core.waiting) > 0 {
		d.after(c, max(min(d.core.waiting[0].Next.Sub(now), forgetEvery), time.Millisecond))
	}
}

// after makes the dispatcher look again after a time.
func (d *dispatcher) after(c actor.Context, pause time.Duration) {
	if d.timer != nil {
		d.timer.Stop()
	}
	root, self := c.ActorSystem().Root, c.Self()
	d.timer = time.AfterFunc(pause, func() { root.Send(self, &look{}) })
}

// begin makes an attempt for a conversion. If one request carries several, the attempt includes others that are due. It
// returns false if the breaker or the node's slots do not permit it.
func (d *dispatcher) begin(c actor.Context, definition *destination.Destination, first *entry, now time.Time) bool {
	done, err := d.breaker.Allow()
	if err != nil {
		return false
	}
	select {
	case d.ports.Slots <- struct{}{}:
	default:
		done(nil)
		return false
	}
	items := []*entry{first}
	for most := d.ports.Sender.Batch(definition.Kind); len(items) < most; {
		more := d.core.next(now)
		if more == nil {
			break
		}
		if more.Surplus || d.repeated(definition, more) {
			d.core.requeue(more)
			break
		}
		if !d.sending[more.EventID] {
			items = append(items, more)
		}
	}
	one := request{definition: definition, items: make([]destination.DispatchItem, len(items)), turns: make([]turn, len(items))}
	for i, item := range items {
		d.sending[item.EventID] = true
		one.items[i] = destination.DispatchItem{ID: destination.DispatchID(d.id, item.EventID), Attempt: item.Attempts + 1, Conversion: &item.Conversion}
		one.turns[i] = item.turn()
	}
	d.active++
	one.questions = d.ask(definition, items, now)
	root, self := c.ActorSystem().Root, c.Self()
	d.node.Workers.Go(func(ctx context.Context) {
		ok, tried := d.attempt(ctx, root, self, one)
		<-d.ports.Slots
		if ok || !tried {
			done(nil)
		} else {
			done(errUnanswered)
		}
		root.Send(self, &sent{ok: ok, tried: tried})
	})
	return true
}

// errUnanswered counts against a destination in its breaker.
var errUnanswered = errors.New("an attempt may succeed later")

// request is an attempt for some deliveries in one request, each at its turn.
type request struct {
	definition *destination.Destination
	items      []destination.DispatchItem
	turns      []turn
	questions  []*question
}

// attempt sends conversions and records the outcomes. tried is false if nothing was sent; ok is false if an outcome
// asks for a retry.
func (d *dispatcher) attempt(ctx context.Context, root *actor.RootContext, self *actor.PID, one request) (ok, tried bool) {
	now := d.node.Now()
	var send []destination.DispatchItem
	var turns []turn
	for i := range one.items {
		if c := one.items[i].Conversion; d.erased(c, now) {
			d.record(root, self, conclusion{result: result{EventID: c.EventID, Turn: one.turns[i]}})
			continue
		}
		send, turns = append(send, one.items[i]), append(turns, one.turns[i])
	}
	if len(send) == 0 {
		return true, false
	}
	if err := contact(ctx, one.questions, send); err != nil {
		d.ports.Logger.Warn("looking up the people of conversions failed", "destination", d.id, "error", err)
		for i := range send {
			d.record(root, self, conclusion{result: result{
				EventID: send[i].Conversion.EventID, Turn: turns[i], Status: destination.DispatchRetrying, Attempts: turns[i].Before, Next: now.Add(again),
			}})
		}
		return true, false
	}
	outcomes := d.send(ctx, one.definition, send)
	ok = true
	ended := d.node.Now()
	for i := range outcomes {
		ok = ok && !outcomes[i].Retry
		d.record(root, self, d.outcome(&send[i], turns[i], &outcomes[i], ended))
	}
	return ok, true
}

// send makes the attempts within destination.DispatchTime.
func (d *dispatcher) send(ctx context.Context, definition *destination.Destination, send []destination.DispatchItem) []destination.DispatchOutcome {
	ctx, cancel := context.WithTimeout(ctx, destination.DispatchTime)
	defer cancel()
	return dispatch(ctx, d.ports.Sender, d.ports.Opener, definition, send)
}
