package main

import (
	"context"
	"time"

	"svc/actors/alerting"
	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/domain/monitor"
	alertingapi "svc/http/api/alerting"
	"svc/http/outbound"
	"svc/http/route"
	alertstore "svc/storage/clickhouse/alerts"
)

// alertingModule adds monitors, rules, incidents, and the channels that receive them.
func (n *node) alertingModule() module {
	m := &n.monitoring
	return module{
		name: "alerting",
		listeners: func() []pipeline.Listener {
			return []pipeline.Listener{&alerting.CountListener{Rules: n.rules, Alerts: n.alerts, Now: n.now, Logger: n.logger}}
		},
		snapshots: func() []apps.Snapshot { return []apps.Snapshot{n.rules} },
		wire:      n.wireMonitoring,
		kinds: func(node *grain.Node) []cluster.Kind {
			return []cluster.Kind{alerting.Kind(node, m.ports), alerting.MonitorKind(node, m.monitorPorts)}
		},
		routes: func() ([]route.Route, error) {
			return alertingapi.Routes(alertingapi.Ports{
				Monitors: m.monitors, Alerts: m.rules, Incidents: n.db, Channels: m.channels, Changes: m.channels, Silences: n.alerts,
				Previews: m.previews, Details: n.db, Checker: m.monitors,
			}), nil
		},
		below: func() []part {
			return []part{
				{"checks", "Monitor actors append results until the actors have stopped; then the last batch is stored.", m.checks.Run},
			}
		},
		parts: func() []part {
			return []part{
				{"open block publisher", "It calls alerting actors about the open block and has the sink store it early, so it stops before both.", m.publisher.Run},
				{"schedule", "It calls monitor and alerting actors when they are due, so it stops before them.", m.schedule.Run},
				{"schedule loader", "It fills the schedule with what the node owns, so it stops before the schedule.", m.loader.Run},
			}
		},
	}
}

// monitoring holds the parts of this node that check monitors and send notices.
type monitoring struct {
	schedule     *alerting.Schedule
	loader       *alerting.ScheduleLoader
	checks       *alertstore.CheckWriter
	publisher    *alerting.OpenBlockPublisher
	ports        *alerting.Ports
	monitorPorts *alerting.MonitorPorts

	rules    *alerting.Rules
	channels *alerting.Channels
	monitors *alerting.Monitors
	previews *alerting.Previews
}

// loadEvery is how often the schedule's loader checks whether the node owns other partitions.
const loadEvery = 50 * time.Millisecond

// wireMonitoring creates the parts.
func (n *node) wireMonitoring() error {
	box, err := n.vault.Box("channels")
	if err != nil {
		return err
	}
	m := &n.monitoring
	m.schedule = alerting.NewSchedule(n.cluster, n.now, alerting.NewScheduleMetrics(n.registry), n.logger)
	m.checks = &alertstore.CheckWriter{Store: n.db.AlertStore, Interval: n.config.FlushInterval, Name: n.random.ID("run_"), Logger: n.logger}
	m.publisher = &alerting.OpenBlockPublisher{Rules: n.rules, Actors: n.cluster, Sinks: n.sinks, Logger: n.logger}
	prefetched := &alerting.PrefetchedStates{Generation: n.ownership.Generation}
	m.loader = &alerting.ScheduleLoader{Ownership: n.ownership, Every: loadEvery, Logger: n.logger, Load: []func(ctx context.Context) error{
		alerting.ScheduleMonitors(m.schedule, prefetched, n.db.AllMonitors), alerting.ScheduleAlerting(m.schedule, n.db.LoadKind),
	}}
	dialer := outbound.NewDialer(n.config.MonitorAllow)
	mail := outbound.Mail{Server: n.config.MailServer, From: n.config.MailFrom, Now: n.now}
	sender := alerting.SealedSender{Notifier: outbound.NewNotifier(dialer, mail, n.config.URLAt(n.config.HTTPAddr), n.now), Sealer: box, Restored: n.restoredAt}
	limits := monitor.Rules{Targets: n.config.MonitorAllow, LeastSeconds: int(n.config.MonitorLeast / time.Second)}
	m.ports = &alerting.Ports{
		Actors: n.cluster, Store: n.db.Alerting(), Schedule: m.schedule, Measures: alerting.StoredMeasures{Store: n.db}, Sender: sender, Rules: n.rules,
		Started: n.now(), Flush: n.unreadInterval(), Logger: n.logger,
	}
	probe := outbound.NewProbe(dialer, n.config.PublicURL, n.now)
	m.monitorPorts = &alerting.MonitorPorts{
		States: n.db, Probe: probe, Checks: m.checks, Schedule: m.schedule, Prefetched: prefetched,
		Rules: limits, Report: n.alerts.ReportUptime, Logger: n.logger,
	}
	m.rules = &alerting.Rules{Alerts: n.alerts, Monitors: n.db, Now: n.now, Sync: n.syncSnapshot}
	m.channels = &alerting.Channels{Alerts: n.alerts, Allowed: dialer.Targets, Targets: dialer, Sealer: box, Sender: sender, Now: n.now}
	m.monitors = &alerting.Monitors{Actors: n.cluster, Random: n.random, Store: n.db, Alerts: n.alerts, Targets: dialer, Prober: probe, Rules: limits, Now: n.now}
	m.previews = &alerting.Previews{Alerts: n.alerts, Monitors: n.db, History: n.db}
	return nil
}
