package alerting

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/monitor"
)

// watchedSite is the target of monitors, with a script of its answers and a record of its checks.
type watchedSite struct {
	t       *testing.T
	begun   time.Time
	mu      sync.Mutex
	checks  []monitor.Check
	latest  map[string]monitor.State
	failing []string
	// stopped lists the monitors that were reported to their rules as no longer checked. deaf makes the rules not
	// answer.
	stopped []string
	deaf    bool
	// story returns the result of a check, by the time since the beginning. hang makes checks wait for their end.
	story func(after time.Duration) string
	hang  bool

	ids int
	// generation is the generation of the node's ownership.
	generation int32
	store      *actorstest.Store
	schedule   *Schedule
	found      *PrefetchedStates
	metrics    *ScheduleMetrics
	host       *actorstest.Host
	monitors   *Monitors
	stop       func()
}

func (w *watchedSite) Check(ctx context.Context, _ monitor.Spec) monitor.CheckResult {
	at := time.Now()
	w.mu.Lock()
	hang := w.hang
	w.mu.Unlock()
	if hang {
		<-ctx.Done()
	}
	return monitor.CheckResult{At: at, Error: w.story(at.Sub(w.begun))}
}

func (w *watchedSite) Append(check monitor.Check) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checks = append(w.checks, check)
	w.latest[check.Monitor] = check.State
}

func (w *watchedSite) MonitorState(_ context.Context, _ domain.AppRef, id string) (monitor.State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest[id], nil
}

func (w *watchedSite) learn(_ context.Context, _ domain.AppRef, monitor monitor.Monitor, state monitor.State) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = append(w.failing, fmt.Sprint(monitor.Name, " ", state.Down()))
	return nil
}

// take returns the checks since its last call, as second and status.
func (w *watchedSite) take() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, check := range w.checks {
		out = append(out, fmt.Sprintf("%s %s %d", check.Result.At.Sub(w.begun).Round(time.Second), check.State.LastStatus, check.State.ConsecutiveFailures))
	}
	w.checks = nil
	return out
}

// start runs a node with the stored state of watchedSite.
func (w *watchedSite) start() {
	logger := slog.New(slog.DiscardHandler)
	w.metrics = NewScheduleMetrics(prometheus.NewRegistry())
	w.generation = 1
	w.found = &PrefetchedStates{Generation: func() (int32, bool) { return w.generation, true }}
	node := &grain.Node{Store: w.store, Workers: grain.NewWorkers(), Now: time.Now, Logger: logger}
	w.host = actorstest.NewHostOf(w.t, func(c *cluster.Cluster) []cluster.Kind {
		w.schedule = NewSchedule(c, time.Now, w.metrics, logger)
		return []cluster.Kind{MonitorKind(node, &MonitorPorts{
			States: w, Probe: w, Checks: w, Schedule: w.schedule, Prefetched: w.found, Rules: monitor.Rules{LeastSeconds: 1}, Report: w.learn, Logger: logger,
		})}
	})
	w.monitors = &Monitors{Store: w, Alerts: w, Targets: w, Rules: monitor.Rules{LeastSeconds: 1}, Now: time.Now, Actors: w.host, Random: grain.Random{ID: func(prefix string) string { w.ids++; return fmt.Sprintf("%s%026d", prefix, w.ids) }}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = w.schedule.Run(ctx) }()
	host := w.host
	w.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		host.Stop()
		stopWorkers(w.t, node.Workers) // a check may wait for an answer
	})
	w.t.Cleanup(func() { w.stop() })
}

// fill schedules the stored monitors, as a starting node does.
func (w *watchedSite) fill() {
	w.t.Helper()
	fill := ScheduleMonitors(w.schedule, w.found, w.all)
	if err := fill(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// all yields the stored monitors.
func (w *watchedSite) all(_ context.Context, yield func(monitor.StoredMonitor)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, entity := range w.store.Present(kindMonitor) {
		definition, err := grain.Decode[monitor.Monitor](entity)
		if err != nil {
			return err
		}
		yield(monitor.StoredMonitor{App: domain.AppRef{Org: "acme", App: "web"}, Monitor: definition, State: w.latest[definition.ID], Entity: entity})
	}
	return nil
}

func onSite(t *testing.T, test func(t *testing.T, w *watchedSite)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &watchedSite{t: t, begun: time.Now(), latest: map[string]monitor.State{}, store: actorstest.NewStore(), story: func(time.Duration) string { return "" }}
		w.start()
		test(t, w)
		w.stop()
		pass(time.Minute) // the library throttles dead letters, and its throttle outlives the messages to a stopped actor
	})
}

