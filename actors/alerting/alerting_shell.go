package alerting

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/alert"
)

// Ports holds the dependencies of a node's alerting actors.
type Ports struct {
	Actors   grain.Caller
	Store    grain.Entities
	Schedule *Schedule
	Measures Measures
	Sender   Sender
	// Rules is the node's index of the counters of rules in the stream.
	Rules *RuleIndex
	// Started is when this node began to take in data: measurements of earlier times may lack data. Flush is how long a
	// block of the stream may be open.
	Started time.Time
	Flush   time.Duration
	Logger  *slog.Logger
}

// Measures reads the values of rules' conditions from the store.
type Measures interface {
	// Read returns the stored count of each counter within its window. It also returns the blocks that the count
	// includes, from the number since on.
	Read(ctx context.Context, counters []alert.Counter, at time.Time, since uint64) []ReadCounter
	// Measure returns the value of each rule's condition in the window that ends at an instant.
	Measure(ctx context.Context, rules []alert.Rule, at time.Time) []Measured
}

// Measured is the value of a rule's condition; it is unknown without data.
type Measured struct {
	Value float64
	Known bool
	Err   error
}

// ReadCounter is the stored count of a counter. It includes every block of the list as a whole.
type ReadCounter struct {
	Slots  alert.Slots
	Blocks []uint64
	Err    error
}

// Sender sends notices to channels.
type Sender interface {
	// Send makes one attempt; after a failure, retry reports whether another attempt may succeed.
	Send(ctx context.Context, channel alert.Channel, delivery alert.Delivery) (retry bool, err error)
}

// sendTime bounds one attempt to deliver a notice.
const sendTime = 10 * time.Second

// alertTimeout bounds the planning and measuring of an alerting actor.
const alertTimeout = time.Minute

// alertingShell is the shell of an alerting actor: a grain that also measures and sends, on goroutines outside its
// mailbox. The node's workers wait for them at a stop.
type alertingShell struct {
	*grain.Grain
	core  *alerting
	ports *Ports
	node  *grain.Node
	// running is set while a round is under way; again is set while one more is due.
	running, again bool
	// measuring is set while a regular measurement runs; it takes long, so everything else continues in parallel.
	measuring atomic.Bool

	mu sync.Mutex
	// begun holds the number of the latest attempt of each delivery. ended holds the deliveries with an attempt that
	// was recorded since the last plan was requested.
	begun map[string]int
	ended map[string]bool
}

// roundEnded notifies the mailbox that a round has ended.
type roundEnded struct{}

// Kind returns the kind of alerting actors for the actors of a node.
func Kind(node *grain.Node, ports *Ports) cluster.Kind {
	node = node.With(ports.Store)
	return cluster.Kind{
		Name: KindAlerting, Rank: alertingKind.Rank(), Idle: alertingKind.Idle(),
		New: func(identity string) actor.Actor { return newAlerting(node, ports, identity) },
	}
}

func newAlerting(node *grain.Node, ports *Ports, identity string) *alertingShell {
	shell := &alertingShell{ports: ports, node: node, begun: map[string]int{}, ended: map[string]bool{}}
	app, _, _ := splitIdentity(identity + "/")
	shell.core = &alerting{
		app: app, started: ports.Started, flush: ports.Flush, now: node.Now, publish: ports.Rules.Publish, changed: func(domain.Version) { shell.again = true },
	}
	shell.Grain = grain.New(shell.node, alertingKind, identity, shell.core)
	return shell
}

// Receive handles one message of the mailbox.
func (s *alertingShell) Receive(c actor.Context) {
	switch c.Message().(type) {
	case *due:
		s.Touch()
		s.again = true
	case *roundEnded:
		s.running = false
		s.reschedule()
	case *actor.Stopping:
		s.Grain.Receive(c)
		return
	default:
		s.Grain.Receive(c)
	}
	if s.running || !s.again {
		return
	}
	s.running, s.again = true, false
	root, self := c.ActorSystem().Root, c.Self()
	s.node.Workers.Go(func(ctx context.Context) {
		defer root.Send(self, &roundEnded{})
		s.round(ctx)
	})
}

// reschedule sets in the schedule when the next round is due.
func (s *alertingShell) reschedule() {
	now := s.node.Now()
	if !s.Loaded() {
		s.ports.Schedule.Set(KindAlerting, s.Identity(), now.Add(evaluateEvery), alertTimeout)
		return
	}
	next := s.core.next(now)
	switch {
	case s.again:
	case next.IsZero():
		s.ports.Schedule.Remove(KindAlerting, s.Identity())
	case !next.After(now):
		// A notice is being sent, or due work failed.
		s.ports.Schedule.Set(KindAlerting, s.Identity(), now.Add(time.Second), alertTimeout)
	default:
		s.ports.Schedule.Set(KindAlerting, s.Identity(), next, alertTimeout)
	}
}

