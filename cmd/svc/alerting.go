package main

import (
	"svc/actors/alerting"
	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/cluster"
	alertingapi "svc/http/api/alerting"
	"svc/http/route"
)

// alertingModule is monitors, rules, incidents, and the channels that they are sent to.
func (n *node) alertingModule() module {
	m := &n.monitoring
	return module{
		name: "alerting",
		listeners: func() []pipeline.Listener {
			return []pipeline.Listener{&alerting.CountListener{Rules: n.rules, Alarms: n.alarms, Now: n.now, Logger: n.logger}}
		},
		snapshots: func() []apps.Snapshot { return []apps.Snapshot{n.rules} },
		wire:      func() error { return n.wireMonitoring(n.rules, n.alarms) },
		kinds: func(node *grain.Node) []cluster.Kind {
			return []cluster.Kind{alerting.Kind(node, m.alertPorts), alerting.MonitorKind(node, m.ports)}
		},
		join: func() error { m.join(n.cluster); return nil },
		routes: func() ([]route.Route, error) {
			return alertingapi.Routes(alertingapi.Ports{Monitors: n.monitorPort(), Alerts: n.alertPort(), Incidents: n.db, Channels: n.alertPort()}), nil
		},
		below: func() []part {
			return []part{
				{"checks", "Monitor actors append results until the actors have stopped; then the last batch is stored.", m.checks.Run},
			}
		},
		parts: func() []part {
			return []part{
				{"lookout", "It calls alerting actors about the open block and has the sink store it early, so it stops before both.", m.lookout.Run},
				{"schedule", "It calls monitor and alerting actors when they are due, so it stops before them.", m.schedule.Run},
				{"filler of the schedule", "It fills the schedule with what the node owns, so it stops before the schedule.", m.filler.Run},
			}
		},
	}
}
