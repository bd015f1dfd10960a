package alerting

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain/alert"
	"svc/domain/event"
	"svc/domain/metric"
	"svc/domain/occurrence"
)

// lifeStep is an event at a time after the beginning, with its values.
type lifeStep struct {
	at     time.Duration
	values []float64
}

// after lists steps of one value each, in seconds.
func after(pairs ...float64) (steps []lifeStep) {
	for i := 0; i+1 < len(pairs); i += 2 {
		steps = append(steps, lifeStep{time.Duration(pairs[i]) * time.Second, []float64{pairs[i+1]}})
	}
	return steps
}

// ruleLife is one rule and the steps that it goes through.
type ruleLife struct {
	name       string
	kind       alert.Kind
	agg        string
	comparator string
	threshold  float64
	recovery   float64 // 0 for none
	minutes    int     // how long the condition must hold
	noData     string
	steps      []lifeStep
	// want lists all notices that the channel receives within 20 minutes.
	want []string
}

// condition returns the condition of the rule.
func (l *ruleLife) condition() alert.Condition {
	switch l.kind {
	case alert.Metric:
		return alert.Condition{Name: "heat", Agg: l.agg, Labels: map[string]string{"zone": "eu"}}
	case alert.Vital:
		return alert.Condition{Vital: "LCP", Path: "/cart"}
	case alert.ErrorRate:
		return alert.Condition{Level: "error"}
	case alert.EventVolume:
		return alert.Condition{Name: "order"}
	case alert.Uptime, alert.NewIssue:
	}
	return alert.Condition{}
}

// fill adds values to a block: as observations, or as a number of events or errors. Next to each of them it adds one
// that does not count for the rule.
func (l *ruleLife) fill(b *officeBlock, values []float64, now time.Time) {
	for _, value := range values {
		switch l.kind {
		case alert.Metric:
			b.points = append(b.points, point("heat", value, now, metric.Label{Key: "zone", Value: "eu"}), point("heat", 1e6, now, metric.Label{Key: "zone", Value: "us"}), point("cold", 1e6, now))
		case alert.Vital:
			b.points = append(b.points, point("LCP", value, now, metric.Label{Key: "path", Value: "/cart"}), point("LCP", 1e6, now, metric.Label{Key: "path", Value: "/"}))
		case alert.ErrorRate:
			for range int(value) {
				b.occurrences = append(b.occurrences,
					occurrence.Row{EnvironmentNumber: 7, Occurrence: occurrence.Occurrence{Ts: now, Level: "error"}}, occurrence.Row{EnvironmentNumber: 7, Occurrence: occurrence.Occurrence{Ts: now, Level: "info"}})
			}
		case alert.EventVolume:
			for range int(value) {
				for _, name := range []string{"order", "click"} {
					row := event.Row{EnvironmentNumber: 7}
					row.Name, row.Ts = name, now
					b.rows = append(b.rows, row)
				}
			}
		case alert.Uptime, alert.NewIssue:
		}
	}
}

// make creates the rule; its window is a minute.
func (l *ruleLife) make(o *office) {
	o.rule(l.kind, func(p *alert.Patch) {
		minute, condition := 1, l.condition()
		p.Comparator, p.Threshold, p.WindowMinutes, p.Condition, p.ForMinutes = &l.comparator, &l.threshold, &minute, &condition, &l.minutes
		if l.recovery != 0 {
			p.SetRecovery, p.Recovery = true, &l.recovery
		}
		if l.noData != "" {
			p.NoData = &l.noData
		}
	})
	pass(0)
}