// round asks the core for a plan, and begins to measure, read and send.
func (s *alertingShell) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, alertTimeout)
	defer cancel()
	s.pruneAttempts()
	ahead, err := alertingPlan.Ask(ctx, s.ports.Actors, s.Identity(), grain.None{})
	if err != nil {
		s.ports.Logger.Warn("planning alerts failed", "error", err)
		return
	}
	for _, item := range ahead.Send {
		s.send(item)
	}
	if len(ahead.Read) > 0 {
		s.node.Workers.Go(func(ctx context.Context) { s.read(ctx, ahead.Read, ahead.Asked) })
	}
	if len(ahead.Look) > 0 {
		s.node.Workers.Go(func(ctx context.Context) { s.measure(ctx, ahead.Look) })
	}
	if len(ahead.Measure) > 0 && s.measuring.CompareAndSwap(false, true) {
		s.node.Workers.Go(func(ctx context.Context) {
			defer s.measuring.Store(false)
			s.measure(ctx, ahead.Measure)
		})
	}
}

// readAtOnce bounds the windows of one message.
const readAtOnce = 50

// read reads windows from the store for the core. asked is when the core requested them.
func (s *alertingShell) read(ctx context.Context, counters []alert.Counter, asked time.Time) {
	ctx, cancel := context.WithTimeout(ctx, alertTimeout)
	defer cancel()
	at := s.node.Now()
	found := s.ports.Measures.Read(ctx, counters, at, recentBlock(at))
	told := readReport{Asked: asked, At: at}
	for i, reading := range found {
		if reading.Err != nil {
			s.ports.Logger.Warn("reading what an alert rule counts failed", "error", reading.Err)
		}
		told.Windows = append(told.Windows, readWindow{counters[i], reading.Slots, reading.Blocks, reading.Err != nil})
		if len(told.Windows) < readAtOnce && i+1 < len(found) {
			continue
		}
		if _, err := alertingRead.Ask(ctx, s.ports.Actors, s.Identity(), told); err != nil {
			s.ports.Logger.Warn("evaluating alerts failed", "error", err)
		}
		told.Windows = nil
	}
}

// measure measures rules for the core.
func (s *alertingShell) measure(ctx context.Context, rules []alert.Rule) {
	ctx, cancel := context.WithTimeout(ctx, alertTimeout)
	defer cancel()
	told := measuredReport{At: s.node.Now()}
	for i, measured := range s.ports.Measures.Measure(ctx, rules, told.At) {
		rule := &rules[i]
		if measured.Err != nil {
			s.ports.Logger.Warn("measuring an alert rule failed", "rule", rule.ID, "error", measured.Err)
			continue
		}
		told.Values = append(told.Values, measuredValue{RuleID: rule.ID, Value: measured.Value, Known: measured.Known, SuppressedUntil: s.ports.Started.Add(rule.Window())})
	}
	if len(told.Values) == 0 {
		return
	}
	if _, err := alertingMeasured.Ask(ctx, s.ports.Actors, s.Identity(), told); err != nil {
		s.ports.Logger.Warn("evaluating alerts failed", "error", err)
	}
}

// pruneAttempts drops attempts with an end that was recorded before this plan.
func (s *alertingShell) pruneAttempts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.ended {
		delete(s.begun, id)
	}
	clear(s.ended)
}

// begin reports whether to make an attempt: not if the plan is older than the last attempt.
func (s *alertingShell) begin(d *alert.Delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun[d.ID] > d.Attempts {
		return false
	}
	s.begun[d.ID] = d.Attempts + 1
	return true
}

// send makes an attempt to deliver a notice, and the core records it. If recording fails, the attempt is repeated under
// the same id.
func (s *alertingShell) send(item planned) {
	d := &item.Delivery
	if !s.begin(d) {
		return
	}
	s.node.Workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 2*sendTime)
		defer cancel()
		attempt, done := context.WithTimeout(ctx, sendTime)
		retry, err := s.ports.Sender.Send(attempt, item.Channel, *d)
		done()
		if err != nil {
			s.ports.Logger.Warn("a notice was not delivered", "channel", item.Channel.ID, "incident", d.Notice.Incident.ID, "attempt", d.Attempts+1, "retry", retry, "error", err)
		}
		if _, err := alertingSent.Ask(ctx, s.ports.Actors, s.Identity(), sentReport{ID: d.ID, OK: err == nil, Retry: retry, Answer: answerOf(err)}); err != nil {
			s.ports.Logger.Warn("noting a delivery failed", "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended[d.ID] = true
	})
}

// answerOf explains why an attempt failed; it returns "" if it succeeded.
func answerOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
