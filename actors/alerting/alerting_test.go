package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/issue"
	"svc/domain/monitor"
	"svc/domain/occurrence"
)

// office is the test environment of alerts: a store that outlives nodes, and channels that may be down.
type office struct {
	t     *testing.T
	begun time.Time
	store *actorstest.Store
	ids   int

	mu sync.Mutex
	// sent lists the notices that arrived, by seconds since the beginning. broken makes channels refuse; final makes
	// them refuse for good.
	sent          []string
	broken, final bool
	// titles are the titles of the incidents of the notices that arrived.
	titles []string
	// ratio is the result of dividing errors by sessions. asked counts the measurements and the readings of windows.
	ratio float64
	asked int
	// stored are the blocks of the stream; away makes them unreadable; slow is how long the answer takes. started is
	// when the service began, if it is not when the node did.
	stored  []officeBlock
	slow    time.Duration
	away    bool
	started time.Time
	rules   *RuleIndex

	schedule *Schedule
	alerts   *Alerts
	stop     func()
}

var errRefusing = errors.New("away")

func (o *office) Send(_ context.Context, channel alert.Channel, d alert.Delivery) (retry bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.broken {
		return !o.final, errRefusing
	}
	at := time.Since(o.begun).Round(time.Second)
	o.sent = append(o.sent, fmt.Sprintf("%s %s %s", at, channel.Name, d.Notice.Event))
	o.titles = append(o.titles, fmt.Sprintf("%s %s %s", at, d.Notice.Event, d.Notice.Incident.Title))
	return false, nil
}

func (o *office) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// take returns the notices that arrived since its last call.
func (o *office) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := o.sent
	o.sent = nil
	return sent
}

func (o *office) Measure(_ context.Context, rules []alert.Rule, _ time.Time) []Measured {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked += len(rules)
	out := make([]Measured, len(rules))
	for i := range out {
		out[i] = Measured{Value: o.ratio, Known: true}
	}
	return out
}

// open runs a node with the office's store.
func (o *office) open() {
	logger := slog.New(slog.DiscardHandler)
	if o.rules = NewRuleIndex(); o.started.IsZero() {
		o.started = time.Now()
	}
	rules := map[string][]domain.Entity{}
	for _, rule := range o.store.Present(KindRule) {
		rules[rule.Owner] = append(rules[rule.Owner], rule)
	}
	for _, owned := range rules {
		o.rules.PublishEntities(owned, nil)
	}
	node := &grain.Node{Store: o.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: logger}
	host := actorstest.NewHostOf(o.t, func(c *cluster.Cluster) []cluster.Kind {
		o.schedule = NewSchedule(c, time.Now, NewScheduleMetrics(prometheus.NewRegistry()), logger)
		ports := &Ports{Actors: c, Store: o.store, Schedule: o.schedule, Measures: o, Sender: o, Rules: o.rules, Started: o.started, Logger: logger}
		return []cluster.Kind{Kind(node, ports)}
	})
	o.alerts = &Alerts{Actors: host, Workers: grain.NewWorkers(), Random: grain.Random{ID: func(prefix string) string { o.ids++; return fmt.Sprintf("%s%026d", prefix, o.ids) }}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = o.schedule.Run(ctx) }()
	told := o.alerts.Workers
	o.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		host.Stop()
		stopWorkers(o.t, node.Workers) // a round may wait for the answer of an actor that is gone
		stopWorkers(o.t, told)
	})
	o.t.Cleanup(func() { o.stop() })
}

// reopen ends the node and runs another one with the same store.
func (o *office) reopen(pause time.Duration) {
	o.t.Helper()
	o.stop()
	<-time.After(pause)
	o.open()
	o.schedule.Add(KindAlerting, "acme/web", time.Now(), alertTimeout)
	pass(0)
}

func inOffice(t *testing.T, test func(t *testing.T, o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &office{t: t, begun: time.Now(), store: actorstest.NewStore()}
		o.open()
		if _, err := o.alerts.PutChannel(t.Context(), web(), alert.Channel{ID: "chn_1", Name: "pager", Kind: alert.ChannelWebhook}); err != nil {
			t.Fatal(err)
		}
		test(t, o)
		o.stop()
		pass(time.Minute) // the library throttles dead letters, and its throttle outlives the messages to a stopped actor
	})
}

