package reads

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/analytics"
	"svc/storage/clickhouse"
)

// cut is a run of whole slots within one bucket of one window.
type cut struct {
	window   int // index of the window
	bucket   int64
	from, to int64 // in seconds since 1970
	whole    bool  // the cut covers the whole bucket
	sums     sums
	piece    *piece
}

// sums are the sums of traffic.
type sums struct{ events, pageviews, bounces, lasted int64 }

// end is a partial slot at an end of a window.
type end struct {
	window   int
	bucket   int64
	from, to time.Time
}

// visit records that a visitor was active in a session at an end of a window.
type visit struct {
	end              end
	visitor, session uint64
}

// traffic has the sums of adjacent windows without filters: the sums of their cuts with events, the sums of their ends,
// and the visits at the ends.
type traffic struct {
	cuts   []cut
	ends   map[end]sums
	visits []visit
}

// readTraffic reads the traffic of one window, or of two adjacent windows. Buckets belong to an interval in the
// windows' time zone. If stays is false, the ends lack bounces and durations.
func (db *Store) readTraffic(ctx context.Context, scope analytics.Scope, windows []domain.Window, interval domain.Interval, stays bool) (traffic, error) {
	var t traffic
	cuts, ends := cutWindows(windows, interval)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		t.cuts, err = db.readCuts(ctx, scope, cuts)
		return err
	})
	group.Go(func() (err error) {
		t.ends, t.visits, err = db.readEnds(ctx, scope, ends, stays)
		return err
	})
	err := group.Wait()
	return t, err
}

// cutWindows returns the whole slots of windows by bucket, and their partial slots. Both are in order.
func cutWindows(windows []domain.Window, interval domain.Interval) (cuts []cut, ends []end) {
	for i, w := range windows {
		s := spanOf(w.From, w.To)
		floor := func(t time.Time) int64 { return interval.Floor(t.In(w.Location)).Unix() }
		if s.from.Before(s.headTo) {
			ends = append(ends, end{i, floor(s.from), s.from, s.headTo})
		}
		for _, bucket := range w.Buckets(interval) {
			next := interval.Next(bucket)
			from, to := max(bucket.Unix(), s.wholeFrom.Unix()), min(next.Unix(), s.wholeTo.Unix())
			if from < to {
				whole := from == bucket.Unix() && to == next.Unix()
				cuts = append(cuts, cut{window: i, bucket: bucket.Unix(), from: from, to: to, whole: whole})
			}
		}
		if s.tailFrom.Before(s.to) {
			ends = append(ends, end{i, floor(s.tailFrom), s.tailFrom, s.to})
		}
	}
	return cuts, ends
}

// readCuts returns the cuts that have events, with their sums.
func (db *Store) readCuts(ctx context.Context, scope analytics.Scope, cuts []cut) ([]cut, error) {
	if len(cuts) == 0 {
		return nil, nil
	}
	// A border at the end of a cut, if the next cut does not begin there, excludes the slots after it from the cut.
	var borders []time.Time
	for i, c := range cuts {
		if i > 0 && cuts[i-1].to < c.from {
			borders = append(borders, time.Unix(cuts[i-1].to, 0))
		}
		borders = append(borders, time.Unix(c.from, 0))
	}
	byBegin, err := db.sumTraffic(ctx, scope, borders, cuts[0].from, cuts[len(cuts)-1].to)
	full := make([]cut, 0, len(cuts))
	for _, c := range cuts {
		if s, known := byBegin[c.from]; known {
			c.sums = s
			full = append(full, c)
		}
	}
	return full, err
}

// sumTraffic adds up the whole slots of a span between borders, by the start of each range. The panels of a page need
// the same sums at the same time, so callers share the answer and must not change it.
func (db *Store) sumTraffic(ctx context.Context, scope analytics.Scope, borders []time.Time, from, to int64) (map[int64]sums, error) {
	args := environmentArguments(scope).With(clickhouse.BucketArgs(borders)).With(clickhouse.Args{"whole_from": from, "whole_to": to})
	key := fmt.Sprintf("traffic %v", args)
	return clickhouse.Join(ctx, db.conn.Of(scope.Environment.Number), key, func(ctx context.Context) (map[int64]sums, error) {
		byBegin := make(map[int64]sums, len(borders))
		return byBegin, db.conn.Read(ctx, "adding up traffic", db.queries["traffic.Sum"], args, func(rows driver.Rows) (bool, error) {
			var begin uint32
			var s sums
			err := rows.Scan(&begin, &s.events, &s.pageviews, &s.bounces, &s.lasted)
			byBegin[int64(begin)] = s
			return true, err
		})
	})
}

// maxEnds is the number of partial slots that traffic.Ends accepts.
const maxEnds = 4

// readEnds returns the sums of partial slots and the visits in them.
func (db *Store) readEnds(ctx context.Context, scope analytics.Scope, ends []end, stays bool) (map[end]sums, []visit, error) {
	totals := make(map[end]sums, len(ends))
	if len(ends) == 0 {
		return totals, nil, nil
	}
	query := db.queries["traffic.Ends"]
	if stays {
		query = db.queries["traffic.EndsAndStays"]
	}
	var visits []visit
	args := environmentArguments(scope).With(endArguments(ends))
	byBegin := make(map[int64]end, len(ends))
	for _, e := range ends {
		byBegin[e.from.UnixMilli()] = e
	}
	err := db.conn.Read(ctx, "listing visits at the ends of a window", query, args, func(rows driver.Rows) (bool, error) {
		var begin int64
		var v visit
		var s sums
		err := rows.Scan(&begin, &v.visitor, &v.session, &s.events, &s.pageviews, &s.bounces, &s.lasted)
		v.end = byBegin[begin]
		if s.events > 0 && v.session != 0 {
			visits = append(visits, v)
		}
		totals[v.end] = totals[v.end].plus(s)
		return true, err
	})
	return totals, visits, err
}

func (s sums) plus(other sums) sums {
	return sums{s.events + other.events, s.pageviews + other.pageviews, s.bounces + other.bounces, s.lasted + other.lasted}
}

// endArguments returns the values of traffic.Ends for partial slots, in order.
func endArguments(ends []end) clickhouse.Args {
	begins := make([]int64, len(ends))
	args := clickhouse.Args{}
	for i := range maxEnds {
		from, to := time.UnixMilli(0), time.UnixMilli(0)
		if i < len(ends) {
			from, to = ends[i].from, ends[i].to
			begins[i] = from.UnixMilli()
		}
		args[fmt.Sprintf("from_%d", i)], args[fmt.Sprintf("to_%d", i)] = from, to
	}
	args["ends"] = begins
	return args
}

// count adds the sums of a window to its counts.
func (t traffic) count(window int, counts *windowCounts) {
	add := func(bucket int64, s sums) {
		tally := counts.buckets[bucket]
		tally.events += uint64(s.events)
		tally.pageviews += uint64(s.pageviews)
		counts.buckets[bucket] = tally
		counts.bounces += s.bounces
		counts.lasted += s.lasted
	}
	for _, c := range t.cuts {
		if c.window == window {
			add(c.bucket, c.sums)
		}
	}
	for e, s := range t.ends {
		if e.window == window {
			add(e.bucket, s)
		}
	}
}
