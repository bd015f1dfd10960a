package main

import (
	"context"
	"time"

	"svc"
	"svc/actors/alerting"
	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/cluster"
	alertingapi "svc/http/api/alerting"
	"svc/http/route"
	"svc/storage/clickhouse/database"
)

// alertingModule is monitors, rules, incidents, and the channels that they are sent to.
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
			return []cluster.Kind{alerting.Kind(node, m.alertPorts), alerting.MonitorKind(node, m.ports)}
		},
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
				{"open block publisher", "It calls alerting actors about the open block and has the sink store it early, so it stops before both.", m.publisher.Run},
				{"schedule", "It calls monitor and alerting actors when they are due, so it stops before them.", m.schedule.Run},
				{"schedule loader", "It fills the schedule with what the node owns, so it stops before the schedule.", m.loader.Run},
			}
		},
	}
}

// measures measures what the store holds.
type measures struct{ db *database.DB }

// Read returns what counters count within their windows. Counters that differ in their words
// alone are answered by one query, unless they ask for labels.
func (m measures) Read(ctx context.Context, counters []svc.AlertCounter, at time.Time, since uint64) []alerting.ReadCounter {
	out := make([]alerting.ReadCounter, len(counters))
	together := map[svc.AlertCounter][]int{}
	for i, counter := range counters {
		if counter.Labels == "" {
			counter.Word = ""
		}
		together[counter] = append(together[counter], i)
	}
	for counter, places := range together {
		words := make([]string, len(places))
		for n, i := range places {
			words[n] = counters[i].Word
		}
		read := m.db.AlertVolumes
		if counter.Kind == svc.AlertMetric {
			read = m.db.AlertPoints
		}
		found, err := read(ctx, counter, words, at, since)
		for _, i := range places {
			window := found[counters[i].Word]
			out[i] = alerting.ReadCounter{Slots: window.Slots, Blocks: window.Blocks, Err: err}
		}
	}
	return out
}

// Measure returns what the conditions of rules that divide errors by sessions come to in the
// windows that end at an instant (contract 62); by no sessions errors cannot be divided.
// Rules of the same window are answered by one query.
func (m measures) Measure(ctx context.Context, rules []svc.AlertRule, at time.Time) []alerting.Measured {
	out := make([]alerting.Measured, len(rules))
	together := map[sameWindow][]int{}
	for i := range rules {
		key := sameWindow{rules[i].Number, rules[i].Window()}
		together[key] = append(together[key], i)
	}
	for key, places := range together {
		volumes, err := m.db.ErrorVolumes(ctx, key.environment, at.Add(-key.window), at)
		var all, sessions uint64
		for _, n := range volumes {
			all += n
		}
		if err == nil {
			volumes[""] = all
			sessions, err = m.db.SessionVolume(ctx, key.environment, at.Add(-key.window), at)
		}
		for _, i := range places {
			switch {
			case err != nil:
				out[i].Err = err
			case sessions > 0:
				out[i] = alerting.Measured{Value: float64(volumes[rules[i].Condition.Level]) / float64(sessions), Known: true}
			}
		}
	}
	return out
}

// sameWindow is the key of rules that one query answers.
type sameWindow struct {
	environment uint64
	window      time.Duration
}
