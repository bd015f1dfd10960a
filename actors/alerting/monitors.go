package alerting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/monitor"
)

// monitorStore adds the state of a monitor to its entities.
type monitorStore struct {
	grain.Entities
	states States
	found  *PrefetchedStates
	now    func() time.Time
}

// Load returns the entities of a monitor, and its state as an additional one.
func (s monitorStore) Load(ctx context.Context, owner string) ([]domain.Entity, error) {
	if found, known := s.found.hand(owner, s.now()); known {
		return withState([]domain.Entity{found.Entity}, owner, found.Monitor.ID, found.State)
	}
	entities, err := s.Entities.Load(ctx, owner)
	if err != nil {
		return nil, err
	}
	app, id, ok := splitIdentity(owner[len(kindMonitor)+1:])
	if !ok {
		return entities, nil
	}
	state, err := s.states.MonitorState(ctx, app, id)
	if err != nil {
		return nil, fmt.Errorf("loading a monitor's state: %w", err)
	}
	return withState(entities, owner, id, state)
}

// Put stores the entities of a monitor. An entry that was prefetched before is dropped.
func (s monitorStore) Put(ctx context.Context, entities []domain.Entity, wakeups []domain.Wakeup, trail domain.Trail) error {
	defer func() {
		for i := range entities {
			s.found.touch(entities[i].Owner)
		}
	}()
	return s.Entities.Put(ctx, entities, wakeups, trail)
}

// withState adds a monitor's state to its entities.
func withState(entities []domain.Entity, owner, id string, state monitor.State) ([]domain.Entity, error) {
	payload, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encoding a monitor's state: %w", err)
	}
	return append(entities, domain.Entity{Owner: owner, Kind: kindMonitorState, ID: id, Payload: payload}), nil
}

// Monitors makes, changes, lists and deletes monitors. Their actors change the definitions. Reads use the store, with
// the results of the checks.
type Monitors struct {
	Actors grain.Caller
	Random grain.Random
	Store  MonitorStore
	// Alerts is notified of monitors that are no longer checked.
	Alerts  stopReceiver
	Targets TargetChecker
	Prober  Probe
	Rules   monitor.Rules
	Now     func() time.Time
}

// stopReceiver notifies alert rules that a monitor is no longer checked.
type stopReceiver interface {
	MonitorStopped(ctx context.Context, ref domain.AppRef, monitor string) error
}

func monitorIdentity(ref domain.AppRef, id string) string { return ref.String() + "/" + id }

// Monitors returns the monitors of an application with the results of their checks.
func (m *Monitors) Monitors(ctx context.Context, ref domain.AppRef) ([]monitor.Row, error) {
	return m.Store.Monitors(ctx, ref, "", m.Now())
}

// PutMonitor makes a monitor, or changes the one with an id. If the monitor is disabled, its incidents end. It fails
// with not_found if no monitor has the id, and with invalid_request if the definition is not valid.
func (m *Monitors) PutMonitor(ctx context.Context, ref domain.AppRef, id string, patch monitor.Patch) (monitor.Row, error) {
	message := putMonitor{ID: id, New: id == "", Patch: patch}
	if message.New {
		message.ID = m.Random.NewID(ctx, "mon_")
	}
	row, err := monitorPut.Ask(ctx, m.Actors, monitorIdentity(ref, message.ID), message)
	if err != nil || message.New {
		return row, err
	}
	if !row.Enabled {
		if err := m.Alerts.MonitorStopped(ctx, ref, id); err != nil {
			return row, err
		}
	}
	stored, err := m.Store.Monitors(ctx, ref, id, m.Now())
	if err == nil && len(stored) == 1 {
		row.Checks30d, row.Up30d = stored[0].Checks30d, stored[0].Up30d
	}
	return row, err
}

// DeleteMonitor removes a monitor and ends its incidents. It fails with not_found if it does not exist. If ending the
// incidents failed, the caller repeats the deletion. So the incidents of a monitor that is already gone are ended too.
func (m *Monitors) DeleteMonitor(ctx context.Context, ref domain.AppRef, id string) error {
	_, err := monitorDelete.Ask(ctx, m.Actors, monitorIdentity(ref, id), grain.None{})
	if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
		return err
	}
	if stopped := m.Alerts.MonitorStopped(ctx, ref, id); stopped != nil {
		return stopped
	}
	return err
}

// CheckMonitor returns every problem of a definition, also if the name in its URL resolves to a forbidden address.
func (m *Monitors) CheckMonitor(ctx context.Context, spec monitor.Spec) []domain.FieldError {
	problems := spec.Validate(m.Rules)
	for _, problem := range problems {
		if problem.Field == "url" {
			return problems
		}
	}
	if problem := m.Targets.CheckTarget(ctx, spec.URL); problem != nil {
		problems = append(problems, *problem)
	}
	return problems
}

// ScheduleMonitors returns a function that schedules every stored monitor, as of the function's start: a monitor that
// becomes due while the store is read is checked at once. So a monitor that missed a check is checked within half an
// interval, and every one within one. The states of monitors that are due soon are prefetched.
func ScheduleMonitors(schedule *Schedule, found *PrefetchedStates, all func(ctx context.Context, yield func(monitor.StoredMonitor)) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		begun := schedule.Now()
		take := found.begin(begun)
		var monitors []monitor.StoredMonitor
		soon := map[string]monitor.StoredMonitor{}
		first := func(m *monitor.StoredMonitor) time.Time { return m.Monitor.First(begun, m.State.LastCheckedAt) }
		err := all(ctx, func(m monitor.StoredMonitor) {
			if !m.Monitor.Enabled {
				return
			}
			monitors = append(monitors, m)
			if first(&m).Sub(begun) < grain.IOTime {
				soon[m.Entity.Owner] = m
			}
		})
		take(soon)
		for i := range monitors {
			m := &monitors[i]
			schedule.Add(kindMonitor, monitorIdentity(m.App, m.Monitor.ID), first(m), monitorTimeout(&m.Monitor))
		}
		return err
	}
}
