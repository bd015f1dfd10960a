package alerting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/actors/issues"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/domain/issue"
	"svc/domain/metric"
	"svc/domain/occurrence"
)

// officeBlock is a block of the stream.
type officeBlock struct {
	number      uint64
	rows        []event.Row
	occurrences []occurrence.Row
	points      []metric.Row
}

var errUnreadable = errors.New("unreadable")

// Read returns the counts of the stored blocks.
func (o *office) Read(_ context.Context, counters []alert.Counter, at time.Time, since uint64) []ReadCounter {
	o.mu.Lock()
	defer func(slow time.Duration) { o.mu.Unlock(); time.Sleep(slow) }(o.slow)
	o.asked += len(counters)
	out := make([]ReadCounter, len(counters))
	for i := range counters {
		if o.away {
			out[i].Err = errUnreadable
			continue
		}
		for _, block := range o.stored {
			if counts := block.of(&counters[i], at); len(counts) > 0 {
				out[i].Slots.Add(counts)
				if block.number >= since {
					out[i].Blocks = append(out[i].Blocks, block.number)
				}
			}
		}
	}
	return out
}

// of returns the counts of a block for a counter.
func (b *officeBlock) of(c *alert.Counter, at time.Time) alert.Slots {
	counts := blockCounts{}
	for i := range b.rows {
		if c.Kind == alert.EventVolume && (c.Word == "" || c.Word == b.rows[i].Name) && !b.rows[i].IsBot {
			counts.add(c, at, b.rows[i].Ts, metric.Totals{Count: 1})
		}
	}
	for i := range b.occurrences {
		if c.Kind == alert.ErrorRate && (c.Word == "" || c.Word == string(b.occurrences[i].Level)) {
			counts.add(c, at, b.occurrences[i].Ts, metric.Totals{Count: 1})
		}
	}
	for i := range b.points {
		point := &b.points[i]
		if c.Kind != alert.Metric || c.Word != point.Name || c.Labels != "" && c.Labels != alert.EncodeLabels(point.Labels) {
			continue
		}
		if slot := counts.add(c, at, point.Ts, point.Totals); slot != nil && c.Bins {
			observe(slot, point)
		}
	}
	return counts[*c]
}

// count returns the counts of the block for the rules.
func (b *officeBlock) count(rules *RuleIndex) *countedBlock {
	block := (&CountListener{Rules: rules, Now: time.Now}).Open()
	hurrying := (&issues.Listener{Rules: rules, Resolved: &issues.ResolvedSet{}}).Open()
	all := ingest.Rows{Events: b.rows, Occurrences: b.occurrences, Points: b.points}
	block.Saw(0, &all)
	hurrying.Saw(0, &all)
	return block.(*countedBlock)
}

// settle stores a block and reports it.
func (o *office) settle(b officeBlock) {
	o.t.Helper()
	o.set(func() { o.stored = append(o.stored, b) })
	o.tell(b)
}

// tell reports a block.
func (o *office) tell(b officeBlock) {
	o.t.Helper()
	for app, counts := range b.count(o.rules).byApp(func(domain.AppRef) bool { return true }, false) {
		if err := o.alerts.ReportCounts(o.t.Context(), app, countReport{b.number, counts}); err != nil {
			o.t.Fatal(err)
		}
	}
	pass(0)
}

// preview reports an open block, and returns whether it is to be stored at once.
func (o *office) preview(b officeBlock) bool {
	o.t.Helper()
	for app, counts := range b.count(o.rules).byApp(func(domain.AppRef) bool { return true }, true) {
		answer, err := alertingStream.Ask(o.t.Context(), o.alerts.Actors, app.String(), openBlockReport{counts})
		if err != nil {
			o.t.Fatal(err)
		}
		pass(0)
		return answer.Look
	}
	return false
}

// block returns an empty block with a number of the current time.
func (o *office) block() officeBlock {
	o.ids++
	return officeBlock{number: pipeline.NewBlockNumber(time.Now(), uint32(o.ids)<<10)}
}

