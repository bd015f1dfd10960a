package apitest

import (
	"context"
	"slices"
	"time"

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
	var err error
	held.rules, err = without(held.rules, "alert rule", func(row svc.AlertRow) bool { return row.ID == id })
	return err
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
	var err error
	held.channels, err = without(held.channels, "channel", func(c svc.Channel) bool { return c.ID == id })
	return err
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

// watch implements the ports of silences, previews, single monitors and incidents.
type watch struct{ *Memory }

// Silences implements alerting.Silences.
func (w watch) Silences(_ context.Context, ref svc.AppRef) ([]svc.Silence, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.apps[ref].silences), nil
}

// PutSilence implements alerting.Silences.
func (w watch) PutSilence(_ context.Context, ref svc.AppRef, id string, patch svc.SilencePatch, by svc.LedgerActor) (svc.Silence, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.apps[ref]
	place := slices.IndexFunc(held.silences, func(s svc.Silence) bool { return s.ID == id })
	silence := svc.Silence{SilenceSpec: svc.SilenceSpec{StartsAt: w.now()}, CreatedAt: w.now(), CreatedBy: by}
	switch {
	case place >= 0:
		silence = held.silences[place]
	case id != "":
		return svc.Silence{}, svc.NotFound("silence")
	}
	silence.SilenceSpec, silence.UpdatedAt = silence.With(patch), w.now()
	problems := silence.Validate()
	if rule := silence.RuleID; rule != "" && !slices.ContainsFunc(held.rules, func(row svc.AlertRow) bool { return row.ID == rule }) {
		problems = append(problems, svc.FieldError{Field: "ruleId", Code: "unknown_rule", Message: "There is no alert rule of this id."})
	}
	if len(problems) > 0 {
		return svc.Silence{}, svc.Invalid(problems...)
	}
	if place >= 0 {
		held.silences[place] = silence
		return silence, nil
	}
	silence.ID = w.newID("sil")
	held.silences = append(held.silences, silence)
	return silence, nil
}

// DeleteSilence implements alerting.Silences.
func (w watch) DeleteSilence(_ context.Context, ref svc.AppRef, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.apps[ref]
	var err error
	held.silences, err = without(held.silences, "silence", func(s svc.Silence) bool { return s.ID == id })
	return err
}

// Preview implements alerting.Previews; the memory has no data on which a rule could fire.
func (w watch) Preview(_ context.Context, ref svc.AppRef, id string, env svc.Environment, patch svc.AlertPatch, now time.Time) (svc.AlertPreview, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rule := svc.AlertRule{AlertSpec: svc.DefaultAlert(), Environment: env.Slug, Number: env.Number}
	if id != "" {
		place := slices.IndexFunc(w.apps[ref].rules, func(row svc.AlertRow) bool { return row.ID == id })
		if place < 0 {
			return svc.AlertPreview{}, svc.NotFound("alert rule")
		}
		rule = w.apps[ref].rules[place].AlertRule
	}
	if rule.AlertSpec = rule.With(patch); rule.Name == "" {
		rule.Name = "Preview"
	}
	if problems := rule.Validate(); len(problems) > 0 {
		return svc.AlertPreview{}, svc.Invalid(problems...)
	}
	return rule.Preview(now.Add(-svc.PreviewTime), now, nil), nil
}

// Monitor implements alerting.Checker.
func (w watch) Monitor(_ context.Context, ref svc.AppRef, id string) (svc.MonitorRow, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range w.apps[ref].monitors {
		if row.ID == id {
			return row, nil
		}
	}
	return svc.MonitorRow{}, svc.NotFound("monitor")
}

// CheckNow implements alerting.Checker; the memory has no network.
func (w watch) CheckNow(ctx context.Context, ref svc.AppRef, id string) (svc.Check, error) {
	_, err := w.Monitor(ctx, ref, id)
	return svc.Check{App: ref, Monitor: id}, err
}

// Incident implements alerting.Details; nothing fires in the memory.
func (watch) Incident(context.Context, svc.AppRef, string) (svc.Incident, []svc.NoticeRecord, error) {
	return svc.Incident{}, nil, svc.NotFound("incident")
}

// MonitorDays implements alerting.Details; the memory checks nothing.
func (watch) MonitorDays(_ context.Context, _ svc.AppRef, _ string, days []time.Time) ([]svc.MonitorDay, error) {
	out := make([]svc.MonitorDay, len(days)-1)
	for i := range out {
		out[i].Day = days[i]
	}
	return out, nil
}

// CheckSeries implements alerting.Details.
func (watch) CheckSeries(_ context.Context, _ svc.AppRef, _ string, buckets []time.Time, _ time.Time) ([]svc.CheckBucket, error) {
	out := make([]svc.CheckBucket, len(buckets))
	for i := range out {
		out[i].T = buckets[i]
	}
	return out, nil
}

// FailedChecks implements alerting.Details.
func (watch) FailedChecks(context.Context, svc.CheckQuery) ([]svc.Check, bool, error) {
	return nil, false, nil
}

// UpdateChannel implements alerting.ChannelChanges; the memory stores no addresses.
func (w watch) UpdateChannel(_ context.Context, ref svc.AppRef, id string, patch svc.ChannelPatch) (svc.Channel, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.apps[ref]
	place := slices.IndexFunc(held.channels, func(c svc.Channel) bool { return c.ID == id })
	if place < 0 {
		return svc.Channel{}, svc.NotFound("channel")
	}
	if patch.Name != nil {
		held.channels[place].Name = *patch.Name
	}
	return held.channels[place], nil
}
