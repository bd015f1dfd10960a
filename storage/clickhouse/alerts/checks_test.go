package alerts

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/alert"
	"svc/domain/monitor"
)

// TestChecksBecomeUptime stores checks of two monitors, one batch twice, and reads the resulting uptime.
func TestChecksBecomeUptime(t *testing.T) {
	db := open(t)
	now := time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)
	app := domain.AppRef{Org: "acme", App: "web"}
	w := &CheckWriter{Store: db.Store, Interval: time.Millisecond, Name: "run_1", Logger: slog.New(slog.DiscardHandler)}
	check := func(app domain.AppRef, m string, before time.Duration, status monitor.Status, failures uint32, wrong string) monitor.Check {
		at := now.Add(-before)
		return monitor.Check{
			App: app, Monitor: m, Result: monitor.CheckResult{At: at, Error: wrong, Phases: monitor.CheckPhases{DNS: 1, Connect: 2, TLS: 3, FirstByte: 4, Total: 2600}, CertificateEnds: now},
			State: monitor.State{LastStatus: status, LastCheckedAt: at, LastLatencyMs: 3, LastError: wrong, ConsecutiveFailures: failures},
		}
	}
	batch := []monitor.Check{
		check(app, "mon_1", 31*24*time.Hour, monitor.StatusDown, 9, "long ago"), check(app, "mon_1", 3*time.Hour, monitor.StatusUp, 0, ""), check(app, "mon_1", 2*time.Hour, monitor.StatusDegraded, 1, "x"),
		check(app, "mon_1", time.Hour, monitor.StatusDown, 2, "x"), check(app, "mon_1", time.Minute, monitor.StatusDown, 3, "y"), check(app, "mon_2", time.Minute, monitor.StatusUp, 0, ""),
		check(domain.AppRef{Org: "acme", App: "web2"}, "mon_1", time.Second, monitor.StatusUp, 0, ""),
	}
	for range 2 {
		if err := w.write(deadline(t), batch, 0); err != nil {
			t.Fatal(err)
		}
	}
	for n, id := range []string{"mon_1", "mon_2", "mon_3"} {
		monitor := monitor.Monitor{ID: id, Spec: monitor.DefaultMonitor(), CreatedAt: now, UpdatedAt: now}
		putOne(t, db, "monitor/acme/web/"+id, "monitor", id, uint32(n+1), monitor)
	}
	rows, err := db.Monitors(deadline(t), app, "", now)
	if err != nil {
		t.Fatal(err)
	}
	var got []monitor.Row
	for _, row := range rows {
		got = append(got, monitor.Row{Monitor: monitor.Monitor{ID: row.ID}, State: row.State, Checks30d: row.Checks30d, Up30d: row.Up30d})
	}
	want := []monitor.Row{
		{Monitor: monitor.Monitor{ID: "mon_1"}, State: batch[4].State, Checks30d: 4, Up30d: 2},
		{Monitor: monitor.Monitor{ID: "mon_2"}, State: batch[5].State, Checks30d: 1, Up30d: 1},
		{Monitor: monitor.Monitor{ID: "mon_3"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	if one, err := db.Monitors(deadline(t), app, "mon_2", now); err != nil || len(one) != 1 || one[0].ID != "mon_2" {
		t.Errorf("one: %+v, %v", one, err)
	}
	if state, err := db.MonitorState(deadline(t), app, "mon_1"); err != nil || state != batch[4].State {
		t.Errorf("the state of one: %+v, %v", state, err)
	}
	if state, err := db.MonitorState(deadline(t), app, "mon_9"); err != nil || state != (monitor.State{}) {
		t.Errorf("the state of none: %+v, %v", state, err)
	}
}

// TestAllMonitorsComeWithTheirLatestChecks also has a monitor without any check, and a deleted one.
func TestAllMonitorsComeWithTheirLatestChecks(t *testing.T) {
	db := open(t)
	app, at := domain.AppRef{Org: "acme", App: "web"}, time.UnixMilli(1_795_000_000_123).UTC()
	for n, id := range []string{"mon_1", "mon_2", "mon_3"} {
		putOne(t, db, "monitor/acme/web/"+id, "monitor", id, uint32(n+1), monitor.Monitor{ID: id})
	}
	gone := domain.Entity{Owner: "monitor/acme/web/mon_3", Kind: "monitor", ID: "mon_3", Version: domain.Version{Sequence: 9}, Deleted: true}
	if err := db.Put(deadline(t), []domain.Entity{gone}, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
	w := &CheckWriter{Store: db.Store, Name: "run_3"}
	for number, batch := range [][]monitor.Check{
		{{App: app, Monitor: "mon_1", Result: monitor.CheckResult{At: at}}, {App: domain.AppRef{Org: "acme", App: "other"}, Monitor: "mon_2", Result: monitor.CheckResult{At: at}}},
		{{App: app, Monitor: "mon_1", Result: monitor.CheckResult{At: at.Add(time.Minute), Error: "wrong", Phases: monitor.CheckPhases{Total: 1500}}, State: monitor.State{LastStatus: monitor.StatusDown, LastError: "wrong", ConsecutiveFailures: 3}}, {App: app, Monitor: "mon_3", Result: monitor.CheckResult{At: at}}},
	} {
		if err := w.write(deadline(t), batch, number); err != nil {
			t.Fatal(err)
		}
	}
	var got []monitor.StoredMonitor
	err := db.AllMonitors(deadline(t), func(m monitor.StoredMonitor) { got = append(got, m) })
	if err != nil || len(got) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	first := monitor.State{LastStatus: monitor.StatusDown, LastCheckedAt: at.Add(time.Minute), LastLatencyMs: 2, LastError: "wrong", ConsecutiveFailures: 3}
	for n, want := range []monitor.StoredMonitor{
		{App: app, Monitor: monitor.Monitor{ID: "mon_1"}, State: first},
		{App: app, Monitor: monitor.Monitor{ID: "mon_2"}},
	} {
		loaded, err := db.Load(deadline(t), "monitor/acme/web/"+want.Monitor.ID)
		if err != nil || len(loaded) != 1 {
			t.Fatalf("loading: %+v, %v", loaded, err)
		}
		want.Entity = loaded[0]
		if !reflect.DeepEqual(got[n], want) {
			t.Errorf("got %+v, want %+v", got[n], want)
		}
	}
}

// TestTheWriterStoresWhatIsLeft stops a writer immediately after checks were appended.
func TestTheWriterStoresWhatIsLeft(t *testing.T) {
	db := open(t)
	w := &CheckWriter{Store: db.Store, Interval: time.Hour, Name: "run_2", Logger: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(deadline(t))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for n := range 1000 {
		w.Append(monitor.Check{App: domain.AppRef{Org: "a", App: "b"}, Monitor: "mon_1", Result: monitor.CheckResult{At: time.UnixMilli(1_795_000_000_000 + int64(n))}})
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := ask[uint64](t, db, "SELECT count() FROM checks"); got != 1000 {
		t.Errorf("%d checks are stored", got)
	}
}

func TestIncidentsArePaged(t *testing.T) {
	db := open(t)
	app := domain.AppRef{Org: "acme", App: "web"}
	for n, status := range []alert.IncidentStatus{alert.IncidentOpen, alert.IncidentResolved, alert.IncidentOpen, alert.IncidentAcknowledged, alert.IncidentOpen} {
		id := "inc_" + string(rune('1'+n))
		putOne(t, db, "alerting/acme/web", "incident", id, uint32(n+1), alert.Incident{ID: id, Status: status, Environment: []string{"production", "staging"}[n%2]})
	}
	putOne(t, db, "alerting/acme/web", "incident", "inc_1", 9, alert.Incident{ID: "inc_1", Status: alert.IncidentResolved, Environment: "production"})
	putOne(t, db, "alerting/acme/web", "rule", "rul_1", 10, alert.Rule{ID: "rul_1"})
	putOne(t, db, "alerting/acme/other", "incident", "inc_8", 1, alert.Incident{ID: "inc_8", Status: alert.IncidentOpen})
	for _, test := range []struct {
		status      alert.IncidentStatus
		environment string
		before      string
		limit       int
		want        []string
		more        bool
	}{
		{alert.IncidentOpen, "", "", 9, []string{"inc_5", "inc_3"}, false},
		{alert.IncidentOpen, "", "", 1, []string{"inc_5"}, true},
		{alert.IncidentOpen, "", "inc_5", 1, []string{"inc_3"}, false},
		{alert.IncidentResolved, "", "", 9, []string{"inc_2", "inc_1"}, false},
		{alert.IncidentResolved, "staging", "", 9, []string{"inc_2"}, false},
		{"", "", "", 3, []string{"inc_5", "inc_4", "inc_3"}, true},
		{"", "production", "", 2, []string{"inc_5", "inc_3"}, true},
		{"", "development", "", 2, nil, false},
		{"", "", "inc_1", 3, nil, false},
	} {
		page, more, err := db.Incidents(deadline(t), alert.IncidentQuery{App: app, Status: test.status, Environment: test.environment, Before: test.before, Limit: test.limit})
		var ids []string
		for _, incident := range page {
			ids = append(ids, incident.ID)
		}
		if err != nil || !reflect.DeepEqual(ids, test.want) || more != test.more {
			t.Errorf("%q before %q: %v, more %t, %v; want %v, more %t", test.status, test.before, ids, more, err, test.want, test.more)
		}
	}
	loaded, err := db.Alerting().Load(deadline(t), "alerting/acme/web")
	if err != nil || len(loaded) != 1 || loaded[0].Kind != "rule" {
		t.Errorf("an actor loads %v, %v", loaded, err)
	}
}

// putOne stores one entity.
func putOne(t *testing.T, db *testDB, owner, kind, id string, sequence uint32, value any) {
	t.Helper()
	payload, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	entity := domain.Entity{Owner: owner, Kind: kind, ID: id, Version: domain.Version{Sequence: sequence}, Payload: payload}
	if err := db.Put(deadline(t), []domain.Entity{entity}, nil, domain.Trail{}); err != nil {
		t.Fatal(err)
	}
}

// TestChecksThatFailAreStoredSooner checks after how many intervals the waiting checks are due.
func TestChecksThatFailAreStoredSooner(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		statuses []monitor.Status
		want     int
	}{
		{"all passed", []monitor.Status{monitor.StatusUp, monitor.StatusUp}, patience},
		{"one failed", []monitor.Status{monitor.StatusUp, monitor.StatusDegraded, monitor.StatusUp}, 1},
		{"one is down", []monitor.Status{monitor.StatusDown}, 1},
		{"as many as fit", slices.Repeat([]monitor.Status{monitor.StatusUp}, checkBatch), 1},
	} {
		w := &CheckWriter{Logger: slog.New(slog.DiscardHandler)}
		for round := range 2 { // the second with the memory of the first
			for _, status := range test.statuses {
				w.Append(monitor.Check{Monitor: "mon_1", State: monitor.State{LastStatus: status}})
			}
			waited := 1
			for !w.due(waited) {
				waited++
			}
			batch := w.take()
			if waited != test.want || len(batch) != len(test.statuses) || batch[0].Monitor != "mon_1" {
				t.Errorf("%s, round %d: %d checks were due after %d intervals, want %d after %d", test.name, round, len(batch), waited, len(test.statuses), test.want)
			}
			w.recycle(batch)
		}
	}
}
