package reads

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/storage/clickhouse"
)

const (
	// todayBytes limits the memory of the cached current days.
	todayBytes = 160 << 20
	// maxTodayEvents is the number of events above which a current day is not cached.
	maxTodayEvents = 5_000_000
	// todayTries is how often the read of a day is repeated until all of its events are known. A block may be stored
	// between the two halves of a read.
	todayTries = 3
	// overlap limits how late events may be stored: a later block may have events that arrived at most this long before
	// the day's newest event. An earlier arrival costs a recount.
	overlap = time.Minute
)

// todayKey identifies a current local day and a dimension.
type todayKey struct {
	environment uint64
	bots        bool
	dimension   filter.Dimension
	from, to    int64
}

// today has the sums of a dimension's values on the current local day. It grows by the blocks that were stored since
// its last read. Events of the current day are only added, so today is complete if it has as many events and bounces as
// the store.
type today struct {
	// turn holds a token while a read extends the day.
	turn    chan struct{}
	counted todayCount
	// events is the number of events that were read, and bounces the sum of their bounces.
	events, bounces int64
	// blocks lists the blocks that a read may meet again, with the arrival of the latest event of each. Events that
	// arrived before since are not read again. Both are in milliseconds.
	blocks map[uint64]int64
	since  int64
	// latest is the latest time of a counted event or session start.
	latest int64
	// rows and changes belong to times that no read has reached yet.
	rows    []todayRow
	changes []todayChange
}

// todayCount adds up the values of a day.
type todayCount interface {
	// add counts the addition of a block to a value or a session.
	add(r *todayRow)
	// change adds to the balance of a session that began on the day. The session bounces while its balance is above
	// zero.
	change(session uint64, by int64)
	ranked() []ranked
	// size returns the approximate memory use.
	size() int
}

// todayRow is the addition of new blocks to a value, or to a session if the dimension marks sessions.
type todayRow struct {
	at                 int64 // milliseconds; zero if within the window of the read
	value, place       string
	views              uint64
	visitors, sessions []uint64
}

// todayChange is the change of a session's bounce balance by a block.
type todayChange struct {
	began   int64
	session uint64
	by      int64
}

// rankToday returns the values of the local day on which a window ends, from the start of the day. The cut is the day,
// with the sums of everything in the store. It returns errElsewhere if the day is too large for the cache, or was
// already counted beyond the end of the window.
func (db *Store) rankToday(ctx context.Context, q analytics.BreakdownQuery, v values, c *cut) ([]ranked, error) {
	if c.sums.events > maxTodayEvents {
		return nil, errElsewhere
	}
	key := todayKey{environment: q.Environment.Number, bots: q.IncludeBots, dimension: q.Dimension, from: c.bucket, to: c.to}
	t, found := db.todays.Get(key)
	if !found {
		t = &today{turn: make(chan struct{}, 1)}
		t.forget(q.Dimension)
		db.todays.Put(key, t, 0)
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, clickhouse.ReadError("waiting for the day", context.Cause(ctx))
	}
	defer func() { <-t.turn }()
	all := c.sums
	for try := range 2 * todayTries {
		if t.latest >= q.Window.To.UnixMilli() {
			return nil, errElsewhere
		}
		if try == todayTries {
			t.forget(q.Dimension)
		}
		if err := db.readToday(ctx, q, v, t, c); err != nil {
			return nil, err
		}
		if t.whole(all) {
			db.todays.Put(key, t, t.counted.size())
			return t.counted.ranked(), nil
		}
		again, err := db.readCuts(ctx, q.Scope, []cut{*c})
		if err != nil {
			return nil, err
		}
		if len(again) > 0 {
			all = again[0].sums
		}
	}
	return nil, errElsewhere
}

// whole reports whether everything that the store had is counted. Events that were stored during the read may also be
// counted.
func (t *today) whole(all sums) bool {
	return t.events > all.events || t.events == all.events && t.bounces == all.bounces
}

// marksSessions reports whether a dimension marks a session by one of its page views.
func marksSessions(dimension filter.Dimension) bool {
	return dimension == filter.DimEntryPath || dimension == filter.DimExitPath
}

// newTodayCount returns an empty count.
func newTodayCount(dimension filter.Dimension) todayCount {
	if marksSessions(dimension) {
		return newTodayMarks(dimension == filter.DimExitPath)
	}
	return newTodayValues()
}