func ruleLives() []ruleLife {
	const metric, vital, errors, events = alert.Metric, alert.Vital, alert.ErrorRate, alert.EventVolume
	return []ruleLife{
		// A slot of a second leaves the window of a minute 61 seconds after it began. The incident ends a window after
		// the value returned to normal.
		{name: "a sum over", kind: metric, agg: "sum", comparator: "gt", threshold: 10, noData: "ok", steps: after(10, 5, 20, 6), want: []string{"20s open Rule — 11 > 10", "2m11s resolved Rule — 11 > 10"}},
		{name: "a sum at", kind: metric, agg: "sum", comparator: "gt", threshold: 11, steps: after(10, 5, 20, 6)},
		{name: "a sum at or over", kind: metric, agg: "sum", comparator: "gte", threshold: 11, noData: "ok", steps: after(10, 5, 20, 6), want: []string{"20s open Rule — 11 ≥ 11", "2m11s resolved Rule — 11 ≥ 11"}},
		{name: "a sum with a loss", kind: metric, agg: "sum", comparator: "lt", threshold: 0, noData: "ok", steps: after(70, 5, 80, -6, 90, 3), want: []string{"1m20s open Rule — -1 < 0", "3m21s resolved Rule — -3 < 0"}},
		{name: "an average over, which age brings about", kind: metric, agg: "avg", comparator: "gt", threshold: 10, steps: after(10, 1, 20, 12), want: []string{"1m11s open Rule — 12 > 10"}},
		{name: "an average under", kind: metric, agg: "avg", comparator: "lte", threshold: 3, noData: "ok", steps: after(70, 3, 80, 9), want: []string{"1m10s open Rule — 3 ≤ 3", "2m20s resolved Rule — 3 ≤ 3"}},
		{name: "the count", kind: metric, agg: "count", comparator: "gte", threshold: 3, noData: "ok", steps: after(10, 0, 20, 0, 30, 0), want: []string{"30s open Rule — 3 ≥ 3", "2m11s resolved Rule — 3 ≥ 3"}},
		{name: "the lowest under", kind: metric, agg: "min", comparator: "lt", threshold: 5, noData: "ok", steps: after(65, 7, 70, 4, 80, 9), want: []string{"1m10s open Rule — 4 < 5", "3m11s resolved Rule — 4 < 5"}},
		{name: "the lowest over, which age brings about", kind: metric, agg: "min", comparator: "gt", threshold: 5, noData: "ok", steps: after(10, 4, 20, 9), want: []string{"1m11s open Rule — 9 > 5", "2m21s resolved Rule — 9 > 5"}},
		{name: "the highest over", kind: metric, agg: "max", comparator: "gt", threshold: 5, noData: "ok", steps: after(10, 4, 20, 9), want: []string{"20s open Rule — 9 > 5", "2m21s resolved Rule — 9 > 5"}},
		{name: "the highest under, which age brings about", kind: metric, agg: "max", comparator: "lt", threshold: 5, noData: "ok", steps: after(65, 9, 70, 4), want: []string{"2m6s open Rule — 4 < 5", "3m11s resolved Rule — 4 < 5"}},
		{name: "the median over", kind: metric, agg: "p50", comparator: "gt", threshold: 5, noData: "ok", steps: after(10, 1, 20, 1, 30, 9, 40, 9, 50, 9), want: []string{"50s open Rule — 9 > 5", "2m51s resolved Rule — 9 > 5"}},
		{name: "the worst of a hundred", kind: metric, agg: "p99", comparator: "gte", threshold: 7, noData: "ok", steps: []lifeStep{{10 * time.Second, slices.Repeat([]float64{1}, 99)}, {20 * time.Second, []float64{7, 7}}}, want: []string{"20s open Rule — 7 ≥ 7", "2m21s resolved Rule — 7 ≥ 7"}},
		{name: "the worst of twenty", kind: metric, agg: "p95", comparator: "gte", threshold: 7, noData: "ok", steps: []lifeStep{{10 * time.Second, slices.Repeat([]float64{1}, 19)}, {20 * time.Second, []float64{7}}, {30 * time.Second, []float64{7}}}, want: []string{"30s open Rule — 7 ≥ 7", "2m31s resolved Rule — 7 ≥ 7"}},
		{name: "equal", kind: metric, agg: "sum", comparator: "eq", threshold: 11, noData: "ok", steps: after(65, 5, 70, 6, 80, 1), want: []string{"1m10s open Rule — 11 = 11", "2m20s resolved Rule — 11 = 11"}},
		{name: "different", kind: metric, agg: "sum", comparator: "neq", threshold: 5, noData: "ok", steps: after(65, 5, 70, 6), want: []string{"1m10s open Rule — 11 ≠ 5", "3m11s resolved Rule — 6 ≠ 5"}},
		{name: "a vital", kind: vital, comparator: "gt", threshold: 2500, noData: "ok", steps: after(10, 900, 20, 2600, 30, 3000), want: []string{"20s open Rule — 2600 > 2500", "2m31s resolved Rule — 3000 > 2500"}},
		{name: "errors", kind: errors, comparator: "gte", threshold: 3, steps: after(10, 2, 20, 1), want: []string{"20s open Rule — 3 ≥ 3", "2m11s resolved Rule — 3 ≥ 3"}},
		{name: "no errors", kind: errors, comparator: "lt", threshold: 1, steps: after(10, 1, 100, 1), want: []string{"1m11s open Rule — 0 < 1", "2m40s resolved Rule — 0 < 1"}},
		{name: "events", kind: events, comparator: "gt", threshold: 3, steps: after(10, 2, 20, 1, 30, 1), want: []string{"30s open Rule — 4 > 3", "2m11s resolved Rule — 4 > 3"}},
		{name: "too quiet", kind: events, comparator: "lt", threshold: 2, steps: after(50, 2, 120, 1, 125, 1), want: []string{"1m51s open Rule — 0 < 2"}},
		{name: "held", kind: metric, agg: "max", comparator: "gt", threshold: 5, minutes: 2, noData: "ok", steps: after(10, 9, 60, 9, 110, 9), want: []string{"2m10s open Rule — 9 > 5", "3m51s resolved Rule — 9 > 5"}},
		{name: "not held", kind: metric, agg: "max", comparator: "gt", threshold: 5, minutes: 2, noData: "ok", steps: after(10, 9, 100, 9)},
		{name: "between the thresholds", kind: metric, agg: "max", comparator: "gt", threshold: 10, recovery: 5, noData: "keep", steps: after(10, 11, 60, 7, 110, 7, 160, 4), want: []string{"10s open Rule — 11 > 10"}},
		{name: "under the lower threshold", kind: metric, agg: "max", comparator: "gt", threshold: 10, recovery: 5, noData: "ok", steps: after(10, 11, 60, 7, 110, 4), want: []string{"10s open Rule — 11 > 10", "3m1s resolved Rule — 11 > 10"}},
		{name: "no data is a breach", kind: metric, agg: "avg", comparator: "gt", threshold: 10, noData: "alert", steps: after(70, 1, 300, 1), want: []string{"1m0s open Rule — no data", "2m10s resolved Rule — no data"}},
		{name: "no data keeps", kind: metric, agg: "avg", comparator: "gt", threshold: 10, noData: "keep", steps: after(10, 11), want: []string{"10s open Rule — 11 > 10"}},
		{name: "no data is fine", kind: metric, agg: "avg", comparator: "gt", threshold: 10, noData: "ok", steps: after(10, 11), want: []string{"10s open Rule — 11 > 10", "2m11s resolved Rule — 11 > 10"}},
	}
}

