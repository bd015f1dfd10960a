package apitest

import (
	"context"
	"slices"

	"svc"
)

// rules are the rules of the fakes: public addresses only.
func rules() svc.MonitorRules { return svc.MonitorRules{LeastSeconds: 30} }

// Monitors implements alerting.Monitors.
func (m *Memory) Monitors(_ context.Context, ref svc.AppRef) ([]svc.MonitorRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].monitors), nil
}

// PutMonitor implements alerting.Monitors.
func (m *Memory) PutMonitor(_ context.Context, ref svc.AppRef, id string, patch svc.MonitorPatch) (svc.MonitorRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	place := slices.IndexFunc(held.monitors, func(row svc.MonitorRow) bool { return row.ID == id })
	row := svc.MonitorRow{Monitor: svc.Monitor{MonitorSpec: svc.DefaultMonitor(), CreatedAt: m.now()}}
	switch {
	case place >= 0:
		row = held.monitors[place]
	case id != "":
		return svc.MonitorRow{}, svc.NotFound("monitor")
	}
	row.MonitorSpec, row.UpdatedAt = row.With(patch), m.now()
	if problems := row.Validate(rules()); len(problems) > 0 {
		return svc.MonitorRow{}, svc.Invalid(problems...)
	}
	if place >= 0 {
		held.monitors[place] = row
		return row, nil
	}
	row.ID = m.newID("mon")
	held.monitors = append(held.monitors, row)
	return row, nil
}

// DeleteMonitor implements alerting.Monitors.
func (m *Memory) DeleteMonitor(_ context.Context, ref svc.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	var err error
	held.monitors, err = without(held.monitors, "monitor", func(row svc.MonitorRow) bool { return row.ID == id })
	return err
}

// CheckMonitor implements alerting.Monitors.
func (m *Memory) CheckMonitor(_ context.Context, spec svc.MonitorSpec) []svc.FieldError {
	return spec.Validate(rules())
}
