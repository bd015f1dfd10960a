package database_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/ingest"
	"svc/domain/issue"
	"svc/domain/metric"
	"svc/domain/occurrence"
	"svc/domain/person"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
)

// shardedDB is a database of two shards, with the connection of the second shard.
type shardedDB struct {
	*database.DB
	second *clickhouse.Conn
}

func openShards(t *testing.T) *shardedDB {
	t.Helper()
	engine := clickhousetest.Engine()
	cfg := clickhouse.Config{Engine: engine, Database: clickhousetest.Name(), Others: []clickhouse.Config{{Engine: engine, Database: clickhousetest.Name()}}}
	db, err := database.Open(deadline(t), cfg, state.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &shardedDB{db, db.Shards()[1]}
}

// environments returns one environment on each shard.
func environments() [2]domain.Environment {
	return [2]domain.Environment{
		{Number: domain.EnvironmentNumber(1<<40, 0), Slug: "production"},
		{Number: domain.EnvironmentNumber(1<<40, 1), Slug: "production"},
	}
}

// shardTime is the time of the rows.
func shardTime() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// shardRows returns rows of every kind for both environments, twice as many for the second.
func shardRows() *ingest.Rows {
	rows := &ingest.Rows{}
	for shard, environment := range environments() {
		for n := range 10 * (shard + 1) {
			event := clickhousetest.Row(environment.Number, shardTime().Add(time.Duration(n)*time.Second), fmt.Sprintf("e%d", n), "u1", "s1")
			rows.Events = append(rows.Events, *event)
			fingerprint := fmt.Sprintf("v2-%d", n%2)
			rows.Occurrences = append(rows.Occurrences, occurrence.Row{
				EnvironmentNumber: environment.Number, Fingerprint: fingerprint, Issue: occurrence.IssueNumber(environment.Number, fingerprint), RetentionDays: 365,
				Occurrence: occurrence.Occurrence{ID: fmt.Sprintf("o%d", n), Ts: event.Ts, ReceivedAt: event.Ts, Level: occurrence.LevelError, Name: "E", DistinctID: "u1"},
			})
			rows.Points = append(rows.Points, metric.Row{
				Environment: environment.Number, Series: uint64(n % 3), Name: "m", Kind: metric.Counter, ID: fmt.Sprintf("p%d", n), Ts: event.Ts, ReceivedAt: event.Ts,
				Totals: metric.Totals{Count: 1, Sum: 1}, RetentionDays: 365,
			})
			rows.Counts = append(rows.Counts, ingest.UsageCount{
				UsageKey: ingest.UsageKey{Environment: environment.Number, Day: ingest.DayOf(event.Ts.UnixMilli()), Signal: ingest.LetterSignal(ingest.LetterEvent), Fate: ingest.FateStored}, Items: 1,
			})
		}
	}
	rows.Tallies = []ingest.TallyMark{{Source: "node", Seq: 4, AtMs: time.Now().UnixMilli()}}
	return rows
}

// TestABlockIsDividedByShards inserts a block of two shards twice. Each shard must have the rows of its environment
// once.
func TestABlockIsDividedByShards(t *testing.T) {
	db := openShards(t)
	b := db.NewBlock()
	b.Add(shardRows())
	if b.Rows() != 90 {
		t.Fatalf("the block has %d rows, want 90", b.Rows())
	}
	for range 2 {
		if err := db.Insert(deadline(t), "block-1", 1, b); err != nil {
			t.Fatal(err)
		}
	}
	for shard, conn := range db.Shards() {
		want := uint64(10 * (shard + 1))
		for table, query := range map[string]string{
			"events": "SELECT count() FROM events", "visits": "SELECT toUInt64(sum(events)) FROM visits", "occurrences": "SELECT count() FROM occurrences",
			"issues": "SELECT toUInt64(sum(events)) FROM issues", "metric_points": "SELECT count() FROM metric_points", "usage": "SELECT toUInt64(sum(items)) FROM usage",
		} {
			if got := clickhousetest.Ask[uint64](t, conn, query); got != want {
				t.Errorf("%s of shard %d has %d, want %d", table, shard, got, want)
			}
		}
		if got, want := clickhousetest.Ask[uint64](t, conn, "SELECT count() FROM tallies"), uint64(1-shard); got != want {
			t.Errorf("shard %d has %d tallies, want %d", shard, got, want)
		}
	}
	if n, err := db.CountRows(deadline(t), 1, b); n != 90 || err != nil {
		t.Errorf("%d rows are counted, want 90: %v", n, err)
	}
}

// TestRowsLeaveABlockOfShards removes rows by their index among all rows. The other rows must stay.
func TestRowsLeaveABlockOfShards(t *testing.T) {
	db := openShards(t)
	b := db.NewBlock()
	b.Add(shardRows())
	b.Without(ingest.LetterEvent, []int{0, 10, 29}) // the first row of each shard, and the last
	b.Without(ingest.LetterEvent, []int{9})         // the first remaining row of the second shard
	if err := db.Insert(deadline(t), "block-1", 1, b); err != nil {
		t.Fatal(err)
	}
	for shard, want := range []string{"e1", "e10"} {
		ids := clickhousetest.Ask[[]string](t, db.Shards()[shard], "SELECT arraySort(groupArray(id)) FROM events")
		if ids[0] != want || slices.Contains(ids, "e0") || len(ids) != []int{9, 17}[shard] {
			t.Errorf("shard %d has the events %v", shard, ids)
		}
	}
}

// TestASiftNamesRowsOfShards makes one shard refuse a row. The sift must return the index of the row among all rows.
func TestASiftNamesRowsOfShards(t *testing.T) {
	db := openShards(t)
	clickhousetest.Exec(t, db.second, "ALTER TABLE events ADD CONSTRAINT few CHECK id != 'e3'")
	b := db.NewBlock()
	b.Add(shardRows())
	refused, err := db.Sift(deadline(t), uint64(time.Now().UnixMilli())<<22, b)
	if err != nil || len(refused) != 1 || refused[0].Kind != ingest.LetterEvent || refused[0].Row != 13 {
		t.Errorf("refused are %v, want the event at 13: %v", refused, err)
	}
}

// TestReadsAskTheirShard reads both environments through one store.
func TestReadsAskTheirShard(t *testing.T) {
	db := openShards(t)
	b := db.NewBlock()
	b.Add(shardRows())
	if err := db.Insert(deadline(t), "block-1", 1, b); err != nil {
		t.Fatal(err)
	}
	day := domain.Window{From: shardTime().Add(-12 * time.Hour), To: shardTime().Add(12 * time.Hour), Interval: domain.Hour, Location: time.UTC}
	for shard, environment := range environments() {
		want := 10 * (shard + 1)
		scope := analytics.Scope{Environment: environment, Window: day}
		overview, err := db.Overview(deadline(t), scope, nil)
		if err != nil || overview.Current.Pageviews != uint64(want) {
			t.Errorf("the overview of shard %d is %+v, want %d page views: %v", shard, overview.Current, want, err)
		}
		events, _, err := db.List(deadline(t), analytics.EventQuery{Environment: environment, Limit: 100})
		if err != nil || len(events) != want {
			t.Errorf("shard %d lists %d events, want %d: %v", shard, len(events), want, err)
		}
	}
	both := []uint64{environments()[0].Number, environments()[1].Number}
	stored, err := db.StoredSince(deadline(t), both, shardTime().AddDate(0, 0, -1))
	if err != nil || stored[both[0]][ingest.LetterSignal(ingest.LetterEvent)] != 10 || stored[both[1]][ingest.LetterSignal(ingest.LetterEvent)] != 20 {
		t.Errorf("stored are %v: %v", stored, err)
	}
	ids := map[[2]uint64]bool{}
	err = db.RecentIDs(deadline(t), shardTime().Add(-time.Hour), 0, 1000, func(_ uint64, key [2]uint64) { ids[key] = true })
	// The rows are older than threads, so each is looked up in the thread of its visitor and in the thread of its
	// session.
	if err != nil || len(ids) != 2*30 {
		t.Errorf("%d ids are recent, want 60: %v", len(ids), err)
	}
}

// TestAShardFindsWhatMembersDecided decides repeatedly about an issue on shard 1 and reads its status there. The state
// is on shard 0.
func TestAShardFindsWhatMembersDecided(t *testing.T) {
	db := openShards(t)
	b := db.NewBlock()
	b.Add(shardRows())
	if err := db.Insert(deadline(t), "block-1", 1, b); err != nil {
		t.Fatal(err)
	}
	environment := environments()[1]
	number := occurrence.IssueNumber(environment.Number, "v2-0")
	owner := occurrence.IssueID(number)
	for version, status := range []string{"resolved", "open", "ignored"} {
		entity := domain.Entity{
			Owner: fmt.Sprintf("issue/%d/%s", environment.Number, owner), Kind: "issue", ID: owner, Version: domain.VersionOf(uint64(version + 1)),
			Payload: fmt.Appendf(nil, `{"issue":%d,"status":%q}`, number, status),
		}
		if err := db.Put(deadline(t), []domain.Entity{entity}, nil, domain.Trail{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			list, err := db.Issues(deadline(t), issue.Query{Environment: environment, Status: issue.Status(status), Sort: issue.SortLastSeen, Days: issue.LastDays(shardTime(), 7, time.UTC), Now: shardTime(), Limit: 10})
			if err != nil || status != "open" && len(list.Rows) != 1 || status == "open" && len(list.Rows) != 2 {
				t.Errorf("%d issues are %s: %v", len(list.Rows), status, err)
			}
		}
	}
	if n := clickhousetest.Ask[uint64](t, db.second, "SELECT count() FROM entities FINAL"); n != 1 {
		t.Errorf("shard 1 has %d entities, want the one that its queries join", n)
	}
}

// TestDeliveriesOfAShardLeaveTheFirst erases a visitor and shortens the retention of an environment on the second
// shard. Its deliveries are on the first shard.
func TestDeliveriesOfAShardLeaveTheFirst(t *testing.T) {
	db, now := openShards(t), time.Now().UTC()
	environment := environments()[1].Number
	first := db.Shards()[0]
	deliver := func(visitor uint64, created time.Time) {
		clickhousetest.Exec(t, first, fmt.Sprintf("INSERT INTO deliveries (app, destination, created, id, at, environment, visitor, status, expires) "+
			"VALUES ('acme/web', 'dst_1', fromUnixTimestamp64Milli(%d, 'UTC'), '%d', now(), %d, %d, 'accepted', toDate(now()) + 30)", created.UnixMilli(), visitor, environment, visitor))
	}
	left := func() []uint64 {
		return clickhousetest.Ask[[]uint64](t, first, "SELECT arraySort(groupArray(visitor)) FROM deliveries")
	}
	deliver(1, now)
	deliver(2, now)
	deliver(3, now.AddDate(0, 0, -9))
	if err := db.SetRetention(deadline(t), environment, 7, now); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("after a shorter retention the deliveries of %v are left", got)
	}
	erasure := person.Erasure{ID: "era_1", EnvironmentNumber: environment, Visitors: []uint64{1}, At: now}
	if err := db.Remove(deadline(t), erasure, "1"); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []uint64{2}) {
		t.Errorf("after the erasure the deliveries of %v are left", got)
	}
}
