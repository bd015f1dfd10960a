package database_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/database"
)

// aged returns a block with one event, occurrence and point per day over the last days of two environments, with a
// retention in days.
func aged(db *database.DB, now time.Time, back, retention int) *block.Block {
	b := db.NewBlock()
	for _, environment := range []uint64{7, 8} {
		for n := range back {
			at := now.AddDate(0, 0, -n)
			event := clickhousetest.Row(environment, at, fmt.Sprintf("e%d", n), fmt.Sprintf("u%d", n), fmt.Sprintf("s%d", n))
			event.RetentionDays = uint32(retention)
			b.Append(event)
			b.AppendOccurrence(&occurrence.Row{
				EnvironmentNumber: environment, Fingerprint: fmt.Sprint(n), Issue: occurrence.IssueNumber(environment, fmt.Sprint(n)), RetentionDays: uint32(retention),
				Occurrence: occurrence.Occurrence{ID: fmt.Sprint(n), Ts: at, ReceivedAt: at, Level: occurrence.LevelError, Name: "E", Release: fmt.Sprint(n), DistinctID: "u"},
			})
			b.AppendMetric(&metric.Row{
				Environment: environment, Name: fmt.Sprint("m", n), Series: 1000*environment + uint64(n), Kind: metric.Counter, Ts: at, ReceivedAt: at, RetentionDays: uint32(retention),
				Totals: metric.Totals{Count: 1, Sum: 1, Min: 1, Max: 1},
			})
		}
	}
	return b
}

// expose stores an exposure to a flag, a recipient with its outcome and a delivery per day, like aged does for events.
func expose(t *testing.T, db *database.DB, now time.Time, back, retention int) {
	t.Helper()
	for _, environment := range []int{7, 8} {
		exec(t, db, fmt.Sprintf("INSERT INTO flag_exposures SELECT %d, 'f', number, 'on', toDateTime64('%s', 3, 'UTC') - toIntervalDay(number) AS at, toDate(at) + %d + 1 FROM numbers(%d)",
			environment, now.Format(time.DateTime), retention, back))
		for table, more := range map[string]string{"campaign_recipients": "", "campaign_outcomes": ", at"} {
			values := strings.Repeat(", made", strings.Count(more, ","))
			exec(t, db, fmt.Sprintf("INSERT INTO %s (environment, campaign, number, started%s, visitor, expires) SELECT %d, 'cmp_1', number, toDateTime64('%s', 3, 'UTC') - toIntervalDay(number) AS made%s, number, toDate(made) + %d + 1 FROM numbers(%d)",
				table, more, environment, now.Format(time.DateTime), values, retention, back))
		}
		exec(t, db, fmt.Sprintf("INSERT INTO deliveries (app, destination, created, id, at, environment, visitor, status, expires) "+
			"SELECT 'acme/web', 'dst_1', toDateTime64('%s', 3, 'UTC') - toIntervalDay(number) AS made, concat('dlv_', toString(number), '-%d'), made, %d, number, 'accepted', toDate(made) + least(%d, 30) + 1 FROM numbers(%d)",
			now.Format(time.DateTime), environment, environment, retention, back))
	}
}

// keptTables returns the tables with rows that expire with the data of their environment.
func keptTables(t *testing.T, db *database.DB) []string {
	t.Helper()
	return ask[[]string](t, db, "SELECT groupArray(table) FROM system.columns WHERE database = currentDatabase() AND name = 'expires' AND table NOT LIKE '%\\_of\\_%' AND table NOT IN ('metric_seen', 'dead_letters', 'usage', 'tallies', 'export_rows', 'deliveries')")
}

// rowsOf counts the rows of an environment in a table, one for each day.
func rowsOf(t *testing.T, db *database.DB, table string, environment uint64) uint64 {
	t.Helper()
	return ask[uint64](t, db, fmt.Sprintf("SELECT count() FROM %s WHERE environment = %d", table, environment))
}

// TestRetentionIsLowered checks that all data of an environment beyond a shorter retention ends at once, and the rest
// later. Another environment stays unchanged.
func TestRetentionIsLowered(t *testing.T) {
	db := open(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	insert(t, db, aged(db, now, 20, 365))
	expose(t, db, now, 20, 365)
	if tables := keptTables(t, db); len(tables) != 19 {
		t.Fatalf("the tables with an expiry are %q: retentions.Update must name each, retentions.Remove all but newcomers", tables)
	}
	scope := analytics.Scope{Environment: domain.Environment{Number: 7}, Window: domain.Window{From: now.AddDate(0, 0, -30), To: now.Add(time.Hour), Location: time.UTC}}
	overview := func() analytics.Headline {
		t.Helper()
		got, err := db.Overview(deadline(t), scope, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.Current
	}
	if got := overview(); got.Pageviews != 20 || got.Visitors != 20 {
		t.Errorf("before: %+v", got)
	}
	for range 2 {
		if err := db.SetRetention(deadline(t), 7, 9, now); err != nil {
			t.Fatal(err)
		}
	}
	const kept = 10                                     // today and nine days
	expiring := append(keptTables(t, db), "deliveries") // deliveries stay for at most 30 days
	for _, table := range expiring {
		if got := rowsOf(t, db, table, 7); table != "newcomers" && got != kept {
			t.Errorf("%s has %d rows, want %d", table, got, kept)
		}
		if got := rowsOf(t, db, table, 8); got != 20 {
			t.Errorf("%s has %d rows of another environment, want 20", table, got)
		}
	}
	if got := overview(); got.Pageviews != kept || got.Visitors != kept || got.UniqueVisitors != kept {
		t.Errorf("after: %+v", got)
	}
	last := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 10).Format(time.DateOnly)
	for _, table := range expiring {
		if got := ask[time.Time](t, db, "SELECT max(expires) FROM "+table+" WHERE environment = 7").Format(time.DateOnly); got != last {
			t.Errorf("the last row of %s goes on %s, want %s", table, got, last)
		}
	}
}

// TestRetentionIsRaised preserves rows that the next merge would remove.
func TestRetentionIsRaised(t *testing.T) {
	db := open(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, table := range keptTables(t, db) {
		exec(t, db, "SYSTEM STOP TTL MERGES "+table)
	}
	insert(t, db, aged(db, now, 5, 5)) // no row has expired
	expose(t, db, now, 5, 5)
	if err := db.SetRetention(deadline(t), 7, 365, now); err != nil {
		t.Fatal(err)
	}
	for _, table := range keptTables(t, db) {
		first := now.Truncate(24*time.Hour).AddDate(0, 0, -4+366).Format(time.DateOnly)
		if got := ask[time.Time](t, db, "SELECT min(expires) FROM "+table+" WHERE environment = 7").Format(time.DateOnly); got < first {
			t.Errorf("the first row of %s goes on %s, want %s", table, got, first)
		}
	}
	if got, want := ask[time.Time](t, db, "SELECT min(expires) FROM deliveries WHERE environment = 7").Format(time.DateOnly), now.Truncate(24*time.Hour).AddDate(0, 0, -4+31).Format(time.DateOnly); got != want {
		t.Errorf("the first delivery goes on %s, want %s", got, want)
	}
	if err := db.NoteRetention(deadline(t), 7, 30, now); err != nil {
		t.Fatal(err)
	}
	if err := db.NoteRetention(deadline(t), 7, 365, now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Retentions(deadline(t)); err != nil || len(got) != 1 || got[7] != 365 {
		t.Errorf("noted %v, %v", got, err)
	}
}
