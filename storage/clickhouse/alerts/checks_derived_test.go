package alerts

import (
	"log/slog"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/monitor"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
)

// storeChecks writes checks of three monitors in batches, each a part. In every fifth check the monitor is down.
func storeChecks(t *testing.T, db *testDB, name string, from time.Time, batches int) {
	t.Helper()
	w := &CheckWriter{Store: db.Store, Name: name, Logger: slog.New(slog.DiscardHandler)}
	for number := range batches {
		var batch []monitor.Check
		for n := range 300 {
			at := from.Add(time.Duration(number*300+n) * 10 * time.Second)
			check := monitor.Check{App: domain.AppRef{Org: "acme", App: "web"}, Monitor: []string{"mon_1", "mon_2", "mon_3"}[n%3], Result: monitor.CheckResult{At: at, Phases: monitor.CheckPhases{Total: uint32(n)}}}
			check.State = monitor.State{LastStatus: monitor.StatusUp, LastCheckedAt: at}
			if n%5 == 0 {
				check.State.LastStatus, check.State.ConsecutiveFailures, check.Result.Error = monitor.StatusDown, uint32(n), "no answer"
			}
			batch = append(batch, check)
		}
		if err := w.write(deadline(t), batch, number); err != nil {
			t.Fatal(err)
		}
	}
}

