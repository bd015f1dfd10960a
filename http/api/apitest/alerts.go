package apitest

import (
	"context"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/monitor"
)

// Rules implements alerting.Alerts.
func (m *Memory) Rules(_ context.Context, ref domain.AppRef) ([]alert.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].rules), nil
}

// PutRule implements alerting.Alerts.
func (m *Memory) PutRule(_ context.Context, ref domain.AppRef, id string, env domain.Environment, patch alert.Patch) (alert.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	place := slices.IndexFunc(held.rules, func(row alert.Row) bool { return row.ID == id })
	row := alert.Row{Rule: alert.Rule{Spec: alert.DefaultAlert(), Environment: env.Slug, Number: env.Number, CreatedAt: m.now()}, Seen: alert.State{State: alert.OK}}
	switch {
	case place >= 0:
		if row = held.rules[place]; env.Slug != "" && env.Slug != row.Environment {
			return alert.Row{}, domain.Invalid(alert.EnvironmentFixed("env", row.Environment))
		}
	case id != "":
		return alert.Row{}, domain.NotFound("alert rule")
	}
	row.Spec, row.UpdatedAt = row.With(patch), m.now()
	if c := patch.Condition; c != nil && c.MonitorID != "" && !slices.ContainsFunc(held.monitors, func(row monitor.Row) bool { return row.ID == c.MonitorID }) {
		return alert.Row{}, domain.Invalid(alert.UnknownMonitor(c.MonitorID))
	}
	problems := append(row.Validate(), row.CheckChannels(func(id string) bool {
		return slices.ContainsFunc(held.channels, func(c alert.Channel) bool { return c.ID == id })
	})...)
	if len(problems) > 0 {
		return alert.Row{}, domain.Invalid(problems...)
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
func (m *Memory) DeleteRule(_ context.Context, ref domain.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	var err error
	held.rules, err = without(held.rules, "alert rule", func(row alert.Row) bool { return row.ID == id })
	return err
}

// Acknowledge implements alerting.Alerts; nothing fires in the memory.
func (m *Memory) Acknowledge(context.Context, domain.AppRef, string, domain.LedgerActor) (alert.Incident, error) {
	return alert.Incident{}, domain.NotFound("incident")
}

// Resolve implements alerting.Alerts; nothing fires in the memory.
func (m *Memory) Resolve(context.Context, domain.AppRef, string, domain.LedgerActor) (alert.Incident, error) {
	return alert.Incident{}, domain.NotFound("incident")
}

// Incidents implements alerting.Incidents; nothing fires in the memory.
func (m *Memory) Incidents(context.Context, alert.IncidentQuery) ([]alert.Incident, bool, error) {
	return nil, false, nil
}

// Channels implements alerting.Channels.
func (m *Memory) Channels(_ context.Context, ref domain.AppRef) ([]alert.Channel, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.apps[ref].channels), nil
}

// CreateChannel implements alerting.Channels.
func (m *Memory) CreateChannel(_ context.Context, ref domain.AppRef, spec alert.ChannelSpec) (alert.Channel, domain.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if problems := spec.Validate(domain.Targets{}); len(problems) > 0 {
		return alert.Channel{}, "", domain.Invalid(problems...)
	}
	held := m.apps[ref]
	var secret domain.Secret
	if spec.Kind == alert.ChannelWebhook {
		secret = domain.MintSecret("whsec_", m.random())
	}
	held.channels = append(held.channels, alert.Channel{ID: m.newID("chn"), Name: spec.Name, Kind: spec.Kind, CreatedAt: m.now()})
	return held.channels[len(held.channels)-1], secret, nil
}

// DeleteChannel implements alerting.Channels.
func (m *Memory) DeleteChannel(_ context.Context, ref domain.AppRef, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := m.apps[ref]
	for _, rule := range held.rules {
		if slices.Contains(rule.ChannelIDs, id) {
			return &domain.Error{Code: domain.CodeConflict, Reason: "channel_in_use", Message: "The alert rule " + rule.ID + " names the channel; change it first."}
		}
	}
	var err error
	held.channels, err = without(held.channels, "channel", func(c alert.Channel) bool { return c.ID == id })
	return err
}

// TestChannel implements alerting.Channels; the memory has no mail server and no network.
func (m *Memory) TestChannel(_ context.Context, ref domain.AppRef, id string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.ContainsFunc(m.apps[ref].channels, func(c alert.Channel) bool { return c.ID == id }) {
		return "", domain.NotFound("channel")
	}
	return "no mail server is configured", nil
}

// watch implements the ports of silences, previews, single monitors and incidents.
type watch struct{ *Memory }

// Silences implements alerting.Silences.
func (w watch) Silences(_ context.Context, ref domain.AppRef) ([]alert.Silence, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.apps[ref].silences), nil
}

