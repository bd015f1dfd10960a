package alerting

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/monitor"
)

// The monitor actor.
//
//	identity   org/app/id, two slugs and the monitor's id
//	rank       2
//	owns       the definition of the check, and the state that follows from the results
//	persists   entity monitor; checks are appended to the store in batches, and the
//	           latest of them is the state with which a later activation begins
//	woken by   calls, and the schedule of the node whenever it is due
//	limits     one check at a time
//	stops      with the ownership of its partition; if it is disabled, after ten
//	           minutes without a message
const kindMonitor = "monitor"

// monitorIdle is how long a monitor stays activated without a message. A monitor with a longer interval is loaded for
// each check.
const monitorIdle = 10 * time.Minute

// MonitorPorts holds the dependencies of a node's monitors.
type MonitorPorts struct {
	States     States
	Probe      Probe
	Checks     Checks
	Schedule   *Schedule
	Prefetched *PrefetchedStates
	Rules      monitor.Rules
	// Report is called with every check of a monitor that is down, with the first check after that, and with the first
	// check of an activation. It is repeated until it returns nil. It may be nil.
	Report func(ctx context.Context, app domain.AppRef, monitor monitor.Monitor, state monitor.State) error
	Logger *slog.Logger
}

// States reads the stored states of monitors.
type States interface {
	// MonitorState returns the state after the checks of a monitor, or the zero state if there were none.
	MonitorState(ctx context.Context, app domain.AppRef, id string) (monitor.State, error)
}

// Probe performs checks.
type Probe interface {
	Check(ctx context.Context, spec monitor.Spec) monitor.CheckResult
}

// Checks stores the checks of monitors.
type Checks interface {
	// Append queues a check; it does not wait for the store.
	Append(check monitor.Check)
}

// monitorActor is the core: the definition of the check, and the state that follows from the results.
type monitorActor struct {
	app     domain.AppRef
	rules   monitor.Rules
	monitor *monitor.Monitor
	state   monitor.State
	// begun is when a caller last asked for a check. fresh is a requested check that the shell has not taken yet.
	begun time.Time
	fresh *checked
	// changed runs after the monitor was saved or deleted.
	changed func(domain.Version)
}

type putMonitor struct {
	ID string `json:"id"`
	// New makes the monitor if it does not exist.
	New   bool          `json:"new"`
	Patch monitor.Patch `json:"patch"`
}

var monitorKind = grain.NewKind[*monitorActor](kindMonitor, 2, monitorIdle)

// The methods of the monitor actor.
var (
	monitorPut     = grain.On(monitorKind, "put", (*monitorActor).onPut)
	monitorDelete  = grain.On(monitorKind, "delete", (*monitorActor).onDelete)
	monitorBegin   = grain.On(monitorKind, "check.begin", (*monitorActor).onBegin)
	monitorChecked = grain.On(monitorKind, "check.end", (*monitorActor).onCheckedNow)
)

