package reads

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/storage/clickhouse"
)

// restBytes limits the memory of the cached rests of days.
const restBytes = 96 << 20

// restHour is the time range for which a cached rest has steps, so that it serves a window that moves on.
const restHour = time.Hour

// dayRest has the sums of a dimension's values from any time within an hour to the end of the day. It consists of the
// sums from the end of the hour on, and of the steps by which they grow for every earlier time. It is immutable.
type dayRest struct {
	// values has the values that occur from the start of the hour on.
	values []ranked
	// steps are sorted by time, the last first.
	steps []restStep
}

// restStep is an addition to a value; value is an index into the values. It counts for all times up to and including
// at, in milliseconds.
type restStep struct {
	at                                     int64
	value                                  int32
	visitors, pageviews, sessions, bounces int32
}

// restStepBytes is the size of a restStep.
const restStepBytes = 32

// from returns the sums of the values from a time on.
func (r *dayRest) from(at int64) []ranked {
	sums := slices.Clone(r.values)
	for i := range r.steps {
		if r.steps[i].at < at {
			break
		}
		r.steps[i].addTo(&sums[r.steps[i].value])
	}
	return slices.DeleteFunc(sums, func(sum ranked) bool { return sum.sessions == 0 })
}

func (r *dayRest) size() int { return rankedBytes*len(r.values) + restStepBytes*len(r.steps) }

// addTo adds a step to the sums of its value. A subtraction is an unsigned number that wraps around.
func (s *restStep) addTo(sum *ranked) {
	sum.add(&ranked{visitors: uint64(s.visitors), pageviews: uint64(s.pageviews), sessions: uint64(s.sessions), bounces: uint64(s.bounces)})
}

// add adds the sums of another value.
func (r *ranked) add(other *ranked) {
	r.visitors += other.visitors
	r.pageviews += other.pageviews
	r.sessions += other.sessions
	r.bounces += other.bounces
}

// restOfDay counts the values from the start of a window to the end of its local day. The cut begins with the hour in
// which the window begins.
func (db *Store) restOfDay(ctx context.Context, q analytics.BreakdownQuery, v values, c *cut) ([]ranked, error) {
	from := q.Window.From.UnixMilli()
	if known, ok := db.rests.Get(c.rankKey(q)); ok {
		return known.from(from), nil
	}
	rest, events, err := db.readRest(ctx, q, v, c)
	if err != nil {
		return nil, err
	}
	if events == c.sums.events {
		db.rests.Put(c.rankKey(q), rest, rest.size())
	}
	return rest.from(from), nil
}

// readRest reads the rest of a day. It also returns the number of events behind it.
func (db *Store) readRest(ctx context.Context, q analytics.BreakdownQuery, v values, c *cut) (rest *dayRest, events int64, err error) {
	begin, end := time.Unix(c.from, 0), time.Unix(c.to, 0)
	hour := begin.Add(restHour)
	counter := newRestCounter(q.Dimension, hour)
	var after map[int64][]ranked
	var known map[int64]int64
	group, ctx := errgroup.WithContext(ctx)
	if hour.Before(end) {
		group.Go(func() (err error) {
			query := "breakdown.Days"
			if c.sums.events > maxGathered {
				query = "breakdown.Buckets"
			}
			after, known, err = db.readBuckets(ctx, subWindow(q.Scope, hour, end), v, []time.Time{hour}, query)
			return err
		})
	}
	group.Go(func() error { return db.readRestEvents(ctx, q, v, begin, end, counter) })
	if err := group.Wait(); err != nil {
		return nil, 0, err
	}
	return counter.rest(after[hour.Unix()]), known[hour.Unix()] + counter.events, nil
}

// readRestEvents passes the events that produce steps to a counter.
func (db *Store) readRestEvents(ctx context.Context, q analytics.BreakdownQuery, v values, begin, end time.Time, counter *restCounter) error {
	expression := v.expression
	if marksSessions(q.Dimension) {
		expression = "toString(path)"
	}
	scope := subWindow(q.Scope, begin, end)
	args := v.args.With(environmentArguments(scope)).With(clickhouse.Args{"from": scope.Window.From, "to": scope.Window.To, "hour_to": time.UnixMilli(counter.hour)})
	err := db.conn.Read(ctx, "reading the rest of a day", strings.ReplaceAll(db.queries["rest.Events"], "$(value)", expression), args, func(rows driver.Rows) (bool, error) {
		var e restEvent
		var viewed, bounced uint8
		err := rows.Scan(&e.visitor, &e.session, &e.value, &e.at, &viewed, &e.began, &bounced)
		e.viewed, e.bounced = viewed == 1, bounced == 1
		counter.take(e)
		return true, err
	})
	counter.closeVisitor()
	return err
}

// restEvent is one event of a visitor.
type restEvent struct {
	visitor, session uint64
	value            string
	at, began        int64 // milliseconds
	viewed, bounced  bool
}

// restSpan is a time range in which a session shows a value. It excludes after and includes to.
type restSpan struct {
	value string
	// after is zero if the span has no start.
	after, to int64
	began     int64
	bounced   bool
}

// restCounter turns the events of one visitor after another into steps.
type restCounter struct {
	spans  func(session []restEvent, r *restCounter) []restSpan
	hour   int64 // the end of the hour, in milliseconds
	events int64 // number of events within the hour

	visitor []restEvent // the events of the current visitor
	places  map[string]int32
	values  []ranked
	steps   []restStep
}