// orders returns a block of events.
func (o *office) orders(n int) officeBlock {
	b := o.block()
	for range n {
		row := event.Row{EnvironmentNumber: 7}
		row.Name, row.Ts = "order", time.Now()
		b.rows = append(b.rows, row)
	}
	return b
}

// rush makes a rule that fires at ten orders.
func (o *office) rush() {
	o.t.Helper()
	o.rule(alert.EventVolume, func(p *alert.Patch) {
		threshold, condition := 10.0, alert.Condition{Name: "order"}
		p.Threshold, p.Condition = &threshold, &condition
	})
	pass(0)
}

// measurements returns the number of measurements since its last call.
func (o *office) measurements() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked := o.asked
	o.asked = 0
	return asked
}

// TestTheStreamSaysWhenToStore checks when a rule wants an open block stored: only if the block would make it fire. The
// rule fires only once the block is stored.
func TestTheStreamSaysWhenToStore(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rush()
		o.settle(o.orders(4))
		if o.preview(o.orders(5)) {
			t.Error("it hurries for nine of ten")
		}
		six := o.orders(6)
		if !o.preview(six) {
			t.Error("it does not flush soon for ten of ten")
		}
		o.want("before it is stored")
		o.settle(six)
		o.want("in the same turn", "0s pager open")
		if o.preview(o.orders(100)) {
			t.Error("it hurries while it fires")
		}
		pass(time.Hour)
		if got := o.titles; fmt.Sprint(got) != "[0s open Rule — 10 ≥ 10 4m1s resolved Rule — 10 ≥ 10]" {
			t.Errorf("told %q", got)
		}
	})
}

// TestABlockCountsOnce reports blocks again: at once, after they were read from the store, and after restarts. One
// block that is stored is not reported at all.
func TestABlockCountsOnce(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rush()
		first, second := o.orders(3), o.orders(3)
		o.settle(first)
		o.tell(first)
		o.reopen(0)
		o.tell(first)
		o.settle(second)
		o.reopen(time.Second)
		o.tell(second)
		pass(time.Second)
		o.want("after six of ten")
		if got := o.only().Seen.LastValue; got == nil || *got != 6 {
			t.Errorf("the value is %v, want 6", got)
		}
		silent := o.orders(4)
		o.set(func() { o.stored = append(o.stored, silent) })
		pass(10 * time.Second)
		o.want("of a block that nobody tells of")
		if _, err := alertingMissed.Ask(t.Context(), o.alerts.Actors, web().String(), grain.None{}); err != nil {
			t.Fatal(err)
		}
		pass(0)
		if got := o.take(); len(got) != 1 {
			t.Errorf("told %v once the actor knows that it missed one", got)
		}
		o.tell(silent)
		if got := *o.only().Seen.LastValue; got != 10 {
			t.Errorf("the value is %v, want 10", got)
		}
	})
}

// TestAnOldBlockIsReadFromTheStore completes a block after an hour, when it is no longer known whether it was counted.
func TestAnOldBlockIsReadFromTheStore(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rush()
		old := o.orders(0)
		pass(time.Hour)
		old.rows = o.orders(10).rows
		o.settle(old)
		o.want("after it was read", "1h0m0s pager open")
		o.tell(old)
		if got := *o.only().Seen.LastValue; got != 10 {
			t.Errorf("the value is %v, want 10", got)
		}
	})
}

// TestAnUnreadableStoreIsReadLater reports blocks before the store can be read.
func TestAnUnreadableStoreIsReadLater(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.settle(o.orders(5))
		o.set(func() { o.away = true })
		o.rush()
		o.settle(o.orders(5))
		pass(5 * time.Second)
		o.want("while it cannot be read")
		o.set(func() { o.away = false })
		pass(evaluateEvery)
		o.want("afterwards", "10s pager open")
	})
}