// TestLivesOfRules makes rules of every kind fire and recover, on time and without a query to the store. It repeats
// that with a restart after every step, which sends no notice twice.
func TestLivesOfRules(t *testing.T) {
	for _, life := range ruleLives() {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprint(life.name, restarts), func(t *testing.T) {
				inOffice(t, func(t *testing.T, o *office) {
					life.make(o)
					for _, step := range life.steps {
						pass(step.at - time.Since(o.begun))
						b := o.block()
						life.fill(&b, step.values, time.Now())
						o.settle(b)
						if restarts {
							o.reopen(0)
							o.tell(b)
						}
					}
					pass(20*time.Minute - time.Since(o.begun))
					if got := o.titles; !slices.Equal(got, life.want) {
						t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(life.want, "\n"))
					}
				})
			})
		}
	}
}

// TestAReplayMakesTheSameIncidents folds a stream of all kinds three times: twice as it is, and with restarts and
// repeated reports between its blocks.
func TestAReplayMakesTheSameIncidents(t *testing.T) {
	replay := func(seed uint64, restarts bool) (states string, counts []uint64) {
		inOffice(t, func(t *testing.T, o *office) {
			lives := ruleLives()
			for i := range lives {
				lives[i].make(o)
			}
			chance, now := rand.New(rand.NewPCG(seed, 7)), time.Duration(0)
			for n := range 120 {
				now += time.Duration(5+chance.IntN(20)) * time.Second
				pass(now - time.Since(o.begun)) // a restart takes a while
				b := o.block()
				for range 1 + chance.IntN(6) {
					life := &lives[chance.IntN(len(lives))]
					life.fill(&b, []float64{float64(chance.IntN(14) - 1)}, time.Now().Add(-time.Duration(chance.IntN(30))*time.Second))
				}
				o.settle(b)
				if restarts && n%5 == 0 {
					o.reopen(0)
					o.tell(b)
				}
			}
			pass(time.Second)
			rows, err := o.alerts.Rules(t.Context(), web())
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(rows, func(x, y alert.Row) int { return cmp.Compare(x.ID, y.ID) })
			fired := 0
			for _, row := range rows {
				if i := row.Seen.Incident; i != nil {
					fired++
					states += fmt.Sprintf("%s %s %s %s %s\n", row.ID, i.ID, i.Status, i.Title, i.StartedAt.Sub(o.begun))
					if !restarts { // counts are stored from time to time
						counts = append(counts, i.Occurrences)
					}
				}
			}
			if fired < len(rows)/2 {
				t.Errorf("seed %d: only %d of %d rules fired", seed, fired, len(rows))
			}
			slices.Sort(o.titles)
			states += strings.Join(o.titles, "\n")
		})
		return states, counts
	}
	for seed := range uint64(4) {
		first, counted := replay(seed, false)
		for _, restarts := range []bool{false, true} {
			states, counts := replay(seed, restarts)
			if !restarts && !slices.Equal(counts, counted) {
				t.Errorf("seed %d: the incidents count %v, at first %v", seed, counts, counted)
			}
			again := strings.Split(states, "\n")
			for _, line := range strings.Split(first, "\n") {
				at := slices.Index(again, line)
				if at < 0 {
					t.Errorf("seed %d, restarts %v: missing %s", seed, restarts, line)
					continue
				}
				again = slices.Delete(again, at, at+1)
			}
			if len(again) > 0 {
				t.Errorf("seed %d, restarts %v: instead %q", seed, restarts, again)
			}
		}
	}
}