func newRestCounter(dimension filter.Dimension, hour time.Time) *restCounter {
	r := &restCounter{spans: valueSpans, hour: hour.UnixMilli(), places: map[string]int32{}}
	switch dimension {
	case filter.DimEntryPath:
		r.spans = entrySpans
	case filter.DimExitPath:
		r.spans = exitSpans
	}
	return r
}

// take adds the next event.
func (r *restCounter) take(e restEvent) {
	if e.at < r.hour {
		r.events++
	}
	if len(r.visitor) > 0 && r.visitor[0].visitor != e.visitor {
		r.closeVisitor()
	}
	r.visitor = append(r.visitor, e)
}

// closeVisitor adds the steps of the current visitor.
func (r *restCounter) closeVisitor() {
	slices.SortStableFunc(r.visitor, func(a, b restEvent) int { return cmp.Compare(a.session, b.session) })
	var all []restSpan
	for first := 0; first < len(r.visitor); {
		last := first
		for last+1 < len(r.visitor) && r.visitor[last+1].session == r.visitor[first].session {
			last++
		}
		spans := r.spans(r.visitor[first:last+1], r)
		for _, s := range spans {
			r.step(s.value, s.after, s.to, restStep{sessions: 1})
			if s.bounced {
				r.step(s.value, s.after, min(s.to, s.began), restStep{bounces: 1})
			}
		}
		all = append(all, spans...)
		first = last + 1
	}
	r.countVisitor(all)
	r.visitor = r.visitor[:0]
}

// countVisitor counts a visitor only once where spans of a value overlap.
func (r *restCounter) countVisitor(spans []restSpan) {
	slices.SortFunc(spans, func(a, b restSpan) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.after, b.after)) })
	for first := 0; first < len(spans); {
		last, to := first, spans[first].to
		for last+1 < len(spans) && spans[last+1].value == spans[first].value && spans[last+1].after <= to {
			last++
			to = max(to, spans[last].to)
		}
		r.step(spans[first].value, spans[first].after, to, restStep{visitors: 1})
		first = last + 1
	}
}

// step adds to a value for all times after after, up to and including to.
func (r *restCounter) step(value string, after, to int64, more restStep) {
	if value == "" || to <= after {
		return
	}
	less := restStep{visitors: -more.visitors, sessions: -more.sessions, pageviews: -more.pageviews, bounces: -more.bounces}
	for at, change := range map[int64]restStep{to: more, after: less} {
		if at > 0 && at < r.hour {
			change.at, change.value = at, r.place(value)
			r.steps = append(r.steps, change)
		}
	}
}

// place returns the index of a value in values, and adds a missing value.
func (r *restCounter) place(value string) int32 {
	place, known := r.places[value]
	if !known {
		place = int32(len(r.values))
		r.places[value] = place
		r.values = append(r.values, ranked{value: unique.Make(value)})
	}
	return place
}

// rest returns the counted steps and the sums of the values after the hour.
func (r *restCounter) rest(after []ranked) *dayRest {
	for i := range after {
		r.values[r.place(after[i].value.Value())].add(&after[i])
	}
	slices.SortFunc(r.steps, func(a, b restStep) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.value, b.value)) })
	var steps []restStep // one for each time and value
	for _, step := range r.steps {
		if last := len(steps) - 1; last >= 0 && steps[last].at == step.at && steps[last].value == step.value {
			steps[last].visitors += step.visitors
			steps[last].pageviews += step.pageviews
			steps[last].sessions += step.sessions
			steps[last].bounces += step.bounces
			continue
		}
		steps = append(steps, step)
	}
	return &dayRest{values: slices.Clip(r.values), steps: slices.Clip(steps)}
}

// valueSpans returns the spans of a session with events that show values. A value counts up to the last event that
// shows it.
func valueSpans(session []restEvent, r *restCounter) (spans []restSpan) {
	last := map[string]int64{}
	for _, e := range session {
		last[e.value] = e.at
		if e.viewed {
			r.step(e.value, 0, e.at, restStep{pageviews: 1})
		}
	}
	for value, at := range last {
		spans = append(spans, restSpan{value: value, to: at, began: session[0].began, bounced: session[0].bounced})
	}
	return spans
}

// exitSpans returns the span of a session that shows the path of its last page view, up to that page view.
func exitSpans(session []restEvent, r *restCounter) (spans []restSpan) {
	for i := range session {
		if e := &session[len(session)-1-i]; e.viewed {
			if len(spans) == 0 {
				spans = []restSpan{{value: e.value, to: e.at, began: e.began, bounced: e.bounced}}
			}
			r.step(spans[0].value, 0, e.at, restStep{pageviews: 1})
		}
	}
	return spans
}

// entrySpans returns the spans of a session that shows the path of its first page view from a time on. The span of a
// page view goes from the page view before to its own time. It counts this page view and all later ones.
func entrySpans(session []restEvent, r *restCounter) (spans []restSpan) {
	views := int32(0)
	for i := range session {
		if session[i].viewed {
			views++
		}
	}
	after := int64(0)
	for i := range session {
		if e := &session[i]; e.viewed {
			if e.at > after {
				spans = append(spans, restSpan{value: e.value, after: after, to: e.at, began: e.began, bounced: e.bounced})
				r.step(e.value, after, e.at, restStep{pageviews: views})
			}
			after = e.at
			views--
		}
	}
	return spans
}
