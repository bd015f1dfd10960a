package people

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/storage/clickhouse"
)

// sighting is when a visitor was first seen, in milliseconds since the epoch.
type sighting struct {
	visitor uint64
	firstMs int64
}

// queue is a page source: visitors in the order of the list, which descends by when they were first seen. It is
// complete if no other visitor can lead to a matching person. step is the size of the first batch.
type queue struct {
	sightings []sighting
	complete  bool
	step      int
}

// sort puts the visitors in the order of the list.
func (q *queue) sort() {
	slices.SortFunc(q.sightings, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(b.firstMs, a.firstMs), cmp.Compare(b.visitor, a.visitor))
	})
}

// queued returns the queue of candidates. A shared candidate may have been seen before its person was, and a candidate
// without events of its own was never seen, so both come first.
func (f *finder) queued(ctx context.Context, visitors []uint64) (queue, error) {
	q := queue{complete: true, step: len(visitors)}
	first := make(map[uint64]int64, len(visitors))
	if len(visitors) > f.db.bounds.first && f.q.Persons == nil { // otherwise all of them are folded at once
		q.step = f.db.bounds.first
		group, both := errgroup.WithContext(ctx)
		group.Go(func() error { return f.readSpans(both, visitors) })
		group.Go(func() error {
			return f.readFirst(both, visitors, func(one sighting) { first[one.visitor] = one.firstMs })
		})
		if err := group.Wait(); err != nil {
			return q, err
		}
	}
	for _, visitor := range visitors {
		at, seen := first[visitor]
		if !seen || len(f.spans[visitor]) > 1 {
			at = math.MaxInt64
		}
		q.sightings = append(q.sightings, sighting{visitor, at})
	}
	q.sort()
	return q, nil
}

// latestOf returns the queue of the visitors of a query, as queued does.
func (f *finder) latestOf(ctx context.Context, of *candidateQuery) (queue, error) {
	limit := f.db.bounds.most
	args := of.args.With(f.args(limit)).With(clickhouse.Args{"never": int64(math.MaxInt64)})
	return f.sighted(ctx, strings.ReplaceAll(f.db.queries["candidates.Latest"], "$(candidates)", of.query), args, limit)
}

// recent returns the visitors that were first seen last before the position of the page, from a limited number of rows.
// It returns each visitor that was first seen after the last of these rows. Returning visitors also have rows in parts
// that are not merged yet; recent omits them if they were first seen earlier.
func (f *finder) recent(ctx context.Context, rows int) (q queue, err error) {
	near, floor, read := map[uint64]bool{}, int64(0), 0
	err = f.db.conn.Read(ctx, "reading who came lately", f.db.queries["persons.Recent"], f.args(rows), func(rows driver.Rows) (bool, error) {
		var visitor uint64
		err := rows.Scan(&visitor, &floor)
		near[visitor] = true
		read++
		return true, err
	})
	if err != nil {
		return q, err
	}
	q.complete, q.step = read < rows, f.db.bounds.first
	visitors := slices.Sorted(maps.Keys(near))
	var devices []uint64
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		args := f.args(rows).With(clickhouse.Args{"visitors": visitors})
		devices, err = f.db.visitors(both, "looking for devices of people", f.db.queries["persons.Devices"], args)
		return err
	})
	group.Go(func() error {
		return f.readFirst(both, visitors, func(one sighting) {
			if q.complete || one.firstMs > floor {
				q.sightings = append(q.sightings, one)
			}
		})
	})
	err = group.Wait()
	for _, visitor := range devices {
		delete(near, visitor)
	}
	q.sightings = slices.DeleteFunc(q.sightings, func(one sighting) bool { return !near[one.visitor] })
	q.sort()
	return q, err
}

// readFirst reads when visitors were first seen.
func (f *finder) readFirst(ctx context.Context, visitors []uint64, each func(sighting)) error {
	args := clickhouse.Args{"environment": f.q.Environment.Number, "visitors": visitors}
	return f.db.conn.Read(ctx, "reading when people were first seen", f.db.queries["persons.First"], args, func(rows driver.Rows) (bool, error) {
		var one sighting
		err := rows.Scan(&one.visitor, &one.firstMs)
		each(one)
		return true, err
	})
}

// latest returns the visitors that were first seen last before the position of the page, from all visitors.
func (f *finder) latest(ctx context.Context, limit int) (queue, error) {
	return f.sighted(ctx, f.db.queries["persons.Latest"], f.args(limit), limit)
}

// sighted reads a queue of at most limit visitors.
func (f *finder) sighted(ctx context.Context, query string, args clickhouse.Args, limit int) (q queue, err error) {
	err = f.db.conn.Read(ctx, "reading who came last", query, args, func(rows driver.Rows) (bool, error) {
		var one sighting
		err := rows.Scan(&one.visitor, &one.firstMs)
		q.sightings = append(q.sightings, one)
		return true, err
	})
	q.complete, q.step = len(q.sightings) < limit, f.db.bounds.first
	return q, err
}
