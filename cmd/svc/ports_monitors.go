package main

import (
	"context"
	"time"

	"svc"
	"svc/actors/alerting"
	"svc/http/outbound"
	alertstore "svc/storage/clickhouse/alerts"
	"svc/storage/clickhouse/database"
)

// monitoring holds the parts of this node that check and notify.
type monitoring struct {
	dialer   *outbound.Dialer
	schedule *alerting.Schedule
	loader   *alerting.ScheduleLoader
	checks   *alertstore.CheckWriter
	ports    *alerting.MonitorPorts

	publisher  *alerting.OpenBlockPublisher
	alertPorts *alerting.Ports
	sender     sender
}

// fillEvery is how often the schedule looks whether the node owns other partitions.
const fillEvery = 50 * time.Millisecond

// wireMonitoring makes the parts.
func (n *node) wireMonitoring() error {
	m := &n.monitoring
	m.dialer = outbound.NewDialer(n.config.MonitorAllow)
	m.schedule = alerting.NewSchedule(n.cluster, n.now, alerting.NewScheduleMetrics(n.registry), n.logger)
	m.checks = &alertstore.CheckWriter{Store: n.db.AlertStore, Interval: n.config.FlushInterval, Name: n.random.ID("run_"), Logger: n.logger}
	found := &alerting.PrefetchedStates{Generation: n.ownership.Generation}
	m.loader = &alerting.ScheduleLoader{Ownership: n.ownership, Every: fillEvery, Logger: n.logger, Load: []func(ctx context.Context) error{
		alerting.ScheduleMonitors(m.schedule, found, n.db.AllMonitors), alerting.ScheduleAlerting(m.schedule, n.db.LoadKind),
	}}
	m.ports = &alerting.MonitorPorts{
		States: n.db, Probe: outbound.NewProbe(m.dialer, n.config.PublicURL, n.now), Checks: m.checks, Schedule: m.schedule, Prefetched: found,
		Rules: n.monitorRules(), Report: n.alerts.ReportUptime, Logger: n.logger,
	}
	m.publisher = &alerting.OpenBlockPublisher{Rules: n.rules, Actors: n.cluster, Sink: n.sink, Logger: n.logger}
	return n.wireAlerting()
}

func (n *node) monitorRules() svc.MonitorRules {
	return svc.MonitorRules{Targets: n.config.MonitorAllow, LeastSeconds: int(n.config.MonitorLeast / time.Second)}
}

// monitors is http's view of the monitors: definitions are changed by their actors and
// read, with what the checks found, from the store.
type monitors struct {
	actors *alerting.Monitors
	alerts *alerting.Alerts
	db     *database.DB
	dialer *outbound.Dialer
	rules  svc.MonitorRules
	now    func() time.Time
}

func (n *node) monitorPort() monitors {
	return monitors{&alerting.Monitors{Actors: n.cluster, Random: n.random}, n.alerts, n.db, n.monitoring.dialer, n.monitorRules(), n.now}
}

func (m monitors) Monitors(ctx context.Context, ref svc.AppRef) ([]svc.MonitorRow, error) {
	return m.db.Monitors(ctx, ref, "", m.now())
}

// PutMonitor adds what the checks found to the actor's answer, and tells the rules of a
// monitor that is disabled.
func (m monitors) PutMonitor(ctx context.Context, ref svc.AppRef, id string, patch svc.MonitorPatch) (svc.MonitorRow, error) {
	row, err := m.actors.PutMonitor(ctx, ref, id, patch)
	if err != nil || id == "" {
		return row, err
	}
	if !row.Enabled {
		if err := m.alerts.MonitorStopped(ctx, ref, id); err != nil {
			return row, err
		}
	}
	stored, err := m.db.Monitors(ctx, ref, id, m.now())
	if err == nil && len(stored) == 1 {
		row.Checks30d, row.Up30d = stored[0].Checks30d, stored[0].Up30d
	}
	return row, err
}

// DeleteMonitor tells the rules of the monitor as well. Where that failed, the deletion is
// repeated, so they are told of a monitor that is gone already, too.
func (m monitors) DeleteMonitor(ctx context.Context, ref svc.AppRef, id string) error {
	err := m.actors.DeleteMonitor(ctx, ref, id)
	if err != nil && svc.CodeOf(err) != svc.CodeNotFound {
		return err
	}
	if told := m.alerts.MonitorStopped(ctx, ref, id); told != nil {
		return told
	}
	return err
}

func (m monitors) CheckMonitor(ctx context.Context, spec svc.MonitorSpec) []svc.FieldError {
	problems := spec.Validate(m.rules)
	for _, problem := range problems {
		if problem.Field == "url" {
			return problems
		}
	}
	if problem := m.dialer.CheckTarget(ctx, spec.URL); problem != nil {
		problems = append(problems, *problem)
	}
	return problems
}