// PutSilence implements alerting.Silences.
func (w watch) PutSilence(_ context.Context, ref domain.AppRef, id string, patch alert.SilencePatch, by domain.LedgerActor) (alert.Silence, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.apps[ref]
	place := slices.IndexFunc(held.silences, func(s alert.Silence) bool { return s.ID == id })
	silence := alert.Silence{SilenceSpec: alert.SilenceSpec{StartsAt: w.now()}, CreatedAt: w.now(), CreatedBy: by}
	switch {
	case place >= 0:
		silence = held.silences[place]
	case id != "":
		return alert.Silence{}, domain.NotFound("silence")
	}
	silence.SilenceSpec, silence.UpdatedAt = silence.With(patch), w.now()
	problems := silence.Validate()
	if rule := silence.RuleID; rule != "" && !slices.ContainsFunc(held.rules, func(row alert.Row) bool { return row.ID == rule }) {
		problems = append(problems, domain.FieldError{Field: "ruleId", Code: "unknown_rule", Message: "There is no alert rule of this id."})
	}
	if len(problems) > 0 {
		return alert.Silence{}, domain.Invalid(problems...)
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
func (w watch) DeleteSilence(_ context.Context, ref domain.AppRef, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.apps[ref]
	var err error
	held.silences, err = without(held.silences, "silence", func(s alert.Silence) bool { return s.ID == id })
	return err
}

// Preview implements alerting.Previews; the memory has no data on which a rule could fire.
func (w watch) Preview(_ context.Context, ref domain.AppRef, id string, env domain.Environment, patch alert.Patch, now time.Time) (alert.Preview, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rule := alert.Rule{Spec: alert.DefaultAlert(), Environment: env.Slug, Number: env.Number}
	if id != "" {
		place := slices.IndexFunc(w.apps[ref].rules, func(row alert.Row) bool { return row.ID == id })
		if place < 0 {
			return alert.Preview{}, domain.NotFound("alert rule")
		}
		rule = w.apps[ref].rules[place].Rule
	}
	if rule.Spec = rule.With(patch); rule.Name == "" {
		rule.Name = "Preview"
	}
	if problems := rule.Validate(); len(problems) > 0 {
		return alert.Preview{}, domain.Invalid(problems...)
	}
	return rule.Preview(now.Add(-alert.PreviewTime), now, nil), nil
}

// Monitor implements alerting.Checker.
func (w watch) Monitor(_ context.Context, ref domain.AppRef, id string) (monitor.Row, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range w.apps[ref].monitors {
		if row.ID == id {
			return row, nil
		}
	}
	return monitor.Row{}, domain.NotFound("monitor")
}

// CheckNow implements alerting.Checker; the memory has no network.
func (w watch) CheckNow(ctx context.Context, ref domain.AppRef, id string) (monitor.Check, error) {
	_, err := w.Monitor(ctx, ref, id)
	return monitor.Check{App: ref, Monitor: id}, err
}

// Incident implements alerting.Details; nothing fires in the memory.
func (watch) Incident(context.Context, domain.AppRef, string) (alert.Incident, []alert.NoticeRecord, error) {
	return alert.Incident{}, nil, domain.NotFound("incident")
}

// MonitorDays implements alerting.Details; the memory checks nothing.
func (watch) MonitorDays(_ context.Context, _ domain.AppRef, _ string, days []time.Time) ([]monitor.Day, error) {
	out := make([]monitor.Day, len(days)-1)
	for i := range out {
		out[i].Day = days[i]
	}
	return out, nil
}

// CheckSeries implements alerting.Details.
func (watch) CheckSeries(_ context.Context, _ domain.AppRef, _ string, buckets []time.Time, _ time.Time) ([]monitor.CheckBucket, error) {
	out := make([]monitor.CheckBucket, len(buckets))
	for i := range out {
		out[i].T = buckets[i]
	}
	return out, nil
}

// FailedChecks implements alerting.Details.
func (watch) FailedChecks(context.Context, monitor.CheckQuery) ([]monitor.Check, bool, error) {
	return nil, false, nil
}

// UpdateChannel implements alerting.ChannelChanges; the memory stores no addresses.
func (w watch) UpdateChannel(_ context.Context, ref domain.AppRef, id string, patch alert.ChannelPatch) (alert.Channel, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.apps[ref]
	place := slices.IndexFunc(held.channels, func(c alert.Channel) bool { return c.ID == id })
	if place < 0 {
		return alert.Channel{}, domain.NotFound("channel")
	}
	if patch.Name != nil {
		held.channels[place].Name = *patch.Name
	}
	return held.channels[place], nil
}