func (w *watchedSite) put(id string, patch monitor.Patch) monitor.Row {
	w.t.Helper()
	row, err := w.monitors.PutMonitor(w.t.Context(), domain.AppRef{Org: "acme", App: "web"}, id, patch)
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

func named(name string, seconds int) monitor.Patch {
	url := "https://site.example/"
	return monitor.Patch{Name: &name, URL: &url, IntervalSeconds: &seconds}
}

// pass lets time pass until nothing runs any more.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestAMonitorsDay checks the times of the checks for a script of a target: at once when the monitor is made, then
// every minute, and sooner while a failure is not confirmed.
func TestAMonitorsDay(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		// The regular times depend on the id; the test is about the distances.
		w.story = func(after time.Duration) string {
			if after > 130*time.Second && after < 250*time.Second {
				return "down"
			}
			return ""
		}
		id := w.put("", named("Site", 60)).ID
		pass(0)
		if got := w.take(); !reflect.DeepEqual(got, []string{"0s up 0"}) {
			t.Fatalf("when it was made: %v", got)
		}
		first := (&monitor.Monitor{ID: id, Spec: monitor.Spec{IntervalSeconds: 60}}).Next(w.begun).Sub(w.begun).Round(time.Second)
		pass(6 * time.Minute)
		var want []string
		failures := 0
		for at := first; at <= 6*time.Minute; at += time.Minute {
			switch {
			case at > 130*time.Second && at < 250*time.Second && failures == 0:
				want = append(want, fmt.Sprintf("%s degraded 1", at), fmt.Sprintf("%s down 2", at+monitor.RecheckAfter))
				failures = 2
			case at > 130*time.Second && at < 250*time.Second:
				failures++
				want = append(want, fmt.Sprintf("%s down %d", at, failures))
			default:
				want = append(want, fmt.Sprintf("%s up 0", at))
				failures = 0
			}
		}
		if got := w.take(); !reflect.DeepEqual(got, want) {
			t.Errorf("the checks were\n%v, want\n%v", got, want)
		}
		if want := []string{"Site 0", "Site 2", "Site 3", "Site 0"}; !reflect.DeepEqual(w.failing, want) {
			t.Errorf("told of %v, want %v", w.failing, want)
		}
	})
}

// TestARestartGoesOn stops the node while a monitor fails.
func TestARestartGoesOn(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		w.story = func(time.Duration) string { return "down" }
		row := w.put("", named("Site", 30))
		pass(40 * time.Second)
		before := w.latest[row.ID].ConsecutiveFailures
		w.stop()
		w.take()
		w.start()
		w.fill()
		pass(30 * time.Second)
		if got := w.latest[row.ID].ConsecutiveFailures; got != before+1 || len(w.take()) != 1 {
			t.Errorf("after the restart %d failures, before it %d", got, before)
		}
	})
}

func TestMonitorsAreSpread(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		for n := range 300 {
			w.put("", named(fmt.Sprint("Site ", n), 30))
		}
		pass(0)
		if got := len(w.take()); got != 300 {
			t.Fatalf("%d checks at the beginning", got)
		}
		pass(30 * time.Second)
		perSecond := map[string]int{}
		checks := w.take()
		for _, check := range checks {
			perSecond[check]++
		}
		if len(checks) != 300 {
			t.Errorf("%d checks in one interval of 300 monitors", len(checks))
		}
		for second, checks := range perSecond {
			if checks > 30 {
				t.Errorf("%d checks at %s", checks, second)
			}
		}
	})
}

// TestACheckThatDoesNotRunIsNoticed lets checks hang.
func TestACheckThatDoesNotRunIsNoticed(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		w.hang = true
		row := w.put("", named("Site", 30))
		pass(row.Timeout() + row.Interval() + grain.IOTime + time.Second)
		if got := countOf(t, w.metrics.Missed); got != 1 {
			t.Errorf("%v checks were missed", got)
		}
		w.hang = false
		w.stop()
	})
}

func TestDisabledAndDeletedMonitorsAreLeftAlone(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		disabled := false
		row := w.put("", named("Site", 30))
		gone := w.put("", named("Gone", 30))
		pass(0)
		w.take()
		if w.put(row.ID, monitor.Patch{Enabled: &disabled}).Name != "Site" {
			t.Error("what a change does not name is lost")
		}
		if err := w.monitors.DeleteMonitor(t.Context(), domain.AppRef{Org: "acme", App: "web"}, gone.ID); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		if got := w.take(); got != nil || w.schedule.Len() != 0 {
			t.Errorf("checks %v, %d scheduled", got, w.schedule.Len())
		}
		if _, err := w.monitors.PutMonitor(t.Context(), domain.AppRef{Org: "acme", App: "web"}, gone.ID, named("x", 30)); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("changing a deleted monitor: %v", err)
		}
		enabled := true
		w.put(row.ID, monitor.Patch{Enabled: &enabled})
		pass(0)
		if got := w.take(); len(got) != 1 {
			t.Errorf("when it was enabled: %v", got)
		}
	})
}

// TestAMonitorThatMovedAwayIsForgotten ends the ownership of every partition.
func TestAMonitorThatMovedAwayIsForgotten(t *testing.T) {
	onSite(t, func(t *testing.T, w *watchedSite) {
		w.put("", named("Site", 30))
		pass(0)
		w.host.Placement.Own(0)
		pass(time.Minute)
		if w.schedule.Len() != 0 {
			t.Error("it is still scheduled")
		}
	})
}

func countOf(t *testing.T, counter prometheus.Counter) float64 {
	t.Helper()
	var out dto.Metric
	if err := counter.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetCounter().GetValue()
}
