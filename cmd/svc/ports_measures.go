package main

import (
	"context"
	"time"

	"svc"
	"svc/storage/clickhouse"
)

// measures measures what the store holds.
type measures struct{ db *clickhouse.DB }

// Can says which kinds the store answers: all that nobody tells of.
func (measures) Can(kind svc.AlertKind) bool { return !kind.Told() }

// Measure returns what a rule's condition comes to in the window that ends at an instant
// (decision 62). A metric without points has no value, and errors cannot be divided by no
// sessions; counts are known always.
func (m measures) Measure(ctx context.Context, rule *svc.AlertRule, at time.Time) (value float64, known bool, err error) {
	from, condition := at.Add(-rule.Window()), &rule.Condition
	switch rule.Kind {
	case svc.AlertMetric:
		var labels []svc.Label
		for key, value := range condition.Labels {
			labels = append(labels, svc.Label{Key: key, Value: value})
		}
		return m.metric(ctx, rule, condition.Name, svc.Agg(condition.Agg), labels, at)
	case svc.AlertVital:
		var labels []svc.Label
		if condition.Path != "" {
			labels = []svc.Label{{Key: "path", Value: condition.Path}}
		}
		return m.metric(ctx, rule, condition.Vital, svc.AggP75, labels, at)
	case svc.AlertErrorRate:
		return m.errors(ctx, rule, at)
	case svc.AlertEventVolume, svc.AlertUptime, svc.AlertNewIssue:
	}
	events, err := m.db.EventVolume(ctx, rule.Number, condition.Name, from, at)
	return float64(events), true, err
}

func (m measures) metric(ctx context.Context, rule *svc.AlertRule, name string, agg svc.Agg, labels []svc.Label, at time.Time) (value float64, known bool, err error) {
	found, err := m.db.MetricValue(ctx, rule.Number, name, agg, labels, at.Add(-rule.Window()), at)
	if err != nil || found == nil {
		return 0, false, err
	}
	return *found, true, nil
}

// errors counts errors, and divides them by the sessions where the rule says so.
func (m measures) errors(ctx context.Context, rule *svc.AlertRule, at time.Time) (value float64, known bool, err error) {
	from := at.Add(-rule.Window())
	errors, err := m.db.ErrorVolume(ctx, rule.Number, rule.Condition.Level, from, at)
	if err != nil || rule.Condition.Per == "" {
		return float64(errors), true, err
	}
	sessions, err := m.db.SessionVolume(ctx, rule.Number, from, at)
	if err != nil || sessions == 0 {
		return 0, false, err
	}
	return float64(errors) / float64(sessions), true, nil
}
