package apitest

import (
	"context"
	"slices"

	"svc"
)

// Rules implements alerting.Alerts.
func (m *Memory) Rules(_ context.Context, ref svc.AppRef) ([]svc.AlertRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].rules), nil
}

// PutRule implements alerting.Alerts.
func (m *Memory) PutRule(_ context.Context, ref svc.AppRef, id string, env svc.Environment, patch svc.AlertPatch) (svc.AlertRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	place := slices.IndexFunc(held.rules, func(row svc.AlertRow) bool { return row.ID == id })
	row := svc.AlertRow{AlertRule: svc.AlertRule{AlertSpec: svc.DefaultAlert(), Environment: env.Slug, Number: env.Number, CreatedAt: m.now()}, Seen: svc.AlertState{State: svc.AlertOK}}
	switch {
	case place >= 0:
		if row = held.rules[place]; env.Slug != "" && env.Slug != row.Environment {
			return svc.AlertRow{}, svc.Invalid(svc.EnvironmentFixed("env", row.Environment))
		}
	case id != "":
		return svc.AlertRow{}, svc.NotFound("alert rule")
	}
	row.AlertSpec, row.UpdatedAt = row.With(patch), m.now()
	if c := patch.Condition; c != nil && c.MonitorID != "" && !slices.ContainsFunc(held.monitors, func(row svc.MonitorRow) bool { return row.ID == c.MonitorID }) {
		return svc.AlertRow{}, svc.Invalid(svc.UnknownMonitor(c.MonitorID))
	}
	problems := append(row.Validate(), row.CheckChannels(func(id string) bool {
		return slices.ContainsFunc(held.channels, func(c svc.Channel) bool { return c.ID == id })
	})...)
	if len(problems) > 0 {
		return svc.AlertRow{}, svc.Invalid(problems...)
	}
	if place >= 0 {
		held.rules[place] = row
		return row, nil
	}
	row.ID = m.newID("rul")
	held.rules = append(held.rules, row)
	return row, nil
}

// DeleteRule implements alerting.Alerts.
func (m *Memory) DeleteRule(_ context.Context, ref svc.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	kept := slices.DeleteFunc(slices.Clone(held.rules), func(row svc.AlertRow) bool { return row.ID == id })
	if len(kept) == len(held.rules) {
		return svc.NotFound("alert rule")
	}
	held.rules = kept
	return nil
}

// Acknowledge implements alerting.Alerts; nothing fires in the memory.
func (m *Memory) Acknowledge(context.Context, svc.AppRef, string, svc.LedgerActor) (svc.Incident, error) {
	return svc.Incident{}, svc.NotFound("incident")
}

// Resolve implements alerting.Alerts; nothing fires in the memory.
func (m *Memory) Resolve(context.Context, svc.AppRef, string, svc.LedgerActor) (svc.Incident, error) {
	return svc.Incident{}, svc.NotFound("incident")
}

// Incidents implements alerting.Incidents; nothing fires in the memory.
func (m *Memory) Incidents(context.Context, svc.IncidentQuery) ([]svc.Incident, bool, error) {
	return nil, false, nil
}

// Channels implements alerting.Channels.
func (m *Memory) Channels(_ context.Context, ref svc.AppRef) ([]svc.Channel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].channels), nil
}

// CreateChannel implements alerting.Channels.
func (m *Memory) CreateChannel(_ context.Context, ref svc.AppRef, spec svc.ChannelSpec) (svc.Channel, svc.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if problems := spec.Validate(svc.Targets{}); len(problems) > 0 {
		return svc.Channel{}, "", svc.Invalid(problems...)
	}
	held := m.apps[ref]
	var secret svc.Secret
	if spec.Kind == svc.ChannelWebhook {
		secret = svc.MintSecret("whsec_", m.random())
	}
	held.channels = append(held.channels, svc.Channel{ID: m.newID("chn"), Name: spec.Name, Kind: spec.Kind, CreatedAt: m.now()})
	return held.channels[len(held.channels)-1], secret, nil
}

// DeleteChannel implements alerting.Channels.
func (m *Memory) DeleteChannel(_ context.Context, ref svc.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	for _, rule := range held.rules {
		if slices.Contains(rule.ChannelIDs, id) {
			return &svc.Error{Code: svc.CodeConflict, Reason: "channel_in_use", Message: "The alert rule " + rule.ID + " names the channel; change it first."}
		}
	}
	kept := slices.DeleteFunc(slices.Clone(held.channels), func(c svc.Channel) bool { return c.ID == id })
	if len(kept) == len(held.channels) {
		return svc.NotFound("channel")
	}
	held.channels = kept
	return nil
}

// TestChannel implements alerting.Channels; the memory has no mail server and no network.
func (m *Memory) TestChannel(_ context.Context, ref svc.AppRef, id string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.ContainsFunc(m.apps[ref].channels, func(c svc.Channel) bool { return c.ID == id }) {
		return "", svc.NotFound("channel")
	}
	return "no mail server is configured", nil
}