func web() domain.AppRef { return domain.AppRef{Org: "acme", App: "web"} }

// rule makes a rule that notifies the pager.
func (o *office) rule(kind alert.Kind, change func(*alert.Patch)) alert.Row {
	o.t.Helper()
	name, threshold, window, channels := "Rule", 1.0, 2, []string{"chn_1"}
	comparator, condition := "gte", alert.Condition{MonitorID: "mon_1"}
	patch := alert.Patch{Name: &name, Kind: &kind, Threshold: &threshold, WindowMinutes: &window, ChannelIDs: &channels, Comparator: &comparator, Condition: &condition}
	if change != nil {
		change(&patch)
	}
	row, err := o.alerts.PutRule(o.t.Context(), web(), "", domain.Environment{Slug: "production", Number: 7}, patch)
	if err != nil {
		o.t.Fatal(err)
	}
	return row
}

// failing reports a number of failures in a row to the rules of a monitor.
func (o *office) failing(failures uint32) {
	state := monitor.State{LastCheckedAt: time.Now(), ConsecutiveFailures: failures}
	if failures > 0 {
		state.LastStatus = monitor.StatusDown
	}
	if err := o.alerts.ReportUptime(o.t.Context(), web(), monitor.Monitor{ID: "mon_1"}, state); err != nil {
		o.t.Fatal(err)
	}
	pass(0)
}

func (o *office) want(what string, sent ...string) {
	o.t.Helper()
	if got := o.take(); !reflect.DeepEqual(got, sent) {
		o.t.Errorf("%s: told %v, want %v", what, got, sent)
	}
}

// only returns the only rule.
func (o *office) only() alert.Row {
	o.t.Helper()
	rows, err := o.alerts.Rules(o.t.Context(), web())
	if err != nil || len(rows) != 1 {
		o.t.Fatalf("%d rules, %v", len(rows), err)
	}
	return rows[0]
}

// TestAnIncidentResolvesByItself lets a monitor fail and pass once: no other notice is sent, and after one window the
// schedule ends the incident.
func TestAnIncidentResolvesByItself(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.Uptime, nil)
		o.failing(1)
		o.want("in the same turn", "0s pager open")
		pass(time.Minute)
		o.failing(0)
		pass(119 * time.Second)
		o.want("before the window is over")
		pass(2 * time.Second)
		o.want("after the window", "3m0s pager resolved")
		pass(24 * time.Hour)
		o.want("a day later")
		if row := o.only(); row.Seen.State != alert.OK || row.Seen.Incident.Status != alert.IncidentResolved || row.Seen.Incident.ResolvedBy != nil {
			t.Errorf("the rule is %s, its incident %+v", row.Seen.State, row.Seen.Incident)
		}
	})
}

// TestRestartsTellNothingTwice restarts the node while a rule fires, while it recovers,
// and while a notice is on its way.
func TestRestartsTellNothingTwice(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.Uptime, nil)
		o.failing(2)
		o.want("at first", "0s pager open")
		o.reopen(10 * time.Second)
		o.failing(3)
		o.want("after a restart while it fires")
		pass(time.Second)
		o.failing(0)
		recovered := time.Since(o.begun)
		o.reopen(20 * time.Second)
		o.set(func() { o.broken = true })
		pass(2*time.Minute - 20*time.Second)
		o.want("while the channel is down")
		o.set(func() { o.broken = false })
		o.reopen(5 * time.Second)
		pass(time.Minute)
		if got := o.take(); len(got) != 1 || time.Since(o.begun) < recovered+2*time.Minute {
			t.Errorf("after all that: told %v, want the end once", got)
		}
		pass(time.Hour)
		o.want("later")
	})
}

// TestNothingIsLostWhileAChannelIsDown lets the channel refuse for an hour: then it receives the beginning before the
// end.
func TestNothingIsLostWhileAChannelIsDown(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.Uptime, nil)
		o.set(func() { o.broken = true })
		o.failing(1)
		pass(time.Minute)
		o.failing(0)
		pass(time.Hour)
		o.want("while it is down")
		o.set(func() { o.broken = false })
		pass(time.Hour)
		got := o.take()
		if len(got) != 2 || got[0][len(got[0])-4:] != "open" || got[1][len(got[1])-8:] != "resolved" {
			t.Errorf("told %v, want the beginning and then the end", got)
		}
	})
}

