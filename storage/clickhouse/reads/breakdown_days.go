package reads

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/storage/clickhouse"
)

const (
	// rankBytes limits the memory of the cached values of past days.
	rankBytes = 96 << 20
	// maxGathered is the maximum number of events that one query over whole days may collect before it groups them.
	// That many take some 300 MB in the engine.
	maxGathered = 10_000_000
	// maxRanked is the maximum number of values of all days together. Beyond it the engine ranks.
	maxRanked = 2_000_000
)

// rankKey identifies the sums of a dimension's values over whole slots of one local day, in one state of the store.
// Events are added, and expire by whole days. A bounce that is taken back changes the sums of the day on which its
// session began.
type rankKey struct {
	environment uint64
	bots        bool
	dimension   filter.Dimension
	from, to    int64
	sums        sums
}

// ranked has the sums of one value on one day.
type ranked struct {
	value                                  unique.Handle[string]
	visitors, pageviews, sessions, bounces uint64
}

// rankedBytes is the size of a ranked, including its share of the text.
const rankedBytes = 64

// rankDays ranks the values of a dimension without filters. It takes past days from the cache if they are cached. It
// returns errElsewhere if there are too many values or events, or if a value must be masked.
func (db *Store) rankDays(ctx context.Context, q analytics.BreakdownQuery, v values) (rows []analytics.BreakdownRow, more bool, err error) {
	if !q.Window.From.Before(q.Window.To) {
		return []analytics.BreakdownRow{}, false, nil
	}
	cuts, err := db.readCuts(ctx, q.Scope, cutDays(q.Window))
	if err != nil {
		return nil, false, err
	}
	var events int64 // number of events to count
	for _, c := range cuts {
		if !db.ranks.Has(c.rankKey(q)) {
			events += c.sums.events
		}
	}
	if events > heavyEvents {
		return nil, false, errElsewhere
	}
	days, err := db.daysOf(ctx, q, v, cuts)
	if err != nil {
		return nil, false, err
	}
	total := map[unique.Handle[string]]*ranked{}
	for _, day := range days {
		for i := range day {
			sum := total[day[i].value]
			if sum == nil {
				sum = &ranked{value: day[i].value}
				total[day[i].value] = sum
			}
			sum.add(&day[i])
		}
	}
	if len(total) > maxRanked {
		return nil, false, errElsewhere
	}
	return cutPage(q, total)
}

// cutDays returns the local days of a window. The first day begins at the full hour before the window, counted from
// midnight. The last day is complete, even beyond the window.
func cutDays(w domain.Window) (cuts []cut) {
	for _, day := range w.Buckets(domain.Day) {
		next := domain.Day.Next(day)
		c := cut{bucket: day.Unix(), from: day.Unix(), to: next.Unix(), whole: !w.From.After(day) && !w.To.Before(next)}
		if w.From.After(day) {
			c.from = day.Add(w.From.Sub(day).Truncate(restHour)).Unix()
		}
		cuts = append(cuts, c)
	}
	return cuts
}

// daysOf returns the values of every local day of a window.
func (db *Store) daysOf(ctx context.Context, q analytics.BreakdownQuery, v values, cuts []cut) ([][]ranked, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxDayReads)
	days := make([][]ranked, len(cuts))
	var missing []cut
	for i := range cuts {
		c := &cuts[i]
		known := false
		if c.whole {
			if days[i], known = db.ranks.Get(c.rankKey(q)); !known {
				missing = append(missing, *c)
			}
			continue
		}
		group.Go(func() (err error) {
			days[i], err = db.partOfDay(ctx, q, v, c)
			return err
		})
	}
	var read [][]ranked
	group.Go(func() (err error) {
		read, err = db.readDays(ctx, q, v, missing)
		return err
	})
	err := group.Wait()
	return slices.Concat(days, read), err
}

// maxDayReads is the maximum number of parallel reads of one breakdown.
const maxDayReads = 4

// rankKey returns the key of the values of a cut. The duration of the sessions is not part of it, because it does not
// change the values.
func (c *cut) rankKey(q analytics.BreakdownQuery) rankKey {
	counted := c.sums
	counted.lasted = 0
	return rankKey{environment: q.Environment.Number, bots: q.IncludeBots, dimension: q.Dimension, from: c.from, to: c.to, sums: counted}
}