// forget resets the day.
func (t *today) forget(dimension filter.Dimension) {
	*t = today{turn: t.turn, counted: newTodayCount(dimension), blocks: map[uint64]int64{}}
}

// readToday reads the blocks that t lacks.
func (db *Store) readToday(ctx context.Context, q analytics.BreakdownQuery, v values, t *today, c *cut) error {
	to := q.Window.To.UnixMilli()
	recent := to - 2*overlap.Milliseconds()
	args := environmentArguments(q.Scope).With(clickhouse.Args{
		"day_from": time.Unix(c.bucket, 0), "day_to": time.Unix(c.to, 0), "to": q.Window.To,
		"since": time.UnixMilli(t.since), "named_from": time.UnixMilli(recent), "blocks": t.unforgotten(),
	})
	query := strings.ReplaceAll(db.queries["today.Values"], "$(value)", v.expression)
	switch q.Dimension {
	case filter.DimEntryPath:
		query = db.markToday("Entry")
	case filter.DimExitPath:
		query = db.markToday("Exit")
	}
	more := todayMore{blocks: map[uint64]int64{}}
	if err := db.conn.Read(ctx, "reading a day on", query, args, more.scan); err != nil {
		return err
	}
	t.note(&more, recent)
	t.take(&more, to)
	return nil
}

// markToday returns the query of the sessions, marked by their Entry or Exit.
func (db *Store) markToday(mark string) string {
	return strings.NewReplacer("$(mark)", db.queries["mark."+mark], "$(place)", db.queries["mark."+mark+"Place"]).Replace(db.queries["today.Marks"])
}

// unforgotten returns the blocks that a read may meet again.
func (t *today) unforgotten() []uint64 {
	numbers := make([]uint64, 0, len(t.blocks))
	for block, arrived := range t.blocks {
		if arrived < t.since {
			delete(t.blocks, block)
			continue
		}
		numbers = append(numbers, block)
	}
	slices.Sort(numbers)
	return numbers
}

// todayMore is the part of the store that came after the last read.
type todayMore struct {
	rows            []todayRow
	changes         []todayChange
	events, bounces int64
	blocks          map[uint64]int64 // arrival of the latest event by block
	// latest is the time of the latest event within the window.
	latest int64
}

func (m *todayMore) scan(rows driver.Rows) (bool, error) {
	var block, times uint64
	var inside uint8
	var arrived, latest int64
	var r todayRow
	var visitors, sessions, changes string
	err := rows.Scan(&block, &inside, &r.at, &r.value, &times, &arrived, &latest, &r.views, &visitors, &sessions, &r.place, &changes)
	m.blocks[block] = max(m.blocks[block], arrived)
	for change := range slices.Chunk(numbers(changes), 3) {
		by := int64(change[2]) - 128
		m.bounces += by
		m.changes = append(m.changes, todayChange{began: int64(change[1]), session: change[0], by: by})
	}
	if inside == 0 {
		return true, err
	}
	m.events += int64(times)
	if r.at == 0 {
		m.latest = max(m.latest, latest)
	}
	r.visitors, r.sessions = numbers(visitors), numbers(sessions)
	m.rows = append(m.rows, r)
	return true, err
}

// note records the blocks that were read. Blocks with number 0 arrived before recent, so nothing that arrived before
// recent may be read again.
func (t *today) note(more *todayMore, recent int64) {
	newest := t.since + overlap.Milliseconds()
	for block, arrived := range more.blocks {
		newest = max(newest, arrived)
		if block != 0 {
			t.blocks[block] = max(t.blocks[block], arrived)
		}
	}
	t.since = max(newest-overlap.Milliseconds(), t.since)
	if _, some := more.blocks[0]; some {
		t.since = max(t.since, recent)
	}
	t.events += more.events
	t.bounces += more.bounces
}

// take counts the rows and changes that were read, up to a time in milliseconds.
func (t *today) take(more *todayMore, to int64) {
	t.latest = max(t.latest, more.latest)
	t.rows, t.changes = append(t.rows, more.rows...), append(t.changes, more.changes...)
	t.rows = slices.DeleteFunc(t.rows, func(r todayRow) bool {
		if r.at >= to {
			return false
		}
		t.latest = max(t.latest, r.at)
		t.counted.add(&r)
		return true
	})
	t.changes = slices.DeleteFunc(t.changes, func(c todayChange) bool {
		if c.began >= to {
			return false
		}
		t.latest = max(t.latest, c.began)
		t.counted.change(c.session, c.by)
		return true
	})
}
