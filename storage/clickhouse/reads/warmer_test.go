package reads

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/filter"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/lru"
)

// warmAhead counts a target like a warmer, but without rests. It counts the ends of windows on days with at least edge
// events. It returns the number of its statements.
func warmAhead(t *testing.T, db *testDB, target Target, now time.Time, edge int64) (statements int) {
	t.Helper()
	for _, days := range warmedSpans() {
		k := warming{db: db.quiet(), target: target, now: now, edge: edge, share: warmedShare, pace: func(_ context.Context, work func() error) error {
			statements++
			return work()
		}}
		if err := k.warm(deadline(t), days); err != nil {
			t.Fatal(err)
		}
	}
	return statements
}

// noEdges is a higher number of events than any day has.
const noEdges = math.MaxInt64

// idleRounds is the number of statements of a warmer if everything is already counted: the sums of each span, and the
// rolling uniques.
const idleRounds = 4

// selected returns the number of rows that the engine reads while read runs.
func selected(t *testing.T, db *testDB, read func()) int {
	t.Helper()
	rows := func() int {
		return int(ask[uint64](t, db, "SELECT sum(value) FROM system.events WHERE event = 'SelectedRows'"))
	}
	idle := rows()
	idle = rows() - idle // the rows that the question itself reads
	before := rows()
	read()
	return rows() - before - idle
}

// firstReads breaks down every dimension. It compares the rows of each first read with the second read, and with the
// model.
func firstReads(t *testing.T, db *testDB, scope analytics.Scope, rows []event.Row) {
	t.Helper()
	for _, dimension := range filter.Dimensions() {
		q := analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: 100}
		var got []analytics.BreakdownRow
		first := selected(t, db, func() { got = allPages(t, db, q, nil) })
		again := selected(t, db, func() { allPages(t, db, q, nil) })
		if first > again {
			t.Errorf("%s: the first read takes %d rows, the second %d", dimension, first, again)
		}
		if want := (model{rows}).breakdown(q, nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", dimension, got, want)
		}
	}
}

func inBerlin(t *testing.T) Target {
	return Target{clickhousetest.Production(), clickhousetest.Location(t, "Europe/Berlin")}
}

// TestWarmerCountsBeforeAnybodyAsks checks that the first read of every dimension scans no more rows than later reads,
// even after late events, and that nothing is counted twice.
func TestWarmerCountsBeforeAnybodyAsks(t *testing.T) {
	db, rows, target := open(t), clickhousetest.Rows(), inBerlin(t)
	half := len(rows) / 2
	store(t, db, rows[:half], 500)
	now := time.Date(2026, 11, 4, 15, 4, 5, 678e6, target.Location)
	scope := analytics.Scope{Environment: target.Environment, Window: domain.Window{From: now.AddDate(0, 0, -30), To: now, Location: target.Location}}
	day, week := scope, scope
	day.Window.From, day.Window.To = domain.Day.Floor(now.AddDate(0, 0, -20)), domain.Day.Floor(now)
	week.Window.From = now.AddDate(0, 0, -7).Add(warmEvery)
	counted := warmAhead(t, db, target, now, 0)
	for _, scope := range []analytics.Scope{scope, day, week} {
		firstReads(t, db, scope, rows[:half])
	}
	again := warmAhead(t, db, target, now, 0)
	if third := warmAhead(t, db, target, now, 0); again > counted/3 || third != again {
		t.Errorf("the rounds have %d, %d and %d statements", counted, again, third)
	}
	late := db.NewBlock()
	for i := range rows[half:] {
		late.Append(&rows[half+i])
	}
	insert(t, db, "late", 999, late)
	q := analytics.BreakdownQuery{Scope: scope, Dimension: filter.DimPath, Limit: 100}
	if got, want := allPages(t, db, q, nil), (model{rows}).breakdown(q, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("before the warmer comes by again:\n got %+v\nwant %+v", got, want)
	}
	if statements := warmAhead(t, db, target, now, 0); statements <= again {
		t.Error("the warmer did not see the late events")
	}
	firstReads(t, db, scope, rows)
}

func TestWarmerGoesOnAfterARestart(t *testing.T) {
	db, rows, target := open(t), clickhousetest.Rows(), inBerlin(t)
	store(t, db, rows, 5000)
	now := rows[len(rows)/2].Event.Ts
	warmAhead(t, db, target, now, noEdges)
	var file bytes.Buffer
	if err := db.SaveDays(deadline(t), &file); err != nil {
		t.Fatal(err)
	}
	db.forget()
	if err := db.LoadDays(deadline(t), &file); err != nil {
		t.Fatal(err)
	}
	if statements := warmAhead(t, db, target, now, noEdges); statements != idleRounds {
		t.Errorf("after a restart a round has %d statements", statements)
	}
}

// TestWarmerStopsWhileItCounts ends the warmer in each of its first statements.
func TestWarmerStopsWhileItCounts(t *testing.T) {
	db, rows, target := open(t), clickhousetest.Rows(), inBerlin(t)
	store(t, db, rows, 5000)
	for last := range 6 {
		db.forget()
		ctx, stop := context.WithCancelCause(deadline(t))
		ended := errors.New("shut down")
		statements := 0
		k := &Warmer{Store: db.Store, Busy: func() bool { return false }, Now: func() time.Time { return time.Time{} }}
		one := warming{db: db.quiet(), target: target, now: rows[0].Event.Ts.AddDate(0, 2, 0), edge: noEdges, share: warmedShare, pace: func(ctx context.Context, work func() error) error {
			return k.pace(ctx, func() error {
				if statements++; statements > last {
					stop(ended)
				}
				return work()
			})
		}}
		err := one.warm(ctx, 366)
		if !errors.Is(err, ended) || statements != last+1 {
			t.Errorf("%d statements, %v", statements, err)
		}
		stop(nil)
	}
}

