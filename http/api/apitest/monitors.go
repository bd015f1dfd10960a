package apitest

import (
	"context"
	"slices"

	"svc/domain"
	"svc/domain/monitor"
)

// rules are the rules of the fakes: public addresses only.
func rules() monitor.Rules { return monitor.Rules{LeastSeconds: 30} }

// Monitors implements alerting.Monitors.
func (m *Memory) Monitors(_ context.Context, ref domain.AppRef) ([]monitor.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].monitors), nil
}

// PutMonitor implements alerting.Monitors.
func (m *Memory) PutMonitor(_ context.Context, ref domain.AppRef, id string, patch monitor.Patch) (monitor.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	place := slices.IndexFunc(held.monitors, func(row monitor.Row) bool { return row.ID == id })
	row := monitor.Row{Monitor: monitor.Monitor{Spec: monitor.DefaultMonitor(), CreatedAt: m.now()}}
	switch {
	case place >= 0:
		row = held.monitors[place]
	case id != "":
		return monitor.Row{}, domain.NotFound("monitor")
	}
	row.Spec, row.UpdatedAt = row.With(patch), m.now()
	if problems := row.Validate(rules()); len(problems) > 0 {
		return monitor.Row{}, domain.Invalid(problems...)
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
func (m *Memory) DeleteMonitor(_ context.Context, ref domain.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	var err error
	held.monitors, err = without(held.monitors, "monitor", func(row monitor.Row) bool { return row.ID == id })
	return err
}

// CheckMonitor implements alerting.Monitors.
func (m *Memory) CheckMonitor(_ context.Context, spec monitor.Spec) []domain.FieldError {
	return spec.Validate(rules())
}
