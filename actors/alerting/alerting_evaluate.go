package alerting

import (
	"time"

	"svc"
	"svc/actors/grain"
)

// doubtful says whether a value is not trusted, because the service itself was down during
// its window: then it may be too small, or missing.
func (a *alerting) doubtful(rule *svc.AlertRule, now time.Time, known bool) bool {
	return now.Before(a.started.Add(rule.Window())) && (rule.Suppressible() || !known)
}

// judgeAll judges the rules of a window.
func (a *alerting) evaluateAll(into *grain.Effects, w *window, now time.Time) {
	for _, id := range w.rules {
		a.evaluate(into, a.rules[id], now)
	}
}

// judge applies a rule to what its window comes to.
func (a *alerting) evaluate(into *grain.Effects, rule svc.AlertRule, now time.Time) {
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
	next, events := rule.Apply(state, svc.Measurement{At: now, Value: value, Known: known})
	a.transition(into, rule, next, events, now)
}

// ripe judges the rules for which time has made a difference.
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

// nextJudgement returns when a rule is to be judged although nothing happens, the zero time
// for never: as its state asks, and when time alone changes its value so that it matters.
func (a *alerting) nextEvaluation(rule *svc.AlertRule, counter *svc.AlertCounter, w *window, now time.Time) (at time.Time) {
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
	case state.State == svc.AlertFiring:
		sooner(judged.Truncate(svc.OccurrenceTime).Add(svc.OccurrenceTime))
		sooner(next)
	case state.State == svc.AlertPending || rule.Ages():
		sooner(next)
	case counter.Kind == svc.AlertMetric:
		sooner(empty)
	}
	return at
}

// nextWindow returns when the windows ask for anything, the zero time for never.
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

// toMeasure returns the rules whose time has come to be measured by a query: those that
// divide by sessions.
func (a *alerting) toMeasure(now time.Time) []svc.AlertRule {
	if now.Sub(a.measured) < evaluateEvery {
		return nil
	}
	a.measured = now
	return a.sorted(func(r svc.AlertRule) bool { return r.Condition.Per != "" })
}

// toLook returns those of them of which something has happened and is stored.
func (a *alerting) toMeasureSoon() (rules []svc.AlertRule) {
	rules = a.sorted(func(r svc.AlertRule) bool { return a.pending[r.ID] })
	clear(a.pending)
	return rules
}