func TestARefusalForGoodIsNotRepeated(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.Uptime, nil)
		o.set(func() { o.broken, o.final = true, true })
		o.failing(1)
		o.set(func() { o.broken = false })
		pass(time.Hour)
		o.want("afterwards")
	})
}

func TestNewIssues(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.NewIssue, nil)
		block := uint64(0)
		issue := func(environment uint64, id string) {
			t.Helper()
			block++
			if err := o.alerts.NewIssues(t.Context(), web(), issue.NewIssues{Environment: environment, Block: block, ID: id, Title: "TypeError"}); err != nil {
				t.Fatal(err)
			}
			pass(0)
		}
		issue(8, "iss_0")
		o.want("another environment")
		issue(7, "iss_1")
		o.want("in the same turn", "0s pager open")
		issue(7, "iss_2")
		if incident := o.only().Seen.Incident; incident.Occurrences != 2 || incident.IssueID != "iss_2" || incident.Title != "Rule — new issue: TypeError" {
			t.Errorf("%+v", incident)
		}
		pass(3 * time.Minute)
		o.want("after a window without any", "2m0s pager resolved")
	})
}

// TestRegressions lets issues regress, some with one block, some soon after each other.
func TestRegressions(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.NewIssue, nil)
		block := uint64(100)
		back := func(issues ...uint64) {
			t.Helper()
			block++
			told := issue.Regressions{Environment: 7, Block: block}
			for _, i := range issues {
				told.Issues = append(told.Issues, issue.TitledIssue{Issue: i, Title: fmt.Sprint("Error ", i)})
			}
			for range 2 { // it may be reported again
				if err := o.alerts.Regressed(t.Context(), web(), told); err != nil {
					t.Fatal(err)
				}
			}
			pass(0)
		}
		title := func(want string, occurrences uint64) {
			t.Helper()
			if incident := o.only().Seen.Incident; incident.Title != want || incident.Occurrences != occurrences {
				t.Errorf("%+v, want %s", incident, want)
			}
		}
		if err := o.alerts.NewIssues(t.Context(), web(), issue.NewIssues{Environment: 7, Block: 1, ID: occurrence.IssueID(1), Title: "Error 1"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		o.want("a new issue", "0s pager open")
		back(1)
		o.want("it comes back while its incident is open", "1s pager open")
		title("Rule — regressed: Error 1", 2)
		pass(time.Second)
		back(1)
		o.want("it comes back once more", "2s pager open")
		back(2)
		back(3)
		o.want("others right after it")
		title("Rule — regressed: Error 3", 5)
		pass(59 * time.Second)
		o.want("before a minute is over")
		pass(2 * time.Second)
		o.want("a minute after the last notice", "1m2s pager open")
		incident := o.only().Seen.Incident
		if _, err := o.alerts.Acknowledge(t.Context(), web(), incident.ID, domain.LedgerActor{ID: "usr_1"}); err != nil {
			t.Fatal(err)
		}
		back(3)
		o.want("what somebody looks after comes back", "1m3s pager open")
		if got := o.only().Seen.Incident; got.Status != alert.IncidentOpen || got.ID != incident.ID {
			t.Errorf("%+v", got)
		}
		pass(10 * time.Minute)
		o.want("after a window without any", "3m3s pager resolved")
		back(4, 5, 6)
		o.want("within the cooldown", "11m3s pager open")
		title("Rule — 3 issues regressed, one of them: Error 4", 3)
		if again := o.only().Seen.Incident; again.ID == incident.ID {
			t.Error("the old incident goes on, whose end was told")
		}
		o.reopen(time.Second)
		back(4)
		o.want("after a restart", "11m5s pager open")
	})
}