// Restore reads the monitor's entity, and its state as an entity of kind monitor.state.
func (m *monitorActor) Restore(entities []domain.Entity) (err error) {
	m.monitor, m.state = nil, monitor.State{}
	for _, entity := range entities {
		switch entity.Kind {
		case kindMonitor:
			var definition monitor.Monitor
			definition, err = grain.Decode[monitor.Monitor](entity)
			m.monitor = &definition
		case kindMonitorState:
			m.state, err = grain.Decode[monitor.State](entity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *monitorActor) onPut(now time.Time, p putMonitor) (grain.Outcome[monitor.Row], error) {
	next := monitor.Monitor{ID: p.ID, Spec: monitor.DefaultMonitor(), CreatedAt: now}
	switch {
	case m.monitor != nil && p.New:
		return grain.Again(monitor.Row{Monitor: *m.monitor, State: m.state}), nil
	case m.monitor != nil:
		next = *m.monitor
	case !p.New:
		return grain.Outcome[monitor.Row]{}, domain.NotFound("monitor")
	}
	next.Spec, next.UpdatedAt = next.With(p.Patch), now
	if problems := next.Validate(m.rules); len(problems) > 0 {
		return grain.Outcome[monitor.Row]{}, domain.Invalid(problems...)
	}
	m.monitor = &next
	return grain.Outcome[monitor.Row]{Answer: monitor.Row{Monitor: next, State: m.state}, Effects: grain.Effects{Writes: []grain.Write{grain.Put(kindMonitor, next.ID, next)}, After: m.changed}}, nil
}

func (m *monitorActor) onDelete(time.Time, grain.None) (grain.Outcome[grain.None], error) {
	if m.monitor == nil {
		return grain.Outcome[grain.None]{}, domain.NotFound("monitor")
	}
	id := m.monitor.ID
	m.monitor, m.state = nil, monitor.State{}
	return grain.Outcome[grain.None]{Answer: grain.None{}, Effects: grain.Effects{Writes: []grain.Write{grain.Delete(kindMonitor, id)}, After: m.changed}}, nil
}

// monitorShell is the shell of a monitor: a grain that also checks, on goroutines outside its mailbox. The node's
// workers wait for them at a stop.
type monitorShell struct {
	*grain.Grain
	core  *monitorActor
	node  *grain.Node
	ports *MonitorPorts
	// checking is set while a check is under way; pending is set while a check is due and the monitor is not loaded.
	checking, pending bool
	// life ends with the activation, by stop; both are nil before the first check.
	life context.Context //nolint:containedctx // it is the activation's
	stop context.CancelFunc
	// recovered is set once Report took a state that is not down.
	recovered bool
}

// reportTaken notifies the mailbox that Report took a state.
type reportTaken struct{ recovered bool }

// checked brings the result of a check into the mailbox.
type checked struct {
	spec   monitor.Spec
	result monitor.CheckResult
}

// MonitorKind returns the kind of monitors for the actors of a node.
func MonitorKind(node *grain.Node, ports *MonitorPorts) cluster.Kind {
	node = node.With(monitorStore{node.Store, ports.States, ports.Prefetched, node.Now})
	return cluster.Kind{
		Name: kindMonitor, Rank: monitorKind.Rank(), Idle: monitorKind.Idle(),
		New: func(identity string) actor.Actor { return newMonitor(node, ports, identity) },
	}
}

func newMonitor(node *grain.Node, ports *MonitorPorts, identity string) *monitorShell {
	app, _, _ := splitIdentity(identity)
	core := &monitorActor{app: app, rules: ports.Rules}
	shell := &monitorShell{core: core, node: node, ports: ports, Grain: grain.New(node, monitorKind, identity, core)}
	core.changed = shell.onChanged
	return shell
}

// splitIdentity splits an identity of the form org/app/id.
func splitIdentity(identity string) (app domain.AppRef, id string, ok bool) {
	parts := strings.Split(identity, "/")
	if len(parts) != 3 {
		return domain.AppRef{}, "", false
	}
	return domain.AppRef{Org: parts[0], App: parts[1]}, parts[2], true
}

// Receive handles one message of the mailbox.
func (m *monitorShell) Receive(c actor.Context) {
	switch message := c.Message().(type) {
	case *due:
		m.Touch()
		m.pending = true
		m.Load(c)
	case *checked:
		m.onChecked(c, message)
	case *reportTaken:
		m.recovered = message.recovered
	case *actor.Stopping:
		if m.stop != nil {
			m.stop()
		}
		m.Grain.Receive(c)
		return
	default:
		m.Grain.Receive(c)
	}
	if fresh := m.core.fresh; fresh != nil {
		m.core.fresh = nil
		m.apply(c, fresh)
	}
	if m.pending && m.Loaded() {
		m.pending = false
		m.check(c)
	}
}

// check begins a check, unless one is under way or the monitor is gone or disabled.
func (m *monitorShell) check(c actor.Context) {
	definition := m.core.monitor
	if definition == nil || !definition.Enabled {
		m.reschedule()
		return
	}
	if m.checking {
		return
	}
	m.checking = true
	if m.life == nil {
		m.life, m.stop = context.WithCancel(m.node.Workers.Context())
	}
	life, root, self, spec := m.life, c.ActorSystem().Root, c.Self(), definition.Spec
	m.node.Workers.Go(func(context.Context) { root.Send(self, &checked{spec, m.ports.Probe.Check(life, spec)}) })
}

// onChecked applies the result of a check. A check of a definition that was replaced meanwhile is dropped.
func (m *monitorShell) onChecked(c actor.Context, message *checked) {
	m.checking = false
	m.apply(c, message)
}

// apply folds a check into the state, then stores and reports it.
func (m *monitorShell) apply(c actor.Context, message *checked) {
	definition := m.core.monitor
	if definition == nil || definition.Spec != message.spec || message.result.At.Before(m.core.state.LastCheckedAt) {
		m.reschedule()
		return
	}
	m.core.state = m.core.state.Apply(message.spec, message.result)
	m.ports.Checks.Append(monitor.Check{App: m.core.app, Monitor: definition.ID, Result: message.result, State: m.core.state})
	m.report(c)
	m.reschedule()
}

// report calls Report with the state, outside the mailbox.
func (m *monitorShell) report(c actor.Context) {
	calm := m.core.state.Down() == 0
	if m.ports.Report == nil || calm && m.recovered {
		return
	}
	m.recovered = false
	root, self, app, definition, state := c.ActorSystem().Root, c.Self(), m.core.app, *m.core.monitor, m.core.state
	m.node.Workers.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(cluster.WithRank(ctx, monitorKind.Rank()), grain.IOTime)
		defer cancel()
		if err := m.ports.Report(ctx, app, definition, state); err != nil {
			m.ports.Logger.Warn("telling the alert rules of a monitor failed", "monitor", definition.ID, "error", err)
			return
		}
		root.Send(self, &reportTaken{calm})
	})
}

// onChanged schedules a check of a new or changed monitor at once.
func (m *monitorShell) onChanged(domain.Version) {
	m.reschedule()
	if definition := m.core.monitor; definition != nil && definition.Enabled {
		m.ports.Schedule.Set(kindMonitor, m.Identity(), m.node.Now(), monitorTimeout(definition))
	}
}

// reschedule sets in the schedule when the monitor is due next.
func (m *monitorShell) reschedule() {
	definition := m.core.monitor
	if definition == nil || !definition.Enabled {
		m.ports.Schedule.Remove(kindMonitor, m.Identity())
		return
	}
	m.ports.Schedule.Set(kindMonitor, m.Identity(), m.core.state.Next(definition, m.node.Now()), monitorTimeout(definition))
}

// monitorTimeout is how long the schedule waits for a check before it notifies the monitor again.
func monitorTimeout(m *monitor.Monitor) time.Duration {
	return m.Timeout() + m.Interval() + grain.IOTime
}

// kindMonitorState is the kind of the entity that carries a monitor's state; it is made at a load and never
// stored.
const kindMonitorState = "monitor.state"
