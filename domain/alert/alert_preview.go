package alert

import (
	"slices"
	"sort"
	"time"

	"svc/domain/metric"
)

// PreviewTime is how far back a preview of an alert rule looks.
const PreviewTime = 7 * 24 * time.Hour

// maxPreviewPoints limits the values that a preview shows.
const maxPreviewPoints = 500

// PreviewFiring is one period in which a rule would have fired.
type PreviewFiring struct {
	StartedAt time.Time
	// ResolvedAt is nil if the rule would fire at the end of the preview.
	ResolvedAt *time.Time
	Title      string
	// Value is the value of the latest breach. It is nil for rules about issues and without data.
	Value       *float64
	Occurrences uint64
	// Notices is the number of notices that each channel would have received.
	Notices int
}

// PreviewPoint is a value that a rule would have judged; Value is nil if there was no data.
type PreviewPoint struct {
	At    time.Time
	Value *float64
}

// Preview lists the incidents that a rule would have opened between From and To, and the values it judged.
type Preview struct {
	From, To time.Time
	// Step is the time between two values of a measured rule.
	Step    time.Duration
	Firings []PreviewFiring
	Points  []PreviewPoint
}

// Preview applies measurements, the oldest first, to a rule as if they were live. The same functions judge each
// measurement and the time between two of them.
func (r *Rule) Preview(from, to time.Time, measured []Measurement) Preview {
	out := Preview{From: from, To: to}
	state := State{State: OK}
	last := from
	// pass lets time pass for rules that receive their values; the other rules are measured all the time.
	pass := func(until time.Time) {
		for r.Kind.Reported() {
			due := r.Due(&state, last)
			if due.IsZero() || due.After(until) {
				return
			}
			next, events := r.Tick(state, due)
			out.note(&next, events, due)
			state, last = next, due
			if again := r.Due(&state, due); !again.After(due) {
				return
			}
		}
	}
	for _, m := range measured {
		pass(m.At)
		next, events := r.Apply(state, m)
		out.note(&next, events, m.At)
		state, last = next, m.At
		if m.Known && r.Kind != NewIssue {
			value := m.Value
			out.Points = append(out.Points, PreviewPoint{At: m.At, Value: &value})
		} else if !m.Known {
			out.Points = append(out.Points, PreviewPoint{At: m.At})
		}
	}
	pass(to)
	out.thin()
	return out
}

// note records the outcome of a step of the preview.
func (p *Preview) note(state *State, events []NoticeEvent, at time.Time) {
	i := state.Incident
	if i == nil {
		return
	}
	n := len(p.Firings)
	if running := n > 0 && p.Firings[n-1].ResolvedAt == nil; !running {
		if !i.Live() {
			return
		}
		p.Firings = append(p.Firings, PreviewFiring{StartedAt: at})
		n++
	}
	firing := &p.Firings[n-1]
	if i.Live() {
		firing.Title, firing.Value, firing.Occurrences = i.Title, i.Value, i.Occurrences
	} else {
		ended := *i.ResolvedAt
		firing.ResolvedAt = &ended
	}
	firing.Notices += len(events)
}

// thin reduces the points to at most maxPreviewPoints, evenly spread.
func (p *Preview) thin() {
	if every := (len(p.Points) + maxPreviewPoints - 1) / maxPreviewPoints; every > 1 {
		kept := p.Points[:0]
		for i := every - 1; i < len(p.Points); i += every {
			kept = append(kept, p.Points[i])
		}
		p.Points = kept
	}
}

// PreviewStep is the time between two values of a preview, and the width of its slots.
func (c *Counter) PreviewStep() time.Duration {
	return max(time.Minute, (c.Window() / 30).Truncate(time.Minute))
}

// Replay returns the values that a rule would have measured at every step of a span. The slots reach from one window
// before the beginning of the span to its end.
func (c *Counter) Replay(agg metric.Agg, slots Slots, from, to time.Time) []Measurement {
	var out []Measurement
	step := c.PreviewStep()
	for at := from.Truncate(step).Add(step); !at.After(to); at = at.Add(step) {
		first, last := c.span(at)
		begin := sort.Search(len(slots), func(i int) bool { return slots[i].At >= first })
		end := sort.Search(len(slots), func(i int) bool { return slots[i].At > last })
		value, known := c.Value(agg, at, slots[begin:max(begin, end)])
		out = append(out, Measurement{At: at, Value: value, Known: known})
	}
	return out
}

// RateSlot holds the errors and sessions of one span, for rules that divide one by the other.
type RateSlot struct {
	At               time.Time
	Errors, Sessions uint64
}

// ReplayRates returns the values that a rule would have measured at the end of each span.
func ReplayRates(slots []RateSlot) []Measurement {
	out := make([]Measurement, 0, len(slots))
	for _, slot := range slots {
		m := Measurement{At: slot.At, Known: slot.Sessions > 0}
		if m.Known {
			m.Value = float64(slot.Errors) / float64(slot.Sessions)
		}
		out = append(out, m)
	}
	return out
}

// SortMeasurements orders measurements by time.
func SortMeasurements(list []Measurement) {
	slices.SortStableFunc(list, func(a, b Measurement) int { return a.At.Compare(b.At) })
}