// readDays counts whole days in the engine, several in one query while they are small.
func (db *Store) readDays(ctx context.Context, q analytics.BreakdownQuery, v values, days []cut) ([][]ranked, error) {
	var out [][]ranked
	for first := 0; first < len(days); {
		last, events := first, days[first].sums.events
		for last+1 < len(days) && events+days[last+1].sums.events <= maxGathered {
			last++
			events += days[last].sums.events
		}
		query := "breakdown.Days"
		if events > maxGathered {
			query = "breakdown.Buckets"
		}
		read, err := db.readDaysBy(ctx, q, v, days[first:last+1], query)
		if err != nil {
			return nil, err
		}
		out = append(out, read...)
		first = last + 1
	}
	return out, nil
}

// readDaysBy counts days with one query. It caches the days with as many events as the sums that requested them; the
// others belong to an earlier or later insert.
func (db *Store) readDaysBy(ctx context.Context, q analytics.BreakdownQuery, v values, days []cut, query string) ([][]ranked, error) {
	// A border after each day excludes the events after it.
	borders := make([]time.Time, 0, 2*len(days))
	for i, c := range days {
		if i > 0 && days[i-1].to < c.from {
			borders = append(borders, time.Unix(days[i-1].to, 0))
		}
		borders = append(borders, time.Unix(c.from, 0))
	}
	span := subWindow(q.Scope, time.Unix(days[0].from, 0), time.Unix(days[len(days)-1].to, 0))
	read, events, err := db.readBuckets(ctx, span, v, borders, query)
	if err != nil {
		return nil, err
	}
	var out [][]ranked
	for _, c := range days {
		day := read[c.from]
		out = append(out, day)
		if events[c.from] == c.sums.events {
			db.ranks.Put(c.rankKey(q), day, rankedBytes*len(day))
		}
	}
	return out, nil
}

// readBuckets counts the values of buckets in the engine with breakdown.Buckets or breakdown.Days, and the events of
// each bucket.
func (db *Store) readBuckets(ctx context.Context, scope analytics.Scope, v values, buckets []time.Time, query string) (map[int64][]ranked, map[int64]int64, error) {
	out, events := map[int64][]ranked{}, map[int64]int64{}
	args := v.args.With(scopeArguments(scope, scope.Window)).With(clickhouse.BucketArgs(buckets))
	err := db.conn.Read(ctx, "breaking down days", v.fill(db.queries[query]), args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var value string
		var occurred uint64
		var r ranked
		err := rows.Scan(&bucket, &value, &occurred, &r.visitors, &r.pageviews, &r.sessions, &r.bounces)
		events[int64(bucket)] += int64(occurred)
		if value != "" {
			r.value = unique.Make(value)
			out[int64(bucket)] = append(out[int64(bucket)], r)
		}
		return true, err
	})
	return out, events, err
}

// partOfDay counts the part of a local day that lies in the window. A day that is cut at only one end is counted
// through the caches. A day that is too large for them, or cut at both ends, is counted in the engine for every read.
func (db *Store) partOfDay(ctx context.Context, q analytics.BreakdownQuery, v values, c *cut) ([]ranked, error) {
	day, next := time.Unix(c.bucket, 0), time.Unix(c.to, 0)
	begins, ends := q.Window.From.After(day), q.Window.To.Before(next)
	switch {
	case begins && !ends:
		return db.restOfDay(ctx, q, v, c)
	case ends && !begins:
		if today, err := db.rankToday(ctx, q, v, c); !errors.Is(err, errElsewhere) {
			return today, err
		}
	}
	from, to := day, next
	if begins {
		from = q.Window.From
	}
	if ends {
		to = q.Window.To
	}
	read, _, err := db.readBuckets(ctx, subWindow(q.Scope, from, to), v, []time.Time{day}, "breakdown.Buckets")
	return read[c.bucket], err
}

// cutPage applies the search, ranks the values and cuts out a page. It returns errElsewhere if a value must be masked.
func cutPage(q analytics.BreakdownQuery, total map[unique.Handle[string]]*ranked) (page []analytics.BreakdownRow, more bool, err error) {
	page = []analytics.BreakdownRow{}
	word := strings.ToLower(q.Search)
	for _, sum := range total {
		value := sum.value.Value()
		if q.Masked && domain.MaskShapes(value) != value {
			return nil, false, errElsewhere
		}
		if word != "" && !strings.Contains(strings.ToLower(value), word) {
			continue
		}
		row := analytics.BreakdownRow{
			Value: value, Visitors: sum.visitors, Pageviews: sum.pageviews, Sessions: sum.sessions,
			BounceRate: share01(sum.bounces, sum.sessions),
		}
		if q.After == nil || q.After.Compare(row.Key()) < 0 {
			page = append(page, row)
		}
	}
	slices.SortFunc(page, func(a, b analytics.BreakdownRow) int { return a.Key().Compare(b.Key()) })
	more = len(page) > q.Limit
	return page[:min(len(page), q.Limit)], more, nil
}