// TestWarmerLeavesRoom checks that the warmer drops nothing that reads have requested.
func TestWarmerLeavesRoom(t *testing.T) {
	db, rows, target := open(t), clickhousetest.Rows(), inBerlin(t)
	store(t, db, rows, 5000)
	db.ranks = lru.New[rankKey, []ranked](20_000)
	day := domain.Day.Floor(rows[0].Event.Ts.In(target.Location))
	asked := analytics.BreakdownQuery{Limit: 100, Dimension: filter.DimPath, Scope: analytics.Scope{
		Environment: target.Environment, IncludeBots: true, Window: domain.Window{From: day, To: domain.Day.Next(day), Location: target.Location},
	}}
	allPages(t, db, asked, nil)
	held := slices.Collect(keys(db.ranks))
	if len(held) != 1 {
		t.Fatalf("%d days are kept before the warmer comes", len(held))
	}
	warmAhead(t, db, target, rows[0].Event.Ts.AddDate(0, 2, 0), noEdges)
	if !db.ranks.Full(warmedShare) || !db.ranks.Has(held[0]) {
		t.Errorf("full %t, holds what was asked %t", db.ranks.Full(warmedShare), db.ranks.Has(held[0]))
	}
}

// TestWarmerGoesByWhatIsAskedFor has three targets. Reads have requested two of them, before and after the cache is
// full.
func TestWarmerGoesByWhatIsAskedFor(t *testing.T) {
	db, target := open(t), inBerlin(t)
	var targets []Target
	for n := range uint64(3) {
		other := target
		other.Environment.Number = n + 1
		targets = append(targets, other)
	}
	k := &Warmer{Store: db.Store, Targets: func() []Target { return targets }}
	turns := func() (numbers []uint64) {
		for target := range k.inTurn() {
			numbers = append(numbers, target.Environment.Number)
		}
		return numbers
	}
	if got := turns(); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("before anybody asks: %v", got)
	}
	for _, number := range []uint64{2, 3} {
		scope := analytics.Scope{Environment: targets[number-1].Environment, Window: domain.Window{From: time.Unix(1_795_000_000, 0), To: time.Unix(1_795_600_000, 0), Location: target.Location, Interval: domain.Day}}
		if _, err := db.Breakdown(deadline(t), analytics.BreakdownQuery{Scope: scope, Dimension: filter.DimPath, Limit: 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := turns(); !slices.Equal(got, []uint64{3, 2, 1}) {
		t.Errorf("after reads: %v", got)
	}
	db.ranks.Put(rankKey{}, nil, rankBytes/100*warmedShare)
	if got := turns(); !slices.Equal(got, []uint64{3, 2}) {
		t.Errorf("with a full cache: %v", got)
	}
}

func keys[K comparable, V any](m *lru.Cache[K, V]) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m.All() {
			if !yield(k) {
				return
			}
		}
	}
}

// TestWarmerRounds runs a warmer for an hour of virtual time. It finishes a span for all targets before the next span,
// retries a failed target in the next round, waits for other work before each statement, and rests after it.
func TestWarmerRounds(t *testing.T) {
	conn, err := clickhouse.Connect(clickhouse.Config{DSN: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	db, err := New(conn)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began, rounds := time.Now(), 0
		var busy time.Time
		k := &Warmer{
			Store: db,
			Targets: func() []Target {
				return []Target{{Environment: domain.Environment{ID: "a", Number: 1}}, {Environment: domain.Environment{ID: "b", Number: 2}}}
			},
			Busy:    func() bool { return time.Now().Before(busy) },
			Counted: func() { rounds++ },
			Now:     time.Now, Logger: slog.New(slog.DiscardHandler),
		}
		type statement struct {
			target string
			days   int
			at     time.Duration
		}
		var got []statement
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
		defer cancel()
		err := k.rounds(ctx, func(ctx context.Context, target Target, days int) error {
			busy = time.Now().Add(50 * time.Millisecond)
			if len(got) == 3 {
				busy = busy.Add(time.Hour)
			}
			return errors.Join(errors.New("fails"), k.pace(ctx, func() error {
				got = append(got, statement{target.Environment.ID, days, time.Since(began)})
				time.Sleep(time.Second)
				return nil
			}))
		})
		// 60 ms until it sees that the others have ended, or two seconds; then a second of work and three seconds of
		// rest.
		const turn = 4060 * time.Millisecond
		second := 3*turn + 2*time.Second + 4*time.Second + warmEvery
		third := second + 4*turn + warmEvery
		var want []statement
		for n, round := range []time.Duration{0, second, third} {
			for i, one := range []statement{{"a", 31, 60}, {"b", 31, 60}, {"a", 366, 60}, {"b", 366, 60}} {
				one.at = round + time.Duration(i)*turn + 60*time.Millisecond
				if n == 0 && i == 3 {
					one.at = 3*turn + giveWay
				}
				want = append(want, one)
			}
		}
		if err != nil || rounds != 3 || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %d rounds\n got %v\nwant %v", err, rounds, got, want)
		}
	})
}
