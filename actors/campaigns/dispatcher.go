package campaigns

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
)

// again is the pause between a failed run and the next one.
const again = time.Second

// dispatcher is the shell of a sender: a grain with a run that works for it, outside its mailbox.
type dispatcher struct {
	*grain.Grain
	core  *sender
	node  *grain.Node
	ports *Ports

	// nudge makes the run read the campaign; it is nil if no run works.
	nudge chan struct{}
	stop  context.CancelFunc
	timer *time.Timer
	// pausing says that the last run failed a moment ago; ended says that the activation ends.
	pausing, ended bool
}

// Messages of the shell to itself.
type (
	look  struct{}
	ended struct{ failed bool }
)

func senderRow(node *grain.Node, ports *Ports) cluster.Kind {
	return cluster.Kind{Name: kindSender, Rank: senderKind.Rank(), Idle: senderKind.Idle(), New: func(identity string) actor.Actor {
		core := &sender{identity: identity}
		return &dispatcher{Grain: grain.New(node, senderKind, identity, core), core: core, node: node, ports: ports}
	}}
}

// refOf returns the application and the campaign of an identity.
func refOf(identity string) (ref domain.AppRef, id string) {
	parts := strings.SplitN(identity, "/", 3)
	return domain.AppRef{Org: parts[0], App: parts[1]}, parts[2]
}

// Receive handles one message of the mailbox.
func (d *dispatcher) Receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *look:
		d.pausing = false
	case *ended:
		d.nudge = nil
		if message.failed {
			d.pausing = true
			root, self := c.ActorSystem().Root, c.Self()
			d.timer = time.AfterFunc(again, func() { root.Send(self, &look{}) })
			return
		}
	case *actor.Stopping:
		d.ended = true
		if d.stop != nil {
			d.stop()
		}
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

// pump starts a run if the sender is armed. If a run works and was nudged, it makes the run read the campaign again.
func (d *dispatcher) pump(c actor.Context) {
	if d.ended || d.pausing || !d.Loaded() || d.core.armed.IsZero() {
		return
	}
	if d.nudge != nil {
		if d.core.nudged {
			d.core.nudged = false
			select {
			case d.nudge <- struct{}{}:
			default:
			}
		}
		return
	}
	ctx, stop := d.ports.Runs.begin()
	if ctx == nil {
		return // the node stops
	}
	d.stop, d.nudge, d.core.nudged = stop, make(chan struct{}, 1), false
	ref, id := refOf(d.Identity())
	r := &run{
		ports: d.ports, now: d.node.Now, ref: ref, id: id, identity: d.Identity(), name: d.ports.Random.ID("run_"), armed: d.core.armed, nudge: d.nudge,
		chunks: map[uint32]*openedChunk{}, jobs: make(chan job), asks: make(chan ask), fetched: make(chan fetchedChunk, 1), closed: make(chan closedChunk, maxOpenChunks),
	}
	root, self := c.ActorSystem().Root, c.Self()
	d.node.Workers.Go(func(context.Context) {
		defer d.ports.Runs.end()
		defer stop()
		err := r.run(ctx)
		if err != nil && ctx.Err() == nil {
			d.ports.Logger.Warn("sending a campaign was interrupted", "campaign", id, "error", err)
		}
		root.Send(self, &ended{failed: err != nil})
	})
}

// Runs are the runs of a node. They end before the node's actors, to which they report the results of their recipients.
type Runs struct {
	ctx  context.Context //nolint:containedctx // it is the node's; a run outlives the message that began it
	stop context.CancelFunc

	mu      sync.Mutex
	stopped bool
	working sync.WaitGroup
}

// NewRuns returns an empty set of runs.
func NewRuns() *Runs {
	ctx, stop := context.WithCancel(context.Background())
	return &Runs{ctx: ctx, stop: stop}
}

// begin returns the context of a run, or nil if no run may begin any more. Each run that began must call end once.
func (r *Runs) begin() (context.Context, context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return nil, nil
	}
	r.working.Add(1)
	return context.WithCancel(r.ctx)
}

func (r *Runs) end() { r.working.Done() }

// Run ends the runs when ctx ends, and returns once they have ended.
func (r *Runs) Run(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.stop()
	r.working.Wait()
	return nil
}
