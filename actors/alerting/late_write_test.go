package alerting

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/issue"
)

// versioned is a store of entities in which the higher version wins, as in any store.
type versioned map[string]domain.Entity

// put stores the writes of an outcome under a version.
func (s versioned) put(t *testing.T, writes []grain.Write, version domain.Version) {
	t.Helper()
	for _, write := range writes {
		payload, err := json.Marshal(write.Value)
		if err != nil {
			t.Fatal(err)
		}
		key := write.Kind + " " + write.ID
		if version.Number() > s[key].Version.Number() {
			s[key] = domain.Entity{Owner: KindAlerting + "/acme/web", Kind: write.Kind, ID: write.ID, Version: version, Payload: payload}
		}
	}
}

// activate returns the core of an actor that has loaded the store.
func (s versioned) activate(t *testing.T, now time.Time) *alerting {
	t.Helper()
	a := &alerting{
		app: web(), started: now, now: func() time.Time { return now },
		publish: func(domain.Version, domain.AppRef, []alert.Rule) {}, changed: func(domain.Version) {},
	}
	if err := a.Restore(slices.Collect(maps.Values(s))); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestALateWriteCountsNoIssueTwice stores the writes of the previous owner about issues late. They arrive after the
// next owner has loaded, and again after it has written something else. Then the same issues are reported again.
func TestALateWriteCountsNoIssueTwice(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	of := func(numbers ...uint64) (issues []issue.TitledIssue) {
		for _, number := range numbers {
			issues = append(issues, issue.TitledIssue{Issue: number, Title: "E"})
		}
		return issues
	}
	begin := issue.NewIssues{Environment: 1, Block: 1, Issues: of(1)}
	news := issue.NewIssues{Environment: 1, Block: 7, Issues: of(2, 3)}
	back := issue.Regressions{Environment: 1, Block: 8, Issues: of(1)}
	other := issue.Regressions{Environment: 1, Block: 9, Issues: of(2)}
	told := func(t *testing.T, outcome grain.Outcome[grain.None], err error) []grain.Write {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return outcome.Writes
	}
	tellNews := func(t *testing.T, a *alerting) []grain.Write {
		outcome, err := a.onIssues(now, news)
		return told(t, outcome, err)
	}
	tellBack := func(t *testing.T, a *alerting) []grain.Write {
		outcome, err := a.onRegressions(now, back)
		return told(t, outcome, err)
	}
	tellOther := func(t *testing.T, a *alerting) []grain.Write {
		outcome, err := a.onRegressions(now, other)
		return told(t, outcome, err)
	}
	nothing := func(*testing.T, *alerting) []grain.Write { return nil }
	acknowledge := func(t *testing.T, a *alerting) []grain.Write {
		outcome, err := a.onAcknowledge(now, incidentCommand{ID: a.states["rul_back"].Incident.ID})
		if err != nil {
			t.Fatal(err)
		}
		return outcome.Writes
	}
	type deed = func(*testing.T, *alerting) []grain.Write
	for _, test := range []struct {
		name            string
		late, meanwhile deed
		news, back      uint64
	}{
		{"new issues, and nothing else", tellNews, nothing, 3, 3},
		{"new issues while others regress", tellNews, tellOther, 3, 4},
		{"new issues while a person acknowledges", tellNews, acknowledge, 3, 3},
		{"a regression, and nothing else", tellBack, nothing, 1, 2},
		{"a regression while others regress", tellBack, tellOther, 1, 3},
		{"a regression while a person acknowledges", tellBack, acknowledge, 1, 2},
		{"a regression while issues are new", tellBack, tellNews, 3, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := versioned{}
			var rules []grain.Write
			for id, regressions := range map[string]bool{"rul_news": false, "rul_back": true} {
				rules = append(rules, grain.Put(KindRule, id, alert.Rule{
					ID: id, Number: 1, Environment: "production",
					Spec: alert.Spec{Name: id, Kind: alert.NewIssue, Enabled: true, Comparator: "gt", WindowMinutes: 5, Condition: alert.Condition{Regressions: &regressions}},
				}))
			}
			store.put(t, rules, domain.Version{Generation: 1})
			first, err := store.activate(t, now).onIssues(now, begin)
			store.put(t, told(t, first, err), domain.Version{Generation: 1, Sequence: 1})

			before, next := store.activate(t, now), store.activate(t, now)
			late := test.late(t, before)
			store.put(t, test.meanwhile(t, next), domain.Version{Generation: 3, Sequence: 1})
			store.put(t, late, domain.Version{Generation: 2, Sequence: 1})

			again := store.activate(t, now)
			store.put(t, test.late(t, again), domain.Version{Generation: 3, Sequence: 2})
			last := store.activate(t, now)
			if got := last.states["rul_news"].Incident.Occurrences; got != test.news {
				t.Errorf("the rule for new issues counts %d, want %d", got, test.news)
			}
			if got := last.states["rul_back"].Incident.Occurrences; got != test.back {
				t.Errorf("the rule for regressions as well counts %d, want %d", got, test.back)
			}
		})
	}
}

// TestWhatAnEarlierVersionWasToldOfIsKnown restores an actor with rules that have no issue names of their own.
func TestWhatAnEarlierVersionWasToldOfIsKnown(t *testing.T) {
	t.Parallel()
	now, store := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), versioned{}
	store.put(t, []grain.Write{
		grain.Put(KindRule, "rul_1", alert.Rule{ID: "rul_1", Number: 1, Spec: alert.Spec{Kind: alert.NewIssue, Enabled: true}}),
		grain.Put(kindAlertState, "rul_1", alert.State{State: alert.Firing, Incident: &alert.Incident{ID: "inc_1", Occurrences: 4}}),
		grain.Put(kindReported, "1", reportedIssues{Blocks: []uint64{6}, Issues: []uint64{issueOfBlock(7, 2)}, Regressed: []uint64{issueOfBlock(8, 1)}}),
	}, domain.Version{Generation: 1})
	a := store.activate(t, now)
	for _, m := range []issue.NewIssues{{Environment: 1, Block: 6}, {Environment: 1, Block: 7, Issues: []issue.TitledIssue{{Issue: 2}}}} {
		if outcome, err := a.onIssues(now, m); err != nil || len(outcome.Writes) > 0 {
			t.Errorf("new issues of block %d count again: %v, %v", m.Block, outcome.Writes, err)
		}
	}
	m := issue.Regressions{Environment: 1, Block: 8, Issues: []issue.TitledIssue{{Issue: 1}}}
	if outcome, err := a.onRegressions(now, m); err != nil || len(outcome.Writes) > 0 {
		t.Errorf("a regression counts again: %v, %v", outcome.Writes, err)
	}
}
