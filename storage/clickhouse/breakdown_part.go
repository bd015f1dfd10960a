package clickhouse

import (
	"context"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc"
)

// rankedPart is what the values of a dimension add up to over whole slots within a day,
// with who stands behind it. It is immutable.
type rankedPart struct {
	values map[string]*rankedSet
	// bounced holds the sessions that began in the part and bounced, ascending.
	bounced []uint64
	events  int64
	// bounces is what traffic had counted of them before they were read.
	bounces int64
}

// rankedSet is one value of a rankedPart. Visitors and sessions are ascending.
type rankedSet struct {
	visitors, sessions []uint64
	pageviews, bounces uint64
}

// edge is one row of an end of a window: a visitor with a session that showed a value, or
// a session that began there and bounced.
type edge struct {
	value            string
	visitor, session uint64
	pageviews        uint64
	bounced          bool
}

// mark is a member of the set of a value.
type mark struct {
	value  string
	member uint64
}

// joinPart counts a part of a day from its whole slots and the ends of the window on it.
func (db *DB) joinPart(ctx context.Context, q svc.BreakdownQuery, v values, bucket int64, c *cut, ends []end) ([]ranked, error) {
	part := &rankedPart{}
	rows := make([][]edge, len(ends))
	group, ctx := errgroup.WithContext(ctx)
	if c != nil {
		group.Go(func() (err error) {
			part, err = db.readPart(ctx, q, v, bucket, c)
			return err
		})
	}
	for i, e := range ends {
		group.Go(func() (err error) {
			rows[i], err = db.readEnd(ctx, q, v, bucket, e)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return part.join(slices.Concat(rows...)), nil
}

// join adds the rows of the ends to a part.
func (p *rankedPart) join(edges []edge) []ranked {
	extra := map[string]*ranked{}
	visitors, sessions, bounces := map[mark]bool{}, map[mark]bool{}, map[mark]bool{}
	first := func(seen map[mark]bool, value string, member uint64, set []uint64) uint64 {
		key := mark{value, member}
		if _, found := slices.BinarySearch(set, member); found || seen[key] {
			return 0
		}
		seen[key] = true
		return 1
	}
	for _, e := range edges {
		sum, set := extra[e.value], p.values[e.value]
		if sum == nil {
			sum = &ranked{}
			extra[e.value] = sum
		}
		if set == nil {
			set = &rankedSet{}
		}
		if e.bounced {
			sum.bounces += first(bounces, e.value, e.session, nil)
			continue
		}
		sum.pageviews += e.pageviews
		sum.visitors += first(visitors, e.value, e.visitor, set.visitors)
		isNew := first(sessions, e.value, e.session, set.sessions)
		sum.sessions += isNew
		if _, bounced := slices.BinarySearch(p.bounced, e.session); bounced {
			sum.bounces += isNew
		}
	}
	out := make([]ranked, 0, len(p.values)+len(extra))
	for value, set := range p.values {
		r := ranked{
			value: unique.Make(value), visitors: uint64(len(set.visitors)), sessions: uint64(len(set.sessions)),
			pageviews: set.pageviews, bounces: set.bounces,
		}
		if sum := extra[value]; sum != nil {
			r.visitors, r.sessions = r.visitors+sum.visitors, r.sessions+sum.sessions
			r.pageviews, r.bounces = r.pageviews+sum.pageviews, r.bounces+sum.bounces
			delete(extra, value)
		}
		out = append(out, r)
	}
	for value, sum := range extra {
		sum.value = unique.Make(value)
		out = append(out, *sum)
	}
	return out
}

// readPart returns the whole slots of a cut, from memory where it knows them.
func (db *DB) readPart(ctx context.Context, q svc.BreakdownQuery, v values, bucket int64, c *cut) (*rankedPart, error) {
	scope := subWindow(q.AnalyticsScope, time.Unix(c.from, 0), time.Unix(c.to, 0))
	if known, ok := db.parts.get(c.partKey(q)); ok {
		if known.bounces == c.sums.bounces {
			return known, nil
		}
		bounced, err := db.readBounced(ctx, scope, bucket)
		if err != nil {
			return nil, err
		}
		part := known.rebound(bounced, c.sums.bounces)
		db.parts.put(c.partKey(q), part, part.size())
		return part, nil
	}
	part := &rankedPart{values: map[string]*rankedSet{}, bounces: c.sums.bounces}
	args := v.args.with(scopeArguments(scope, scope.Window)).with(bucketArguments([]time.Time{time.Unix(bucket, 0)}))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return db.read(ctx, "breaking down a part of a day", v.fill(db.queries["breakdown.Sets"]), args, func(rows driver.Rows) (bool, error) {
			var value, visitors, sessions string
			var occurred uint64
			set := &rankedSet{}
			err := rows.Scan(&value, &occurred, &set.pageviews, &set.bounces, &visitors, &sessions)
			part.events += int64(occurred)
			if value != "" {
				set.visitors, set.sessions = numbers(visitors), numbers(sessions)
				part.values[value] = set
			}
			return true, err
		})
	})
	group.Go(func() (err error) {
		part.bounced, err = db.readBounced(ctx, scope, bucket)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if part.events == c.sums.events {
		db.parts.put(c.partKey(q), part, part.size())
	}
	return part, nil
}

// readBounced returns the sessions that began in the scope's window, which lies within a
// bucket, and bounced, ascending.
func (db *DB) readBounced(ctx context.Context, scope svc.AnalyticsScope, bucket int64) (bounced []uint64, err error) {
	args := scopeArguments(scope, scope.Window).with(bucketArguments([]time.Time{time.Unix(bucket, 0)}))
	err = db.read(ctx, "listing bounces", db.queries["breakdown.BouncedSet"], args, func(rows driver.Rows) (bool, error) {
		var sessions string
		err := rows.Scan(&sessions)
		bounced = numbers(sessions)
		return true, err
	})
	return bounced, err
}

// size is about what the part takes in memory.
func (p *rankedPart) size() int {
	size := 8 * len(p.bounced)
	for value, set := range p.values {
		size += 8*(len(set.visitors)+len(set.sessions)) + len(value) + rankedBytes
	}
	return size
}

// rebound returns the part with other sessions that bounced, of which traffic has counted
// so many.
func (p *rankedPart) rebound(bounced []uint64, bounces int64) *rankedPart {
	out := &rankedPart{values: make(map[string]*rankedSet, len(p.values)), bounced: bounced, events: p.events, bounces: bounces}
	for value, set := range p.values {
		again := *set
		again.bounces = 0
		for _, session := range set.sessions {
			if _, found := slices.BinarySearch(bounced, session); found {
				again.bounces++
			}
		}
		out.values[value] = &again
	}
	return out
}

// readEnd returns the rows of an end of the window that falls on a bucket.
func (db *DB) readEnd(ctx context.Context, q svc.BreakdownQuery, v values, bucket int64, e end) ([]edge, error) {
	local := time.Unix(bucket, 0).In(q.Window.Location)
	from, to := local, svc.Day.Next(local)
	if from.Before(q.Window.From) {
		from = q.Window.From
	}
	if to.After(q.Window.To) {
		to = q.Window.To
	}
	scope := subWindow(q.AnalyticsScope, e.from, e.to)
	args := v.args.with(scopeArguments(scope, scope.Window)).with(bucketArguments([]time.Time{local})).with(arguments{"bucket_from": from, "bucket_to": to})
	query := strings.ReplaceAll(v.fill(db.queries["breakdown.Ends"]), "$(began)", strings.ReplaceAll(db.queries["breakdown.Began"], "$(value)", v.expression))
	var out []edge
	err := db.read(ctx, "breaking down an end of a window", query, args, func(rows driver.Rows) (bool, error) {
		var row edge
		err := rows.Scan(&row.value, &row.visitor, &row.session, &row.pageviews, &row.bounced)
		if row.value != "" {
			out = append(out, row)
		}
		return true, err
	})
	return out, err
}
