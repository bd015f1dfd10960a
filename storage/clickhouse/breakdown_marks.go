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

// maxMarkedEvents is the number of events of a part of a day from which the sessions that
// entered and left in it are not kept.
const maxMarkedEvents = 2_000_000

// markBytes bounds what the sessions of parts of days may take in memory.
const markBytes = 96 << 20

// marks are the sessions of a span of time, each marked by where it was entered or left,
// with what the marks add up to. They are immutable.
type marks struct {
	sessions map[uint64]marked
	// bounced holds the sessions that began in the span and bounced, ascending.
	bounced []uint64
	events  int64
	// bounces is what traffic had counted of them before they were read.
	bounces int64

	totals   map[unique.Handle[string]]ranked
	visitors map[visitorMark]int // the sessions of a visitor with a mark
}

// marked is one session of marks. Its value is empty where it has no page view.
type marked struct {
	value   unique.Handle[string]
	visitor uint64
	viewed  uint64
}

// visitorMark is a visitor who has a session with a mark.
type visitorMark struct {
	value   unique.Handle[string]
	visitor uint64
}

// markedBytes is about what a session of marks takes.
const markedBytes = 150

// markDay counts the part of a local day that lies in the window for the dimensions that
// mark sessions: its whole slots, of which c may be nil for none, and the ends of the
// window on it.
func (db *DB) markDay(ctx context.Context, q svc.BreakdownQuery, c *cut, ends []end) ([]ranked, error) {
	slices.SortFunc(ends, func(a, b end) int { return a.from.Compare(b.from) })
	whole := 0 // the place of the whole slots among the spans, in the order of time
	if c != nil {
		whole = len(slices.DeleteFunc(slices.Clone(ends), func(e end) bool { return e.from.Unix() >= c.to }))
	}
	spans := make([]*marks, 1+len(ends))
	spans[whole] = &marks{}
	group, ctx := errgroup.WithContext(ctx)
	if c != nil {
		group.Go(func() (err error) {
			spans[whole], err = db.wholeMarks(ctx, q, c)
			return err
		})
	}
	for i, e := range ends {
		if i >= whole {
			i++
		}
		group.Go(func() (err error) {
			spans[i], err = db.readMarks(ctx, q, e.from, e.to)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return joinMarks(q.Dimension, spans, whole), nil
}

// wholeMarks returns the marks of whole slots, from memory where it knows them.
func (db *DB) wholeMarks(ctx context.Context, q svc.BreakdownQuery, c *cut) (*marks, error) {
	from, to := time.Unix(c.from, 0), time.Unix(c.to, 0)
	known, ok := db.marks.get(c.partKey(q))
	if ok && known.bounces == c.sums.bounces {
		return known, nil
	}
	m := &marks{}
	var err error
	if ok {
		m.sessions, m.events = known.sessions, known.events
		m.bounced, err = db.readBounced(ctx, subWindow(q.AnalyticsScope, from, to), c.from)
	} else {
		m, err = db.readMarks(ctx, q, from, to)
	}
	if err != nil {
		return nil, err
	}
	m.bounces = c.sums.bounces
	m.addUp()
	if m.events == c.sums.events {
		db.marks.put(c.partKey(q), m, markedBytes*len(m.sessions)+8*len(m.bounced))
	}
	return m, nil
}

// readMarks reads the sessions of a span of time; they are not added up.
func (db *DB) readMarks(ctx context.Context, q svc.BreakdownQuery, from, to time.Time) (*marks, error) {
	m := &marks{sessions: map[uint64]marked{}}
	mark := "mark.Entry"
	if q.Dimension == svc.DimExitPath {
		mark = "mark.Exit"
	}
	scope := subWindow(q.AnalyticsScope, from, to)
	args := scopeArguments(scope, scope.Window)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		query := strings.ReplaceAll(db.queries["breakdown.Marks"], "$(mark)", db.queries[mark])
		return db.read(ctx, "marking sessions", query, args, func(rows driver.Rows) (bool, error) {
			var session, occurred uint64
			var value string
			var one marked
			err := rows.Scan(&session, &one.visitor, &value, &one.viewed, &occurred)
			one.value = unique.Make(value)
			m.sessions[session] = one
			m.events += int64(occurred)
			return true, err
		})
	})
	group.Go(func() (err error) {
		m.bounced, err = db.readBounced(ctx, scope, from.Unix())
		return err
	})
	return m, group.Wait()
}

// addUp counts the values of all sessions.
func (m *marks) addUp() {
	m.totals, m.visitors = map[unique.Handle[string]]ranked{}, map[visitorMark]int{}
	for session, one := range m.sessions {
		if one.value == unique.Make("") {
			continue
		}
		total := m.totals[one.value]
		total.value = one.value
		total.sessions++
		total.pageviews += one.viewed
		if _, bounced := slices.BinarySearch(m.bounced, session); bounced {
			total.bounces++
		}
		pair := visitorMark{one.value, one.visitor}
		if m.visitors[pair]++; m.visitors[pair] == 1 {
			total.visitors++
		}
		m.totals[one.value] = total
	}
}

// joinMarks adds up neighbouring spans of one day, of which only the one at whole is
// large: a session that shows in another span is counted anew.
func joinMarks(dimension svc.Dimension, spans []*marks, whole int) []ranked {
	base := spans[whole]
	changed := map[uint64]bool{}
	for i, span := range spans {
		if i == whole {
			continue
		}
		for session := range span.sessions {
			changed[session] = true
		}
		for _, session := range span.bounced {
			changed[session] = true
		}
	}
	change := markChange{totals: map[unique.Handle[string]]ranked{}, visitors: map[visitorMark]int{}}
	for session := range changed {
		if one, known := base.sessions[session]; known {
			_, bounced := slices.BinarySearch(base.bounced, session)
			change.add(one, bounced, -1)
		}
		if one, bounced, known := joinSession(dimension, spans, session); known {
			change.add(one, bounced, 1)
		}
	}
	return change.apply(base)
}

// joinSession returns what a session is in all spans together.
func joinSession(dimension svc.Dimension, spans []*marks, session uint64) (joined marked, bounced, known bool) {
	for _, span := range spans {
		if _, found := slices.BinarySearch(span.bounced, session); found {
			bounced = true
		}
		one, found := span.sessions[session]
		if !found {
			continue
		}
		if !known || one.viewed > 0 && (joined.viewed == 0 || dimension == svc.DimExitPath) {
			joined.value = one.value
		}
		joined.visitor, known = one.visitor, true
		joined.viewed += one.viewed
	}
	return joined, bounced, known
}

// markChange is what is to be added to what marks add up to. Sums that get smaller wrap
// around, and the addition wraps them back.
type markChange struct {
	totals   map[unique.Handle[string]]ranked
	visitors map[visitorMark]int
}

// add counts a session once, or once less.
func (c *markChange) add(one marked, bounced bool, times int) {
	if one.value == unique.Make("") {
		return
	}
	total := c.totals[one.value]
	total.sessions += uint64(times)
	total.pageviews += uint64(times) * one.viewed
	if bounced {
		total.bounces += uint64(times)
	}
	c.totals[one.value] = total
	c.visitors[visitorMark{one.value, one.visitor}] += times
}

// apply returns what marks and the change add up to.
func (c *markChange) apply(base *marks) []ranked {
	for pair, times := range c.visitors {
		before := base.visitors[pair]
		total := c.totals[pair.value]
		switch {
		case before == 0 && times > 0:
			total.visitors++
		case before > 0 && before+times == 0:
			total.visitors--
		}
		c.totals[pair.value] = total
	}
	out := make([]ranked, 0, len(base.totals)+len(c.totals))
	for value, total := range base.totals {
		if _, changes := c.totals[value]; !changes {
			out = append(out, total)
		}
	}
	for value, total := range c.totals {
		before := base.totals[value]
		sum := ranked{
			value: value, visitors: before.visitors + total.visitors, pageviews: before.pageviews + total.pageviews,
			sessions: before.sessions + total.sessions, bounces: before.bounces + total.bounces,
		}
		if sum.sessions > 0 {
			out = append(out, sum)
		}
	}
	return out
}