// derived returns the data that is shown about checks, and the same data counted from their rows.
func derived(t *testing.T, db *testDB, now time.Time) (shown, counted []monitor.Row) {
	t.Helper()
	app := domain.AppRef{Org: "acme", App: "web"}
	for _, id := range []string{"mon_1", "mon_2", "mon_3"} {
		putOne(t, db, "monitor/acme/web/"+id, "monitor", id, 1, monitor.Monitor{ID: id})
	}
	shown, err := db.Monitors(deadline(t), app, "", now)
	if err != nil {
		t.Fatal(err)
	}
	since := now.AddDate(0, 0, -30).Truncate(time.Hour)
	rows := map[string]*monitor.Row{}
	for i := range shown {
		counted = append(counted, monitor.Row{Monitor: shown[i].Monitor})
	}
	for i := range counted {
		rows[counted[i].ID] = &counted[i]
	}
	const query = "SELECT toString(monitor), at, toString(status), failures, toString(error), total FROM checks ORDER BY at"
	err = db.conn.ReadUnflushed(deadline(t), "counting rows", query, nil, func(found driver.Rows) (bool, error) {
		var m, status string
		var state monitor.State
		var total uint32
		err := found.Scan(&m, &state.LastCheckedAt, &status, &state.ConsecutiveFailures, &state.LastError, &total)
		state.LastStatus, state.LastLatencyMs = monitor.Status(status), monitor.LatencyMs(total)
		row := rows[m]
		row.State = state
		if !state.LastCheckedAt.Before(since) {
			row.Checks30d++
			if state.LastStatus != monitor.StatusDown {
				row.Up30d++
			}
		}
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return shown, counted
}

// TestWhatIsShownOfChecksIsTheirRows stores checks while no view receives any. The same happens if a process ends
// between the part of the rows and the part of a view and does not repeat the insert.
func TestWhatIsShownOfChecksIsTheirRows(t *testing.T) {
	db := open(t)
	now := time.Now().UTC().Truncate(time.Hour)
	storeChecks(t, db, "whole", now.AddDate(0, 0, -40), 2)
	for _, view := range ask[[]string](t, db, "SELECT groupArray(name) FROM system.tables WHERE database = currentDatabase() AND engine = 'MaterializedView'") {
		clickhousetest.Exec(t, db.conn, "DETACH TABLE "+view)
	}
	storeChecks(t, db, "interrupted", now.AddDate(0, 0, -2), 3)
	if shown, counted := derived(t, db, now); !reflect.DeepEqual(shown, counted) || shown[0].Checks30d != 300 {
		t.Errorf("shown %+v\nthe rows make %+v", shown, counted)
	}
}

// TestUpgradeOfChecks opens a database of an earlier version in which a view missed checks.
func TestUpgradeOfChecks(t *testing.T) {
	db := open(t)
	now := time.Now().UTC().Truncate(time.Hour)
	for _, statement := range []string{
		"DROP VIEW uptime", "DROP VIEW latest_checks", "ALTER TABLE checks DROP PROJECTION hours, DROP PROJECTION latest",
		"ALTER TABLE migrations DELETE WHERE name = '20261122_50_checks_projections' SETTINGS mutations_sync = 1",
	} {
		clickhousetest.Exec(t, db.conn, statement)
	}
	earlier, err := os.ReadFile("../migrations/20261120_09_checks.sql")
	if err != nil {
		t.Fatal(err)
	}
	clickhousetest.ExecAll(t, db.conn, string(earlier))
	storeChecks(t, db, "seen", now.AddDate(0, 0, -3), 2)
	clickhousetest.Exec(t, db.conn, "DETACH TABLE uptime_of_checks")
	clickhousetest.Exec(t, db.conn, "DETACH TABLE latest_checks_of_checks")
	storeChecks(t, db, "missed", now.AddDate(0, 0, -2), 2)
	clickhousetest.Exec(t, db.conn, "ATTACH TABLE uptime_of_checks")
	clickhousetest.Exec(t, db.conn, "ATTACH TABLE latest_checks_of_checks")
	for range 2 { // another node also runs the migration
		clickhousetest.OpenWith(t, clickhouse.Config{Database: db.conn.Database()})
		storeChecks(t, db, "since"+now.String(), now.AddDate(0, 0, -1), 2)
		if shown, counted := derived(t, db, now); !reflect.DeepEqual(shown, counted) || shown[0].Checks30d != 600 {
			t.Errorf("shown %+v\nthe rows make %+v", shown, counted)
		}
		// An earlier version that runs at the same time reads in this way.
		if up := ask[uint64](t, db, "SELECT sum(up) FROM uptime WHERE app = 'acme/web'"); up != 6*240 {
			t.Errorf("%d checks found their monitors up", up)
		}
		if latest := ask[uint64](t, db, "SELECT count() FROM latest_checks FINAL WHERE app = 'acme/web'"); latest != 3 {
			t.Errorf("%d monitors have a latest check", latest)
		}
		clickhousetest.Exec(t, db.conn, "ALTER TABLE migrations DELETE WHERE name = '20261122_50_checks_projections' SETTINGS mutations_sync = 1")
	}
	// Older parts have the projections once the background work has finished them.
	for _, projection := range []string{"hours", "latest"} {
		clickhousetest.Exec(t, db.conn, "ALTER TABLE checks MATERIALIZE PROJECTION "+projection+" SETTINGS mutations_sync = 1")
	}
	expectProjections(t, db)
	if shown, counted := derived(t, db, now); !reflect.DeepEqual(shown, counted) {
		t.Errorf("with projections %+v\nthe rows make %+v", shown, counted)
	}
}

// TestReadsOfChecksUseProjections checks the plans of the queries over several parts.
func TestReadsOfChecksUseProjections(t *testing.T) {
	db := open(t)
	clickhousetest.Exec(t, db.conn, "SYSTEM STOP MERGES checks")
	now := time.Now().UTC().Truncate(time.Hour)
	storeChecks(t, db, "parts", now.AddDate(0, 0, -2), 4)
	expectProjections(t, db)
}

// expectProjections fails if a query about checks reads their rows.
func expectProjections(t *testing.T, db *testDB) {
	t.Helper()
	args := clickhouse.Args{
		"app": "acme/web", "monitor": "mon_1", "since": time.Now().AddDate(0, 0, -30).Truncate(time.Hour),
		"apps": []string{"acme/web"}, "monitors": []string{"mon_1"},
	}
	for query, projection := range map[string]string{"checks.Uptime": "hours", "checks.Latest": "latest", "checks.LatestOf": "latest", "checks.LatestOfAll": "latest"} {
		var plan strings.Builder
		err := db.conn.ReadUnflushed(deadline(t), "planning", "EXPLAIN "+db.queries[query], args, func(rows driver.Rows) (bool, error) {
			var line string
			err := rows.Scan(&line)
			plan.WriteString(line + "\n")
			return true, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(plan.String(), "ReadFromMergeTree ("+projection+")") || strings.Contains(plan.String(), ".checks)") {
			t.Errorf("%s does not read the projection %s alone:\n%s", query, projection, &plan)
		}
	}
}

// TestProjectionsLoseWhatExpires lets the engine remove some of the checks of a part.
func TestProjectionsLoseWhatExpires(t *testing.T) {
	db := open(t)
	now := time.Now().UTC().Truncate(time.Hour)
	clickhousetest.Exec(t, db.conn, "SYSTEM STOP TTL MERGES checks")
	storeChecks(t, db, "kept", now.AddDate(0, 0, -20), 5)
	clickhousetest.Exec(t, db.conn, "ALTER TABLE checks MODIFY TTL toDateTime(at) + INTERVAL 479 HOUR SETTINGS materialize_ttl_after_modify = 0")
	clickhousetest.Exec(t, db.conn, "OPTIMIZE TABLE checks FINAL")
	clickhousetest.Exec(t, db.conn, "SYSTEM START TTL MERGES checks")
	clickhousetest.Exec(t, db.conn, "ALTER TABLE checks MATERIALIZE TTL SETTINGS mutations_sync = 1")
	shown, counted := derived(t, db, now)
	if rows := ask[uint64](t, db, "SELECT count() FROM checks"); rows == 0 || rows == 1500 {
		t.Fatalf("%d rows are left of 1500, want some", rows)
	}
	if !reflect.DeepEqual(shown, counted) {
		t.Errorf("shown %+v\nthe rows make %+v", shown, counted)
	}
}