// TestALateReadingIsIgnored loads the actor again while the store is read. The counts of a block that was reported
// meanwhile are in another reading, and the first one must not replace that.
func TestALateReadingIsIgnored(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.set(func() { o.slow = 3 * time.Second })
		o.rush()
		o.settle(o.orders(4))
		o.set(func() { o.slow = 0 })
		o.store.LosePuts(1, errUnreadable)
		if _, err := o.alerts.PutChannel(t.Context(), web(), alert.Channel{ID: "chn_2", Kind: alert.ChannelWebhook}); err == nil {
			t.Fatal("a change was saved that the store did not confirm")
		}
		pass(4 * time.Second)
		o.settle(o.orders(5))
		pass(time.Second)
		if got := o.only().Seen.LastValue; got == nil || *got != 9 {
			t.Errorf("the value is %v, want 9", got)
		}
	})
}

// TestNobodyPolls counts the readings of rules of every kind in an hour: the first of a new rule, the second that
// confirms it, and then one in fifteen minutes.
func TestNobodyPolls(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rush()
		o.rule(alert.Metric, func(p *alert.Patch) {
			below, condition := "lt", alert.Condition{Name: "heat", Agg: "p95"}
			p.Comparator, p.Condition = &below, &condition
		})
		o.settle(o.orders(10))
		pass(time.Minute)
		if n := o.measurements(); n != 4 {
			t.Errorf("%d readings in the first minute, want 4", n)
		}
		pass(time.Hour)
		if n := o.measurements(); n != 8 {
			t.Errorf("%d readings in an hour, want 8", n)
		}
	})
}

// TestErrorsPerSession checks that a session-rate rule is measured when an error was stored.
func TestErrorsPerSession(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.ErrorRate, func(p *alert.Patch) { p.Condition = &alert.Condition{Per: "session"} })
		pass(time.Second)
		o.want("without errors")
		failed := o.block()
		failed.occurrences = []occurrence.Row{{EnvironmentNumber: 7, Occurrence: occurrence.Occurrence{Ts: time.Now()}}}
		if !o.preview(failed) {
			t.Error("it does not flush soon for an error")
		}
		o.set(func() { o.ratio = 2 })
		o.settle(failed)
		o.want("in the same turn", "1s pager open")
		o.set(func() { o.ratio = 0 })
		pass(5 * time.Minute)
		if got := o.take(); len(got) != 1 {
			t.Errorf("told %v, want the end", got)
		}
	})
}

// TestOurOwnOutageIsNoSilence has a rule that waits for silence. The time before a start is unknown, not silence, for
// one window.
func TestOurOwnOutageIsNoSilence(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		below := "lt"
		o.rule(alert.EventVolume, func(p *alert.Patch) { p.Comparator = &below })
		pass(119 * time.Second)
		o.want("in the first window")
		if row := o.only(); !row.Seen.SuppressedUntil.Equal(o.begun.Add(2 * time.Minute)) {
			t.Errorf("suppressed until %s", row.Seen.SuppressedUntil)
		}
		pass(time.Second)
		o.want("after the first window", "2m0s pager open")
	})
}

// TestANewIssueCountsOnce reports a block more than once, each time with other issues, as attempts that a crash divides
// do: each issue counts once.
func TestANewIssueCountsOnce(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.NewIssue, nil)
		tell := func(issues ...uint64) {
			t.Helper()
			news := issue.NewIssues{Environment: 7, Block: 1 << 63}
			for _, i := range issues {
				news.Issues = append(news.Issues, issue.TitledIssue{Issue: i, Title: fmt.Sprint("Error ", i)})
			}
			if err := o.alerts.NewIssues(t.Context(), web(), news); err != nil {
				t.Fatal(err)
			}
			pass(0)
		}
		tell(1, 2)
		tell(2, 3, 4)
		o.reopen(time.Second)
		tell(4)
		tell(1, 5)
		incident := o.only().Seen.Incident
		if incident.Occurrences != 5 || incident.Title != "Rule — new issue: Error 5" {
			t.Errorf("%d occurrences, %s", incident.Occurrences, incident.Title)
		}
	})
}

