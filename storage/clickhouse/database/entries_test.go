package database_test

import (
	"slices"
	"testing"
	"time"

	"svc/storage/clickhouse/clickhousetest"
)

// TestEntriesOfRowsFromBefore makes the entries of visits again from what was stored before the table existed. The visits of one
// visitor have no events any more, and are known from arrivals alone.
func TestEntriesOfRowsFromBefore(t *testing.T) {
	db := open(t)
	b, at := hourly(t, db, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), 30), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	first, last := clickhousetest.Row(7, at, "first", "gone", "s40"), clickhousetest.Row(7, at.Add(time.Hour), "last", "gone", "s41")
	first.Source, last.Source, last.Country = "news", "mail", "NP"
	b.Append(first)
	b.Append(last)
	late := clickhousetest.Row(7, at.Add(-time.Minute), "late", "u1", "s30")
	late.Source = "ads"
	b.Append(late)
	insert(t, db, b)
	const others = "SELECT toUInt64(groupBitXor(cityHash64(visitor, session, toString(entry)))) FROM entries FINAL WHERE visitor != cityHash64('gone')"
	const gone = "SELECT groupArray((entry.source, entry.country)) FROM (SELECT entry FROM entries FINAL WHERE visitor = cityHash64('gone') ORDER BY session)"
	want := ask[uint64](t, db, others)
	for _, statement := range []string{
		`INSERT INTO arrivals
		SELECT environment, visitor, any(distinct_id), uniqExactState(session),
			argMinIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name != '$identify'),
			argMaxIfState((toString(source), toString(medium), toString(utm_campaign), referrer, url, toUnixTimestamp64Milli(ts)), (ts, events.id), name != '$identify'),
			argMaxIfState((toString(country), toString(region), toString(city), toString(device), toString(browser), toString(os), toUnixTimestamp64Milli(ts)), (ts, events.id), name != '$identify')
		FROM events GROUP BY environment, visitor`,
		"ALTER TABLE events DELETE WHERE distinct_id = 'gone' SETTINGS mutations_sync = 1",
		"DROP TABLE entries_of_events SYNC", "DROP TABLE entries SYNC",
		"ALTER TABLE migrations DELETE WHERE name = '20261129_10_entries' SETTINGS mutations_sync = 1",
	} {
		exec(t, db, statement)
	}
	openNamed(t, db.Database())
	if got := ask[uint64](t, db, others); got != want {
		t.Errorf("the entries are %d, want %d", got, want)
	}
	got := ask[[][]any](t, db, gone)
	if wanted := [][]any{{"news", ""}, {"mail", "NP"}}; !slices.EqualFunc(got, wanted, slices.Equal[[]any]) {
		t.Errorf("the visits without events are %v, want %v", got, wanted)
	}
}
