package main

import (
	"context"
	"slices"
	"time"

	"svc"
	"svc/actors"
	"svc/storage/clickhouse"
)

// measures measures what the store holds.
type measures struct{ db *clickhouse.DB }

// Can says which kinds the store answers: all that nobody tells of.
func (measures) Can(kind svc.AlertKind) bool { return !kind.Told() }

// Measure returns what the rules' conditions come to in the windows that end at an instant
// (decision 62). A metric without points has no value, and errors cannot be divided by no
// sessions; counts are known always. Rules that count in the same window are answered by
// one query.
func (m measures) Measure(ctx context.Context, rules []svc.AlertRule, at time.Time) []actors.Measured {
	out := make([]actors.Measured, len(rules))
	together := map[sameWindow][]int{}
	for i := range rules {
		rule := &rules[i]
		if rule.Kind == svc.AlertEventVolume || rule.Kind == svc.AlertErrorRate {
			key := sameWindow{rule.Kind, rule.Number, rule.Window()}
			together[key] = append(together[key], i)
			continue
		}
		value, known, err := m.points(ctx, rule, at)
		out[i] = actors.Measured{Value: value, Known: known, Err: err}
	}
	for key, places := range together {
		volumes, err := m.volumes(ctx, key, at)
		var sessions uint64
		if err == nil && slices.ContainsFunc(places, func(i int) bool { return rules[i].Condition.Per != "" }) {
			sessions, err = m.db.SessionVolume(ctx, key.environment, at.Add(-key.window), at)
		}
		for _, i := range places {
			out[i] = ofVolumes(&rules[i].Condition, volumes, sessions, err)
		}
	}
	return out
}

// sameWindow is what rules have in common that are answered by one query.
type sameWindow struct {
	kind        svc.AlertKind
	environment uint64
	window      time.Duration
}

// volumes counts by name of events or level of errors, with all under the empty word.
func (m measures) volumes(ctx context.Context, key sameWindow, at time.Time) (map[string]uint64, error) {
	count := m.db.EventVolumes
	if key.kind == svc.AlertErrorRate {
		count = m.db.ErrorVolumes
	}
	volumes, err := count(ctx, key.environment, at.Add(-key.window), at)
	if err != nil {
		return nil, err
	}
	var all uint64
	for _, n := range volumes {
		all += n
	}
	volumes[""] = all
	return volumes, nil
}

// ofVolumes returns what a condition that counts comes to.
func ofVolumes(condition *svc.AlertCondition, volumes map[string]uint64, sessions uint64, err error) actors.Measured {
	word := condition.Name + condition.Level // one of them is empty
	value := float64(volumes[word])
	switch {
	case err != nil:
		return actors.Measured{Err: err}
	case condition.Per == "":
		return actors.Measured{Value: value, Known: true}
	case sessions == 0:
		return actors.Measured{}
	}
	return actors.Measured{Value: value / float64(sessions), Known: true}
}

// points aggregates the points of a metric or a vital.
func (m measures) points(ctx context.Context, rule *svc.AlertRule, at time.Time) (value float64, known bool, err error) {
	condition := &rule.Condition
	if rule.Kind == svc.AlertVital {
		var labels []svc.Label
		if condition.Path != "" {
			labels = []svc.Label{{Key: "path", Value: condition.Path}}
		}
		return m.metric(ctx, rule, condition.Vital, svc.AggP75, labels, at)
	}
	var labels []svc.Label
	for key, value := range condition.Labels {
		labels = append(labels, svc.Label{Key: key, Value: value})
	}
	return m.metric(ctx, rule, condition.Name, svc.Agg(condition.Agg), labels, at)
}

func (m measures) metric(ctx context.Context, rule *svc.AlertRule, name string, agg svc.Agg, labels []svc.Label, at time.Time) (value float64, known bool, err error) {
	found, err := m.db.MetricValue(ctx, rule.Number, name, agg, labels, at.Add(-rule.Window()), at)
	if err != nil || found == nil {
		return 0, false, err
	}
	return *found, true, nil
}