// TestABlockOfNewIssuesCountsOnce reports blocks again, at once and after a restart.
func TestABlockOfNewIssuesCountsOnce(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.NewIssue, nil)
		tell := func(block uint64, others int) {
			t.Helper()
			if err := o.alerts.NewIssues(t.Context(), web(), issue.NewIssues{Environment: 7, Block: block, ID: "iss_1", Title: "Error: x", Others: others}); err != nil {
				t.Fatal(err)
			}
			pass(0)
		}
		tell(1<<63, 0)
		tell(1<<63, 0)
		tell(2, 3)
		o.reopen(time.Second)
		tell(2, 3)
		tell(1<<63, 0)
		incident := o.only().Seen.Incident
		if incident.Occurrences != 5 || incident.Title != "Rule — 4 new issues, one of them: Error: x" {
			t.Errorf("%+v", incident)
		}
		o.want("in all", "0s pager open")
	})
}

func TestTheRulebookKnowsTheNewestRules(t *testing.T) {
	rule := func(kind alert.Kind, environment uint64, comparator, word string) alert.Rule {
		rule := alert.Rule{ID: string(kind) + word, Number: environment, Spec: alert.Spec{Kind: kind, Comparator: comparator, Enabled: true, WindowMinutes: 5}}
		rule.Condition.Name, rule.Condition.Agg = word, "sum"
		return rule
	}
	app := web()
	book := NewRuleIndex()
	version := func(n uint32) domain.Version { return domain.Version{Generation: n} }
	book.Publish(version(2), app, []alert.Rule{
		rule(alert.EventVolume, 1, "gt", ""), rule(alert.EventVolume, 1, "gte", "order"), rule(alert.EventVolume, 1, "lt", "order"),
		rule(alert.Metric, 2, "gt", "cpu"), rule(alert.NewIssue, 3, "gt", ""),
	})
	book.Publish(version(1), app, nil) // an older one
	saw := func(rows officeBlock) (got []string) {
		for _, counts := range rows.count(book).byApp(func(domain.AppRef) bool { return true }, false) {
			for _, c := range counts {
				got = append(got, fmt.Sprintf("%d %s %q %d %v", c.Counter.Environment, c.Counter.Kind, c.Counter.Word, c.Slots[0].Count, c.Slots[0].Sum))
			}
		}
		slices.Sort(got)
		return got
	}
	var b officeBlock
	for n := range uint64(3) {
		for _, name := range []string{"order", "click", "silence"} {
			row := event.Row{EnvironmentNumber: n}
			row.Name, row.Ts = name, time.Now()
			b.rows = append(b.rows, row)
			row.IsBot = true
			b.rows = append(b.rows, row)
		}
		b.points = append(b.points, point("cpu", 1, time.Now()), point("disk", 1, time.Now()))
		b.points[2*n].Environment, b.points[2*n+1].Environment = n, n
	}
	b.occurrences = []occurrence.Row{{EnvironmentNumber: 3, Issue: 9}}
	if got, want := saw(b), []string{`1 event_volume "" 3 0`, `1 event_volume "order" 1 0`, `2 metric "cpu" 1 1`}; !slices.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	soon := false
	for _, set := range book.take() {
		soon = soon || set.environment == 3 && set.flushSoon.Load()
	}
	if !soon {
		t.Error("nobody hurries for an issue that may be new")
	}
	book.Publish(version(3), app, nil)
	if got := saw(b); len(got) != 0 || len(book.take()) != 0 || book.sets.Len() != 0 {
		t.Errorf("counted %v, %d environments are known, after the rules are gone", got, book.sets.Len())
	}
}

// point returns one observation.
func point(name string, value float64, at time.Time, labels ...metric.Label) metric.Row {
	return metric.Row{Environment: 7, Name: name, Ts: at, Labels: labels, Totals: metric.Totals{Count: 1, Sum: value, Min: value, Max: value}}
}
