package actors

import (
	"context"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc"
	"svc/cluster"
)

// The live actor.
//
//	identity   the number of an environment
//	rank       1
//	owns       who was there in the last five minutes
//	persists   nothing: the window is read from the store when it is first asked
//	           for, and grows by the digest of every block stored since
//	woken by   calls and digests
//	limits     memory grows with the visitors of five minutes
//	stops      after two minutes without a question; nobody gathers digests then
const kindLive = "live"

// Visits is what the store knows of the last minutes.
type Visits interface {
	// LiveVisits yields the events of an environment since an instant, bots
	// excluded.
	LiveVisits(ctx context.Context, environment uint64, since time.Time, yield func(svc.LiveVisit) bool) error
}

// Watchers is which environments somebody watches on this node. The sink
// gathers digests for these only.
type Watchers struct {
	mu      sync.Mutex
	current atomic.Pointer[map[uint64]bool]
}

// set returns the present set, which is never changed.
func (w *Watchers) set() map[uint64]bool {
	if current := w.current.Load(); current != nil {
		return *current
	}
	return nil
}

func (w *Watchers) change(environment uint64, watched bool) {
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

// digest is what one stored block says of one environment. It is partial where
// the block was begun before anybody watched: the window must be read anew.
type digest struct {
	visits  []svc.LiveVisit
	partial bool
}

type live struct {
	environment uint64
	window      *svc.LiveWindow
	visits      Visits
	watchers    *Watchers
	now         func() time.Time
	idle        time.Duration
	logger      *slog.Logger

	loading bool
	// stale says that a partial digest came, or any while the window was read.
	stale   bool
	waiting []*cluster.Request
	asked   time.Time
}

// liveLoaded brings a window that was read from the store.
type liveLoaded struct {
	window *svc.LiveWindow
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

// answer answers all who wait, or has the window read first.
func (l *live) answer(c actor.Context) {
	if l.loading {
		return
	}
	if l.window == nil || l.stale {
		l.load(c)
		return
	}
	view := success(l.window.At(l.now()))
	for _, request := range l.waiting {
		request.Answer(view)
	}
	l.waiting = nil
}

func (l *live) load(c actor.Context) {
	l.loading, l.stale = true, false
	root, self, since := c.ActorSystem().Root, c.Self(), l.now().Add(-svc.LiveSeconds*time.Second)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), ioTime)
		defer cancel()
		window := svc.NewLiveWindow()
		err := l.visits.LiveVisits(ctx, l.environment, since, func(visit svc.LiveVisit) bool {
			window.Add(visit)
			return true
		})
		root.Send(self, &liveLoaded{window, err})
	}()
}

// onDigest adds a block's visits. While the window is being read nobody can say
// whether the block is in it, so it is read once more.
func (l *live) onDigest(d *digest) {
	switch {
	case d.partial || l.loading:
		l.stale = true
	case l.window != nil:
		for _, visit := range d.visits {
			l.window.Add(visit)
		}
	}
}

// onLoaded takes over a window. One that is out of date is shown all the same:
// it misses at most the block that was stored while it was read, and the next
// question reads it again.
func (l *live) onLoaded(c actor.Context, result *liveLoaded) {
	l.loading = false
	if result.err != nil {
		l.logger.Warn("reading the live window failed", "error", result.err)
		for _, request := range l.waiting {
			request.Answer(failure(svc.Unavailable("The store", time.Second)))
		}
		l.waiting = nil
		return
	}
	stale := l.stale
	l.window, l.stale = result.window, false
	l.answer(c)
	l.stale = stale
}

// Presence is the client of the live actors.
type Presence struct {
	Actors caller
}

// Live returns who was there in the last five minutes of an environment, bots
// excluded.
func (p *Presence) Live(ctx context.Context, environment svc.Environment) (svc.Live, error) {
	return ask[svc.Live](ctx, p.Actors, kindLive, strconv.FormatUint(environment.Number, 10), "view", none{})
}

// Digests hands what blocks say to the live actors of this node.
type Digests struct {
	Actors teller
	Logger *slog.Logger
}

func (d *Digests) deliver(environment uint64, message *digest) {
	if err := d.Actors.Tell(kindLive, strconv.FormatUint(environment, 10), message); err != nil {
		d.Logger.Debug("digest not delivered", "error", err)
	}
}