// TestARuleMayLeaveRegressionsOut has one rule that fires on them and one that does not.
func TestARuleMayLeaveRegressionsOut(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		row := o.rule(alert.NewIssue, func(patch *alert.Patch) { patch.Condition = &alert.Condition{Regressions: new(false)} })
		told := issue.Regressions{Environment: 7, Block: 1, Issues: []issue.TitledIssue{{Issue: 1, Title: "E"}}}
		if err := o.alerts.Regressed(t.Context(), web(), told); err != nil {
			t.Fatal(err)
		}
		o.want("left out")
		if _, err := o.alerts.PutRule(t.Context(), web(), row.ID, domain.Environment{}, alert.Patch{Condition: &alert.Condition{}}); err != nil {
			t.Fatal(err)
		}
		if err := o.alerts.Regressed(t.Context(), web(), told); err != nil {
			t.Fatal(err)
		}
		pass(0)
		o.want("not left out any more", "0s pager open")
	})
}

func TestDeletedAndDisabledRulesEnd(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		row := o.rule(alert.Uptime, nil)
		o.failing(1)
		o.take()
		disabled := false
		if _, err := o.alerts.PutRule(t.Context(), web(), row.ID, domain.Environment{}, alert.Patch{Enabled: &disabled}); err != nil {
			t.Fatal(err)
		}
		pass(0)
		o.want("disabled", "0s pager resolved")
		pass(time.Second)
		o.failing(5)
		o.want("while it is disabled")
		if err := o.alerts.DeleteChannel(t.Context(), web(), "chn_1"); domain.CodeOf(err) != domain.CodeConflict {
			t.Errorf("deleting a channel in use: %v", err)
		}
		if err := o.alerts.DeleteRule(t.Context(), web(), row.ID); err != nil {
			t.Fatal(err)
		}
		if err := o.alerts.DeleteChannel(t.Context(), web(), "chn_1"); err != nil {
			t.Error(err)
		}
	})
}

// TestAMonitorThatIsNotCheckedAnyMoreEndsItsIncident stops a monitor, so that no check can report it up again.
func TestAMonitorThatIsNotCheckedAnyMoreEndsItsIncident(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		o.rule(alert.Uptime, nil)
		o.failing(3)
		o.want("down", "0s pager open")
		pass(time.Second)
		for range 2 { // it may be repeated
			if err := o.alerts.MonitorStopped(t.Context(), web(), "mon_1"); err != nil {
				t.Fatal(err)
			}
		}
		late := monitor.State{LastCheckedAt: time.Now().Add(-time.Millisecond), ConsecutiveFailures: 4, LastStatus: monitor.StatusDown}
		if err := o.alerts.ReportUptime(t.Context(), web(), monitor.Monitor{ID: "mon_1"}, late); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		o.want("not checked any more", "1s pager resolved")
		if row := o.only(); row.Seen.State != alert.OK || row.Seen.LastValue != nil || row.Seen.Incident.Live() {
			t.Errorf("the rule has seen %+v", row.Seen)
		}
		o.failing(5)
		o.want("checked again and still down", "1h0m1s pager open")
	})
}

func TestAnUnknownChannelIsRefused(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		kind, name, channels := alert.NewIssue, "x", []string{"chn_1", "chn_2"}
		_, err := o.alerts.PutRule(t.Context(), web(), "", domain.Environment{Slug: "production"}, alert.Patch{Kind: &kind, Name: &name, ChannelIDs: &channels})
		want := domain.Invalid(domain.FieldError{Field: "channelIds[1]", Code: "unknown_channel", Message: `There is no channel "chn_2".`})
		if !actorstest.SameError(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	})
}

func TestARuleKeepsItsEnvironment(t *testing.T) {
	inOffice(t, func(t *testing.T, o *office) {
		row, off := o.rule(alert.Uptime, nil), false
		for environment, refused := range map[string]bool{"": false, "production": false, "staging": true} {
			_, err := o.alerts.PutRule(t.Context(), web(), row.ID, domain.Environment{Slug: environment, Number: 8}, alert.Patch{Enabled: &off})
			if want := domain.Invalid(alert.EnvironmentFixed("env", "production")); refused && !actorstest.SameError(err, want) || !refused && err != nil {
				t.Errorf("%q: %v", environment, err)
			}
		}
		if row := o.only(); row.Environment != "production" || row.Number != 7 {
			t.Errorf("the rule moved to %s, %d", row.Environment, row.Number)
		}
	})
}
