package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc"
)

// monitorStore adds to the entities of a monitor what its checks led to.
type monitorStore struct {
	Entities
	states States
}

// Load returns the entities of a monitor, and its state as one more.
func (s monitorStore) Load(ctx context.Context, owner string) ([]svc.Entity, error) {
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
	payload, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encoding a monitor's state: %w", err)
	}
	return append(entities, svc.Entity{Owner: owner, Kind: kindMonitorState, ID: id, Payload: payload}), nil
}

// Monitors is the client of the monitor actors.
type Monitors struct {
	Actors caller
	Chance Chance
}

func monitorIdentity(ref svc.AppRef, id string) string { return ref.String() + "/" + id }

// PutMonitor makes a monitor, or changes the one of an id. It fails with not_found where
// there is none of the id, and with invalid_request where a rule is broken.
func (m *Monitors) PutMonitor(ctx context.Context, ref svc.AppRef, id string, patch svc.MonitorPatch) (svc.MonitorRow, error) {
	message := putMonitor{ID: id, New: id == "", Patch: patch}
	if message.New {
		message.ID = m.Chance.ID("mon_")
	}
	return ask[svc.MonitorRow](ctx, m.Actors, kindMonitor, monitorIdentity(ref, message.ID), "put", message)
}

// DeleteMonitor removes a monitor.
func (m *Monitors) DeleteMonitor(ctx context.Context, ref svc.AppRef, id string) error {
	_, err := ask[none](ctx, m.Actors, kindMonitor, monitorIdentity(ref, id), "delete", none{})
	return err
}

// FillSchedule returns what schedules every monitor that is stored, as of when it begins: a
// monitor that becomes due while the store is read is told at once. all yields monitors with
// the time of their latest checks. So whoever missed a check is checked within half an
// interval, and all are within one.
func FillSchedule(schedule *Schedule, all func(ctx context.Context, yield func(app svc.AppRef, monitor svc.Monitor, latest time.Time)) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		begun := schedule.Now()
		return all(ctx, func(app svc.AppRef, monitor svc.Monitor, latest time.Time) {
			if monitor.Enabled {
				schedule.Add(kindMonitor, monitorIdentity(app, monitor.ID), monitor.First(begun, latest), monitorPatience(&monitor))
			}
		})
	}
}
