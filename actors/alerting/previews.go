package alerting

import (
	"context"
	"slices"
	"time"

	"svc/domain"
	"svc/domain/alert"
)

// History reads the past measurements of rules.
type History interface {
	// AlertHistory returns the counts of a counter from an instant on.
	AlertHistory(ctx context.Context, counter alert.Counter, since time.Time) (alert.Slots, error)
	// RateHistory returns the errors of a level and the sessions of an environment in spans of one width.
	RateHistory(ctx context.Context, environment uint64, level string, width time.Duration, since, until time.Time) ([]alert.RateSlot, error)
	// CheckHistory returns the measurements that a rule about a monitor would have received since an instant.
	CheckHistory(ctx context.Context, app domain.AppRef, monitor string, since time.Time) ([]alert.Measurement, error)
	// BegunIssues returns the measurements that a rule about new issues would have received since an instant.
	BegunIssues(ctx context.Context, environment uint64, since, now time.Time) ([]alert.Measurement, error)
}

// Previews applies past measurements to rules.
type Previews struct {
	Alerts   *Alerts
	Monitors MonitorStore
	History  History
}

// Preview returns the events that a rule of an environment would have caused in the last alert.PreviewTime. The rule is a
// new one, or the one with an id and a patch. It fails as Rules.PutRule does, and changes nothing.
func (p *Previews) Preview(ctx context.Context, ref domain.AppRef, id string, env domain.Environment, patch alert.Patch, now time.Time) (alert.Preview, error) {
	rule := alert.Rule{ID: "preview", Spec: alert.DefaultAlert(), Environment: env.Slug, Number: env.Number}
	if id != "" {
		rows, err := p.Alerts.Rules(ctx, ref)
		if err != nil {
			return alert.Preview{}, err
		}
		at := slices.IndexFunc(rows, func(row alert.Row) bool { return row.ID == id })
		if at < 0 {
			return alert.Preview{}, domain.NotFound("alert rule")
		}
		rule = rows[at].Rule
	}
	rule.Spec = rule.With(patch)
	if rule.Name == "" {
		rule.Name = "Preview"
	}
	if problems := rule.Validate(); len(problems) > 0 {
		return alert.Preview{}, domain.Invalid(problems...)
	}
	to := now.Truncate(time.Second)
	from := to.Add(-alert.PreviewTime)
	measured, step, err := p.measured(ctx, ref, &rule, from, to)
	if err != nil {
		return alert.Preview{}, err
	}
	preview := rule.Preview(from, to, measured)
	preview.Step = step
	return preview, nil
}

// measured returns the past measurements of a rule in a span, the oldest first, and the step between them. The step is
// 0 for rules that receive reports.
func (p *Previews) measured(ctx context.Context, ref domain.AppRef, rule *alert.Rule, from, to time.Time) ([]alert.Measurement, time.Duration, error) {
	switch {
	case rule.Kind == alert.NewIssue:
		found, err := p.History.BegunIssues(ctx, rule.Number, from, to)
		if !rule.ReportsRegressions() {
			found = slices.DeleteFunc(found, func(m alert.Measurement) bool { return m.Regressed })
		}
		return found, 0, err
	case rule.Kind == alert.Uptime:
		monitors, err := p.Monitors.Monitors(ctx, ref, rule.Condition.MonitorID, to)
		if err == nil && len(monitors) != 1 {
			err = domain.Invalid(alert.UnknownMonitor(rule.Condition.MonitorID))
		}
		if err != nil {
			return nil, 0, err
		}
		found, err := p.History.CheckHistory(ctx, ref, rule.Condition.MonitorID, from)
		return found, 0, err
	case rule.Condition.Per != "":
		slots, err := p.History.RateHistory(ctx, rule.Number, rule.Condition.Level, rule.Window(), from, to)
		return alert.ReplayRates(slots), rule.Window(), err
	}
	counter, _ := rule.Counter()
	slots, err := p.History.AlertHistory(ctx, counter, from.Add(-rule.Window()))
	return counter.Replay(rule.Agg(), slots, from, to), counter.PreviewStep(), err
}
