package alerting

import (
	"time"

	"svc/actors/grain"
	"svc/domain/alert"
)

// doubtful reports whether a value cannot be trusted because the service was down during part of its window:
// it may be too small, or missing.
func (a *alerting) doubtful(rule *alert.Rule, now time.Time, known bool) bool {
	return now.Before(a.started.Add(rule.Window())) && (rule.Suppressible() || !known)
}

// evaluateAll evaluates the rules of a window.
func (a *alerting) evaluateAll(into *grain.Effects, w *window, now time.Time) {
	for _, id := range w.rules {
		a.evaluate(into, a.rules[id], now)
	}
}

// evaluate applies a rule to the value of its window.
func (a *alerting) evaluate(into *grain.Effects, rule alert.Rule, now time.Time) {
	counter, _ := rule.Counter()
	w := a.windows[counter]
	if w == nil || w.read.IsZero() {
		return
	}
	a.evaluated[rule.ID] = now
	value, known := counter.Value(rule.Agg(), now, w.slots)
	state := a.states[rule.ID]
	state.SuppressedUntil = a.started.Add(rule.Window())
	if a.doubtful(&rule, now, known) {
		a.states[rule.ID] = state
		return
	}
	next, events := rule.Apply(state, alert.Measurement{At: now, Value: value, Known: known})
	a.transition(into, rule, next, events, now)
}

// evaluateDue evaluates the rules with a state or value that time alone has changed.
func (a *alerting) evaluateDue(into *grain.Effects, now time.Time) {
	for counter, w := range a.windows {
		for _, id := range w.rules {
			rule := a.rules[id]
			if at := a.nextEvaluation(&rule, &counter, w, now); !at.IsZero() && !at.After(now) {
				a.evaluate(into, rule, now)
			}
		}
	}
}

// nextEvaluation returns when a rule must be evaluated even if nothing is reported, the zero time for never:
// when its state is due, and when time alone changes its value in a way that matters.
func (a *alerting) nextEvaluation(rule *alert.Rule, counter *alert.Counter, w *window, now time.Time) (at time.Time) {
	if w.read.IsZero() {
		return at
	}
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	judged, known := a.evaluated[rule.ID]
	if !known {
		return now
	}
	state := a.states[rule.ID]
	if until := a.started.Add(rule.Window()); judged.Before(until) {
		sooner(until)
	}
	sooner(rule.Due(&state, now))
	next, empty := counter.Changes(w.slots, judged)
	switch {
	case state.State == alert.Firing:
		sooner(judged.Truncate(alert.OccurrenceTime).Add(alert.OccurrenceTime))
		sooner(next)
	case state.State == alert.Pending || rule.Ages():
		sooner(next)
	case counter.Kind == alert.Metric:
		sooner(empty)
	}
	return at
}

// nextWindow returns when a window must be read or one of its rules evaluated, the zero time for never.
func (a *alerting) nextWindow(now time.Time) (next time.Time) {
	for counter, w := range a.windows {
		at := w.due
		if soonest := a.reading.Add(readPause); at.Before(soonest) {
			at = soonest
		}
		if !w.asked.IsZero() {
			at = w.asked.Add(2*alertTimeout + time.Second)
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
		for _, id := range w.rules {
			rule := a.rules[id]
			if at := a.nextEvaluation(&rule, &counter, w, now); !at.IsZero() && at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// toMeasure returns the session-rate rules, which a query measures, once their interval has passed.
func (a *alerting) toMeasure(now time.Time) []alert.Rule {
	if now.Sub(a.measured) < evaluateEvery {
		return nil
	}
	a.measured = now
	return a.sorted(func(r alert.Rule) bool { return r.Condition.Per != "" })
}

// toMeasureSoon returns the session-rate rules with counters that changed in a stored block.
func (a *alerting) toMeasureSoon() (rules []alert.Rule) {
	rules = a.sorted(func(r alert.Rule) bool { return a.pending[r.ID] })
	clear(a.pending)
	return rules
}
