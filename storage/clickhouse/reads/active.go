package reads

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/analytics"
	"svc/storage/clickhouse"
)

// pastBytes limits the memory of the cached activity of past days.
const pastBytes = 64 << 20

// freshDays is the number of latest days that are compared with earlier days through sets. Late events mostly belong to
// these days, so they do not invalidate the cache.
const freshDays = 2

// pastKey identifies the activity of whole local days, [from, to) in seconds since 1970. It includes the number of
// their events. Events are only added, and expire by whole days, so the same number means the same activity.
type pastKey struct {
	environment uint64
	bots        bool
	zone        string
	from, to    int64
	events      int64
	latest      bool
}

// past is the activity of whole days. It has either the gaps between the active days of visitors, or the last active
// day of each visitor.
type past struct {
	gaps []gap
	// visitors are ascending. days has the start of the last active day of each visitor.
	visitors []uint64
	days     []uint32
}

// gap is the number of visitors that were active on day and, before that, last on before. before is zero for visitors
// without an earlier active day.
type gap struct {
	day, before uint32
	visitors    uint64
}

// ActiveUsers returns rolling uniques for every local day that a window touches. A day counts as a whole, except that
// the last one ends with the window. The rolling windows extend to before the window. With filters the series cover at
// most domain.FilteredDays.
func (db *Store) ActiveUsers(ctx context.Context, scope analytics.Scope) (analytics.ActiveUsers, error) {
	return share(ctx, db, scope.Environment, "active "+scopeKey(scope, nil), func(ctx context.Context) (analytics.ActiveUsers, error) {
		return db.activeUsers(ctx, scope)
	})
}

func (db *Store) activeUsers(ctx context.Context, scope analytics.Scope) (out analytics.ActiveUsers, err error) {
	if len(scope.Filters) > 0 {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	days := localDays(scope.Window)
	if len(days) == 0 {
		return out, nil
	}
	span := subWindow(scope, domain.Day.Floor(days[0].AddDate(0, 0, 1-analytics.MonthlyDays)), scope.Window.To)
	var gaps []gap
	if len(scope.Filters) > 0 {
		gaps, err = db.readGaps(ctx, span, "activity.Events")
	} else {
		gaps, err = db.wholeGaps(ctx, span)
	}
	if err != nil {
		return analytics.ActiveUsers{}, err
	}
	counted := countGaps(gaps, localDays(span.Window), days[0])
	daily, weekly, monthly := counted.Rolling(1, len(days)), counted.Rolling(analytics.WeeklyDays, len(days)), counted.Rolling(analytics.MonthlyDays, len(days))
	for i, day := range days {
		out.DAU = append(out.DAU, analytics.Point{T: day, Value: float64(daily[i])})
		out.WAU = append(out.WAU, analytics.Point{T: day, Value: float64(weekly[i])})
		out.MAU = append(out.MAU, analytics.Point{T: day, Value: float64(monthly[i])})
		out.Stickiness = append(out.Stickiness, analytics.Point{T: day, Value: share01(daily[i], monthly[i])})
	}
	return out, nil
}

// countGaps numbers the days so that the first day of a series is zero.
func countGaps(gaps []gap, span []time.Time, first time.Time) analytics.Gaps {
	number := make(map[uint32]int, len(span))
	for i, day := range span {
		number[uint32(day.Unix())] = i
	}
	zero := number[uint32(first.Unix())]
	out := analytics.Gaps{}
	for _, g := range gaps {
		distance := 0
		if g.before != 0 {
			distance = number[g.day] - number[g.before]
		}
		out.Add(number[g.day]-zero, distance, g.visitors)
	}
	return out
}

// readGaps lets the engine compare the days of the scope's window.
func (db *Store) readGaps(ctx context.Context, scope analytics.Scope, source string) ([]gap, error) {
	c, err := db.where(ctx, scope)
	if err != nil {
		return nil, err
	}
	var gaps []gap
	args := c.Args().With(scopeArguments(scope, scope.Window)).With(clickhouse.BucketArgs(localDays(scope.Window))).With(clickhouse.Args{"event": ""})
	err = db.conn.Read(ctx, "comparing days", db.activity(db.queries["activity.Gaps"], source, c), args, func(rows driver.Rows) (bool, error) {
		var g gap
		err := rows.Scan(&g.day, &g.before, &g.visitors)
		gaps = append(gaps, g)
		return true, err
	})
	return gaps, err
}

// wholeGaps compares days without filters. It takes past days from the cache, and compares the fresh days with the days
// before them.
func (db *Store) wholeGaps(ctx context.Context, span analytics.Scope) ([]gap, error) {
	t, err := db.readTraffic(ctx, span, []domain.Window{span.Window}, domain.Day, false)
	if err != nil {
		return nil, err
	}
	buckets := localDays(span.Window)
	fresh := max(len(buckets)-freshDays, 0)
	border := buckets[fresh].Unix()
	isFresh := func(c cut) bool { return c.bucket >= border }
	closed := slices.DeleteFunc(slices.Clone(t.cuts), isFresh)
	recent := slices.DeleteFunc(slices.Clone(t.cuts), func(c cut) bool { return !isFresh(c) })
	total, last := int64(0), int64(0)
	for _, c := range t.cuts {
		total += c.sums.events
	}
	if total > heavyEvents {
		return db.readGaps(ctx, span, "activity.Visits")
	}
	monthBegin := buckets[max(fresh-analytics.MonthlyDays+1, 0)].Unix()
	month := slices.DeleteFunc(slices.Clone(closed), func(c cut) bool { return c.bucket < monthBegin })
	for _, c := range month {
		last += c.sums.events
	}
	var gaps, latest *past
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		gaps, err = db.pastGaps(groupCtx, span, closed, border)
		return err
	})
	group.Go(func() (err error) {
		latest, err = db.pastLatest(groupCtx, span, month, monthBegin, border, last)
		return err
	})
	group.Go(func() error { return db.loadPieces(groupCtx, span, recent) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return append(slices.Clone(gaps.gaps), latest.compare(buckets[fresh:], recent, t.visits)...), nil
}

func (db *Store) pastKey(span analytics.Scope, from, to, events int64, latest bool) pastKey {
	return pastKey{
		environment: span.Environment.Number, bots: span.IncludeBots, zone: span.Window.Location.String(),
		from: from, to: to, events: events, latest: latest,
	}
}

// pastGaps returns the gaps within the days before the fresh ones.
func (db *Store) pastGaps(ctx context.Context, span analytics.Scope, closed []cut, border int64) (*past, error) {
	if len(closed) == 0 {
		return &past{}, nil
	}
	var events int64
	for _, c := range closed {
		events += c.sums.events
	}
	key := db.pastKey(span, span.Window.From.Unix(), border, events, false)
	if known, ok := db.past.Get(key); ok {
		return known, nil
	}
	before, err := db.visitEvents(ctx, span, key.from, border)
	if err != nil {
		return nil, err
	}
	gaps, err := db.readGaps(ctx, subWindow(span, span.Window.From, time.Unix(border, 0)), "activity.Visits")
	if err != nil {
		return nil, err
	}
	p := &past{gaps: gaps}
	if before == events {
		db.past.Put(key, p, 16*len(gaps))
	}
	return p, nil
}

// pastLatest returns the last active day of each visitor within the month before the fresh days.
func (db *Store) pastLatest(ctx context.Context, span analytics.Scope, month []cut, from, to, events int64) (*past, error) {
	if len(month) == 0 {
		return &past{}, nil
	}
	key := db.pastKey(span, from, to, events, true)
	if known, ok := db.past.Get(key); ok {
		return known, nil
	}
	before, err := db.visitEvents(ctx, span, from, to)
	if err != nil {
		return nil, err
	}
	begins := make([]time.Time, len(month))
	for i, c := range month {
		begins[i] = time.Unix(c.from, 0)
	}
	p := &past{}
	args := environmentArguments(span).With(clickhouse.BucketArgs(begins)).With(clickhouse.Args{"whole_from": from, "whole_to": to})
	err = db.conn.Read(ctx, "listing the last visits", db.queries["activity.Latest"], args, func(rows driver.Rows) (bool, error) {
		var visitors, days string
		err := rows.Scan(&visitors, &days)
		p.visitors, p.days = numbers(visitors), shortNumbers(days)
		return true, err
	})
	if err == nil && before == events {
		db.past.Put(key, p, 12*len(p.visitors))
	}
	return p, err
}

// visitEvents returns the number of events of the visits of whole slots. If it equals the number from traffic, later
// reads of visits see the same inserts or more.
func (db *Store) visitEvents(ctx context.Context, span analytics.Scope, from, to int64) (events int64, err error) {
	args := environmentArguments(span).With(clickhouse.Args{"whole_from": from, "whole_to": to})
	err = db.conn.Read(ctx, "counting the events of visits", db.queries["visits.Events"], args, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&events)
	})
	return events, err
}

