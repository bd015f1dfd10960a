package live

import (
	"context"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/analytics"
)

// The live actor.
//
//	identity   the number of an environment
//	rank       1
//	owns       the visitors of the last five minutes
//	persists   nothing: the window is read from the store at the first request,
//	           and grows by the digest of every block stored since
//	woken by   calls and digests
//	limits     memory grows with the visitors of five minutes
//	stops      after two minutes without a request; no digests are gathered then
const kindLive = "live"

// Visits reads the visits of the last minutes from the store.
type Visits interface {
	// LiveVisits yields the events of an environment since an instant with the
	// numbers of their blocks, bots excluded.
	LiveVisits(ctx context.Context, environment uint64, since time.Time, yield func(visit analytics.LiveVisit, block uint64) bool) error
}

// Subscriptions is the set of environments that have an open live view on this node. Updates are gathered only for
// these environments.
type Subscriptions struct {
	mu      sync.Mutex
	current atomic.Pointer[map[uint64]bool]
}

// set returns the current set; it is never modified.
func (w *Subscriptions) set() map[uint64]bool {
	if current := w.current.Load(); current != nil {
		return *current
	}
	return nil
}

func (w *Subscriptions) change(environment uint64, watched bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := maps.Clone(w.set())
	if next == nil {
		next = map[uint64]bool{}
	}
	if watched {
		next[environment] = true
	} else {
		delete(next, environment)
	}
	w.current.Store(&next)
}

// Ports holds the dependencies of a node's live actors.
type Ports struct {
	Visits        Visits
	Subscriptions *Subscriptions
	// Workers run the readings of windows, and await them when the node stops.
	Workers *grain.Workers
	// Whole reports whether this node owns every partition; nil means that it does.
	Whole  func() bool
	Now    func() time.Time
	Logger *slog.Logger
}

// liveIdle is how long a live window is cached after the last request.
const liveIdle = 2 * time.Minute

// Kind returns the kind of live views.
func Kind(ports Ports) cluster.Kind {
	return cluster.Kind{
		Name: kindLive, Rank: 1, Idle: liveIdle,
		New: func(identity string) actor.Actor {
			environment, _ := strconv.ParseUint(identity, 10, 64) // an invalid identity watches environment 0, which has no events
			return &live{
				environment: environment, visits: ports.Visits, watchers: ports.Subscriptions, now: ports.Now, idle: liveIdle, logger: ports.Logger, workers: ports.Workers, whole: ports.Whole,
			}
		},
	}
}

// digest holds the visits of one stored block in one environment. It is partial if the block was begun before
// the view was opened: the window must then be read again.
type digest struct {
	block   uint64
	visits  []analytics.LiveVisit
	partial bool
}

type live struct {
	environment uint64
	window      *analytics.LiveWindow
	visits      Visits
	watchers    *Subscriptions
	now         func() time.Time
	idle        time.Duration
	logger      *slog.Logger
	workers     *grain.Workers

	loading bool
	// stale is set once a partial digest came.
	stale bool
	// blocks holds the blocks from which the window was read; late holds the digests that arrived during the reading.
	blocks  map[uint64]bool
	late    []*digest
	waiting []*cluster.Request
	asked   time.Time
	// whole reports whether this node stores every block; if others store some, the window is read again once
	// it is older than freshTime.
	whole func() bool
	read  time.Time
}

// freshTime is how old a window may be if other nodes add to it.
const freshTime = time.Second

// liveLoaded brings a window that was read from the store.
type liveLoaded struct {
	window *analytics.LiveWindow
	blocks map[uint64]bool
	err    error
}

// Receive handles one message of the mailbox.
func (l *live) Receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *actor.Started:
		l.watchers.change(l.environment, true)
	case *cluster.Request:
		l.asked = l.now()
		l.waiting = append(l.waiting, message)
		l.answer(c)
	case *digest:
		l.onDigest(message)
	case *liveLoaded:
		l.onLoaded(c, message)
	case *cluster.Passivate:
		if !l.loading && l.now().Sub(l.asked) >= l.idle {
			c.Stop(c.Self())
		}
	case *actor.Stopping:
		l.watchers.change(l.environment, false)
		for _, request := range l.waiting {
			request.Bounce()
		}
	}
}

// answer answers the waiting requests; if necessary, it reads the window first.
func (l *live) answer(c actor.Context) {
	if l.loading {
		return
	}
	if l.window == nil || l.stale || l.whole != nil && !l.whole() && l.now().Sub(l.read) >= freshTime {
		l.load(c)
		return
	}
	view := grain.Success(l.window.At(l.now()))
	for _, request := range l.waiting {
		request.Answer(view)
	}
	l.waiting = nil
}

func (l *live) load(c actor.Context) {
	l.loading, l.stale, l.late, l.read = true, false, nil, l.now()
	root, self, since := c.ActorSystem().Root, c.Self(), l.now().Add(-analytics.LiveSeconds*time.Second)
	l.workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, grain.IOTime)
		defer cancel()
		window, blocks := analytics.NewLiveWindow(), map[uint64]bool{}
		err := l.visits.LiveVisits(ctx, l.environment, since, func(visit analytics.LiveVisit, block uint64) bool {
			window.Add(visit)
			blocks[block] = true
			return true
		})
		root.Send(self, &liveLoaded{window, blocks, err})
	})
}

// onDigest adds a block's visits, unless the block was already in the store when the window was read.
func (l *live) onDigest(d *digest) {
	switch {
	case d.partial:
		l.stale = true
	case l.loading:
		l.late = append(l.late, d)
	case l.window != nil && !l.blocks[d.block]:
		for _, visit := range d.visits {
			l.window.Add(visit)
		}
	}
}

// onLoaded takes over a window and adds the digests that came during the reading. If one of these was partial,
// the window is read once more before the requests are answered.
func (l *live) onLoaded(c actor.Context, result *liveLoaded) {
	l.loading = false
	if result.err != nil {
		l.logger.Warn("reading the live window failed", "error", result.err)
		for _, request := range l.waiting {
			request.Answer(grain.Failure(domain.Unavailable("The store", time.Second)))
		}
		l.waiting = nil
		return
	}
	l.window, l.blocks = result.window, result.blocks
	late := l.late
	l.late = nil
	for _, d := range late {
		l.onDigest(d)
	}
	if len(l.waiting) > 0 {
		l.answer(c)
	}
}

// liveView reads the live view.
var liveView = grain.Declare[grain.None, analytics.Live](kindLive, "view", grain.Repeatable)

// teller hands messages to actors of this node.
type teller interface {
	Tell(kind, identity string, message any) error
}

// Presence is the client of the live actors.
type Presence struct {
	Actors grain.Caller
}

// Live returns the visitors of the last five minutes in an environment, without bots.
func (p *Presence) Live(ctx context.Context, environment domain.Environment) (analytics.Live, error) {
	return liveView.Ask(ctx, p.Actors, strconv.FormatUint(environment.Number, 10), grain.None{})
}

// Updates passes the digests of blocks to the live actors of this node.
type Updates struct {
	Actors teller
	Logger *slog.Logger
}

// Reread makes the open view of an environment on this node, if any, read the store again before it is shown next.
func (d *Updates) Reread(subscriptions *Subscriptions, environment uint64) {
	if subscriptions.set()[environment] {
		d.deliver(environment, &digest{partial: true})
	}
}

func (d *Updates) deliver(environment uint64, message *digest) {
	if err := d.Actors.Tell(kindLive, strconv.FormatUint(environment, 10), message); err != nil {
		d.Logger.Debug("digest not delivered", "error", err)
	}
}
