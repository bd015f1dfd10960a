package actors

import (
	"fmt"
	"testing"
	"time"

	"svc"
)

// stream tells of what was taken in, and says whether the rules want to look.
func (o *office) stream(n uint64) bool {
	o.t.Helper()
	told := toldStream{Counts: []streamCount{{Environment: 7, Kind: svc.AlertEventVolume, Word: "order", N: n}}}
	answer, err := ask[heardStream](o.t.Context(), o.alerts.Actors, KindAlerting, web().String(), "stream", told)
	if err != nil {
		o.t.Fatal(err)
	}
	return answer.Look
}

// look says that everything told of is stored.
func (o *office) look() {
	o.t.Helper()
	if _, err := ask[none](o.t.Context(), o.alerts.Actors, KindAlerting, web().String(), "look", none{}); err != nil {
		o.t.Fatal(err)
	}
	pass(0)
}

// rush makes a rule that fires at ten orders.
func (o *office) rush() {
	o.t.Helper()
	o.rule(svc.AlertEventVolume, func(p *svc.AlertPatch) {
		threshold, condition := 10.0, svc.AlertCondition{Name: "order"}
		p.Threshold, p.Condition = &threshold, &condition
	})
}

// measurements returns how many there were since it was last called.
func (o *office) measurements() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked := o.asked
	o.asked = 0
	return asked
}

// TestTheStreamSaysWhenToLook has a rule look only where enough may have happened, and
// believe the store.
func TestTheStreamSaysWhenToLook(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rush()
		pass(2 * time.Minute)
		o.set(func() { o.volume = 4 })
		pass(time.Minute)
		o.measurements()
		if o.stream(5) {
			t.Error("it looks at nine of ten")
		}
		if !o.stream(1) {
			t.Error("it does not look at ten of ten")
		}
		o.set(func() { o.volume = 9 })
		o.look()
		o.want("the store knows of nine only")
		pass(roomLag + 2*time.Second)
		if n := o.measurements(); n > 2 {
			t.Errorf("%d measurements while nothing happened", n)
		}
		o.set(func() { o.volume = 10 })
		if !o.stream(1) {
			t.Error("it does not look at one more")
		}
		at := time.Since(o.begun).Round(time.Second)
		o.look()
		o.want("in the same turn", fmt.Sprint(at, " pager open"))
		if o.stream(100) {
			t.Error("it looks while it fires")
		}
	})
}

// TestCalmRulesAreMeasuredSeldom counts the measurements of a rule that is far from firing,
// of one that waits for silence, and of one that fires.
func TestCalmRulesAreMeasuredSeldom(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rush()
		pass(10 * time.Minute)
		o.measurements()
		pass(10 * time.Minute)
		if n := o.measurements(); n != 10 {
			t.Errorf("calm: %d measurements in ten minutes, want 10", n)
		}
		o.set(func() { o.volume = 10 })
		pass(time.Minute)
		o.measurements()
		pass(10 * time.Minute)
		if n := o.measurements(); n != 60 {
			t.Errorf("firing: %d measurements in ten minutes, want 60", n)
		}
		below := "lt"
		if _, err := o.alerts.PutRule(t.Context(), web(), o.only().ID, svc.Environment{}, svc.AlertPatch{Comparator: &below}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		o.measurements()
		pass(10 * time.Minute)
		if n := o.measurements(); n != 60 {
			t.Errorf("waiting for silence: %d measurements in ten minutes, want 60", n)
		}
	})
}

// TestABlockOfNewIssuesCountsOnce tells of blocks again, at once and after a restart.
func TestABlockOfNewIssuesCountsOnce(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(svc.AlertNewIssue, nil)
		tell := func(block uint64, others int) {
			t.Helper()
			if err := o.alerts.NewIssues(t.Context(), web(), svc.NewIssues{Environment: 7, Block: block, ID: "iss_1", Title: "Error: x", Others: others}); err != nil {
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
	rule := func(kind svc.AlertKind, environment uint64, comparator, word string) svc.AlertRule {
		rule := svc.AlertRule{ID: string(kind) + word, Number: environment, AlertSpec: svc.AlertSpec{Kind: kind, Comparator: comparator, Enabled: true}}
		rule.Condition.Name = word
		return rule
	}
	app := web()
	book := NewRulebook()
	version := func(n uint32) svc.Version { return svc.Version{Generation: n} }
	book.Publish(version(2), app, []svc.AlertRule{
		rule(svc.AlertEventVolume, 1, "gt", ""), rule(svc.AlertEventVolume, 1, "gte", "order"), rule(svc.AlertEventVolume, 1, "lt", "silence"),
		rule(svc.AlertMetric, 2, "gt", "cpu"), rule(svc.AlertNewIssue, 3, "gt", ""),
	})
	book.Publish(version(1), app, nil) // an older one
	saw := func(environment uint64, name string, bot bool) {
		row := svc.EventRow{EnvironmentNumber: environment}
		row.Name, row.IsBot = name, bot
		book.sawEvent(&row)
	}
	for _, name := range []string{"order", "click", "silence"} {
		saw(1, name, false)
		saw(1, name, true)
		saw(2, name, false)
	}
	failed := svc.OccurrenceRow{EnvironmentNumber: 3, Issue: 9}
	book.sawError(&failed)
	got := map[string]uint64{}
	for _, set := range book.take() {
		for _, tally := range set.tallies {
			got[fmt.Sprint(set.environment, " ", tally.word)] = tally.n.Load()
		}
		if set.environment == 3 && !set.hurry.Load() {
			t.Error("nobody hurries for an issue that may be new")
		}
	}
	if want := map[string]uint64{"1 ": 3, "1 order": 1}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	book.known.add([]uint64{9})
	book.sawError(&failed)
	if left := book.take(); len(left) != 0 {
		t.Errorf("%d sets have something to tell of a known issue", len(left))
	}
	book.Publish(version(3), app, nil)
	saw(1, "order", false)
	if left := book.take(); len(left) != 0 || book.count.Load() != 0 {
		t.Errorf("%d sets have something to tell, %d are known, after the rules are gone", len(left), book.count.Load())
	}
}

func TestRoom(t *testing.T) {
	for _, test := range []struct {
		comparator, per  string
		threshold, value float64
		want             float64
	}{
		{"gte", "", 10, 4, 6}, {"gt", "", 10, 4, 7}, {"gte", "", 2.5, 0, 3}, {"gt", "", 2.5, 0, 3}, {"gt", "", 10, 40, 1}, {"gt", "session", 10, 0, 1},
	} {
		rule := svc.AlertRule{AlertSpec: svc.AlertSpec{Comparator: test.comparator, Threshold: test.threshold, Condition: svc.AlertCondition{Per: test.per}}}
		if got := rule.Room(test.value); got != test.want {
			t.Errorf("%s %v after %v: %v, want %v", test.comparator, test.threshold, test.value, got, test.want)
		}
	}
}