// shortNumbers unpacks numbers of four little-endian bytes.
func shortNumbers(packed string) []uint32 {
	bytes := []byte(packed)
	out := make([]uint32, len(bytes)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
	return out
}

// compare returns the gaps of fresh days. If the visitor was active on an earlier fresh day, the gap goes to that day,
// otherwise to the visitor's last day in p.
func (p *past) compare(fresh []time.Time, pieces []cut, visits []visit) []gap {
	var out []gap
	sets := make([][]uint64, len(fresh))
	for i, day := range fresh {
		var seen [][]uint64
		for _, c := range pieces {
			if c.bucket == day.Unix() {
				seen = append(seen, c.piece.visitors)
			}
		}
		var late []uint64
		for _, v := range visits {
			if v.end.bucket == day.Unix() {
				late = append(late, v.visitor)
			}
		}
		slices.Sort(late)
		sets[i] = union(append(seen, slices.Compact(late)))
		counts := map[uint32]uint64{}
		p.countLast(sets[:i], fresh, sets[i], counts)
		for before, visitors := range counts {
			out = append(out, gap{day: uint32(day.Unix()), before: before, visitors: visitors})
		}
	}
	return out
}

// countLast counts the visitors of a set by their last active day before. It looks first in the ascending earlier sets
// of fresh days, then in p.
func (p *past) countLast(earlier [][]uint64, fresh []time.Time, set []uint64, counts map[uint32]uint64) {
	at := 0
	for _, visitor := range set {
		before := uint32(0)
		for i := len(earlier) - 1; i >= 0 && before == 0; i-- {
			if _, found := slices.BinarySearch(earlier[i], visitor); found {
				before = uint32(fresh[i].Unix())
			}
		}
		for at < len(p.visitors) && p.visitors[at] < visitor {
			at++
		}
		if before == 0 && at < len(p.visitors) && p.visitors[at] == visitor {
			before = p.days[at]
		}
		counts[before]++
	}
}
