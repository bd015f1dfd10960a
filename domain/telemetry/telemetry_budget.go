package telemetry

import (
	"fmt"
	"slices"
	"time"

	"svc/domain/alert"
	"svc/domain/ingest"
)

// BudgetUse is the stored amount per signal of an environment in a UTC month.
type BudgetUse struct {
	Month string                  `json:"month"`
	Items map[ingest.Signal]int64 `json:"items"`
}

// Evaluate compares usage with the budgets. It records the signals that are over theirs. It creates an alert, with a
// notice for every channel, for the highest threshold that a signal has reached and that was not notified this month.
// newID makes ids with a prefix. Evaluate reports whether anything changed; the same usage again changes nothing.
func (s *State) Evaluate(use BudgetUse, now time.Time, newID func(prefix string) string) (changed bool) {
	if s.Month != use.Month {
		changed = len(s.Over)+len(s.Fired) > 0
		s.Month, s.Over, s.Fired = use.Month, nil, nil
	}
	over, fired := map[ingest.Signal]time.Time{}, map[ingest.Signal]int{}
	for _, signal := range ingest.Signals() {
		budget := s.Policy.Budget(signal)
		if budget == nil {
			continue
		}
		used := use.Items[signal]
		if used >= *budget {
			over[signal] = now
			if since, was := s.Over[signal]; was {
				over[signal] = since
			}
		}
		percent := 100.0
		if *budget > 0 {
			percent = 100 * float64(used) / float64(*budget)
		}
		fired[signal] = max(s.Fired[signal], s.Policy.Alerts.reached(percent))
		if fired[signal] > s.Fired[signal] {
			s.alert(BudgetAlert{
				ID: newID("bal_"), Signal: signal, Threshold: fired[signal], UsedPercent: percent, At: now, ChannelIDs: slices.Clone(s.Policy.Alerts.ChannelIDs),
			}, newID)
			changed = true
		}
	}
	changed = changed || len(over) != len(s.Over)
	for signal := range over {
		_, was := s.Over[signal]
		changed = changed || !was
	}
	s.Over, s.Fired = over, fired
	return changed
}

// reached returns the highest threshold that is not above a percentage, or 0.
func (a *BudgetAlerts) reached(percent float64) (highest int) {
	for _, threshold := range a.Thresholds {
		if percent >= float64(threshold) {
			highest = max(highest, threshold)
		}
	}
	return highest
}

// alert stores an alert and its notices.
func (s *State) alert(a BudgetAlert, newID func(prefix string) string) {
	s.Alerts = append([]BudgetAlert{a}, s.Alerts...)
	s.Alerts = s.Alerts[:min(len(s.Alerts), MaxBudgetAlerts)]
	incident := alert.Incident{
		ID: a.ID, RuleName: "Telemetry budget", Kind: alert.EventVolume, Severity: "warning", Status: alert.IncidentOpen, Environment: s.Env,
		Title:     fmt.Sprintf("%s of %s has used %.0f %% of the monthly budget of %s", s.Env, s.App, a.UsedPercent, a.Signal),
		Threshold: float64(a.Threshold), Comparator: "gte", StartedAt: a.At, LastTriggeredAt: a.At, Occurrences: 1, Value: &a.UsedPercent,
	}
	s.tell(a.ChannelIDs, alert.Notice{Event: alert.NoticeOpen, App: s.App, Incident: incident}, a.At, newID)
}

// Delivered records the outcomes of attempts to deliver notices: notices without an entry are unchanged, notices with
// nil are done.
func (s *State) Delivered(ends map[string]*alert.Delivery) {
	left := s.Deliveries[:0:0]
	for _, delivery := range s.Deliveries {
		end, ended := ends[delivery.ID]
		switch {
		case !ended:
			left = append(left, delivery)
		case end != nil:
			left = append(left, *end)
		}
	}
	s.Deliveries = left
}
