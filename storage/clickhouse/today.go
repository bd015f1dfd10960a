package clickhouse

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc"
)

const (
	// todayBytes bounds what days that go on may take in memory.
	todayBytes = 160 << 20
	// maxTodayEvents is the number of events from which a day that goes on is not kept.
	maxTodayEvents = maxPartEvents
	// todayTries is how often a day is read on until all of its events are known; a block
	// may come between the two halves of a read.
	todayTries = 3
	// overlap is how much longer ago than the newest event of a day another one may have
	// arrived that comes into the store after it. A later one costs a recount.
	overlap = time.Minute
)

// todayKey names the local day that goes on, of one dimension.
type todayKey struct {
	environment uint64
	bots        bool
	dimension   svc.Dimension
	from        int64
}

// today is what the values of a dimension add up to on a local day that goes on. It grows
// by the blocks that were stored since it was read last. It is known whole where it has as
// many events, and as many changes of bounces, as the store: events are only ever added.
type today struct {
	// turn holds a token while somebody reads on.
	turn    chan struct{}
	counted todayCount
	events  blockLog
	bounces blockLog
	// latest is the time of the latest event or beginning of a session that was counted.
	latest int64
	// rows and changes are of instants that no read has reached yet.
	rows    []todayRow
	changes []todayChange
}

// todayCount adds up.
type todayCount interface {
	// add counts what a block adds to a value or a session.
	add(r *todayRow)
	// change adds to the balance of a session that began on the day: above zero, it bounces.
	change(session uint64, by int64)
	ranked() []ranked
	// size is about what it takes in memory.
	size() int
}

// todayRow is what new blocks add to a value, or to a session where values mark sessions.
type todayRow struct {
	at                 int64 // milliseconds; zero within the window of the read
	value, place       string
	views              uint64
	visitors, sessions []uint64
}

// todayChange is what a block changes about the bounce of a session.
type todayChange struct {
	began   int64
	session uint64
	by      int64
}

// blockLog is which blocks were read. It remembers those that a read may meet again.
type blockLog struct {
	blocks map[uint64]int64 // the arrival of the latest event of each, in milliseconds
	newest int64
	events uint64
}

// note takes a block in.
func (l *blockLog) note(block, events uint64, arrived int64) {
	if l.blocks == nil {
		l.blocks = map[uint64]int64{}
	}
	l.blocks[block] = max(l.blocks[block], arrived)
	l.events += events
	l.newest = max(l.newest, arrived)
}

// arguments tell a query what was read, and forget the blocks that it cannot meet.
func (l *blockLog) arguments() arguments {
	since := max(l.newest-overlap.Milliseconds(), 0)
	numbers := make([]uint64, 0, len(l.blocks))
	for block, arrived := range l.blocks {
		if arrived < since {
			delete(l.blocks, block)
			continue
		}
		numbers = append(numbers, block)
	}
	slices.Sort(numbers)
	return arguments{"since": time.UnixMilli(since), "blocks": numbers}
}

// rankToday returns the values of the local day on which a window ends, from its first
// instant on. It returns known = false where the day is too large to be kept, or was
// counted beyond the end of the window already.
func (db *DB) rankToday(ctx context.Context, q svc.BreakdownQuery, v values, bucket int64) (day []ranked, known bool, err error) {
	key := todayKey{environment: q.Environment.Number, bots: q.IncludeBots, dimension: q.Dimension, from: bucket}
	t, found := db.todays.get(key)
	if !found {
		t = &today{turn: make(chan struct{}, 1), counted: newTodayCount(q.Dimension)}
		db.todays.put(key, t, 0)
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false, readError("waiting for the day", context.Cause(ctx))
	}
	defer func() { <-t.turn }()
	for try := range 2 * todayTries {
		if t.latest >= q.Window.To.UnixMilli() {
			return nil, false, nil
		}
		if try == todayTries {
			t.forget(q.Dimension)
		}
		more, err := db.readToday(ctx, q, v, t, bucket)
		if err != nil {
			return nil, false, err
		}
		if more.events > maxTodayEvents {
			t.forget(q.Dimension)
			return nil, false, nil
		}
		if t.take(more, q.Window.To.UnixMilli()) {
			db.todays.put(key, t, t.counted.size())
			return t.counted.ranked(), true, nil
		}
	}
	return nil, false, nil
}

// newTodayCount returns the count of a day without events.
func newTodayCount(dimension svc.Dimension) todayCount {
	if dimension == svc.DimEntryPath || dimension == svc.DimExitPath {
		return newTodayMarks(dimension == svc.DimExitPath)
	}
	return newTodayValues()
}

// forget begins the day anew.
func (t *today) forget(dimension svc.Dimension) {
	t.counted, t.events, t.bounces = newTodayCount(dimension), blockLog{}, blockLog{}
	t.latest, t.rows, t.changes = 0, nil, nil
}

// todayMore is what the store holds beyond what was read before.
type todayMore struct {
	// events and bounces are how many there are in all.
	events, bounces uint64
	blocks          []blockNote
	bounceBlocks    []blockNote
	rows            []todayRow
	changes         []todayChange
	// brought is the number of events behind the rows.
	brought uint64
	latest  int64
}

// blockNote is a block, or a part of one, that was read.
type blockNote struct {
	block, events uint64
	arrived       int64
}

// readToday reads what t lacks.
func (db *DB) readToday(ctx context.Context, q svc.BreakdownQuery, v values, t *today, bucket int64) (*todayMore, error) {
	local := time.Unix(bucket, 0).In(q.Window.Location)
	more := &todayMore{}
	span := environmentArguments(q.AnalyticsScope).with(arguments{"day_from": local, "day_to": svc.Day.Next(local), "to": q.Window.To})
	events, bounces := span.with(t.events.arguments()), span.with(t.bounces.arguments())
	query := strings.ReplaceAll(db.queries["today.Values"], "$(value)", v.expression)
	switch q.Dimension {
	case svc.DimEntryPath:
		query = db.markToday("Entry")
	case svc.DimExitPath:
		query = db.markToday("Exit")
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return db.read(ctx, "reading a day on", query, events, more.scanEvents)
	})
	group.Go(func() error {
		return db.read(ctx, "reading the bounces of a day on", db.queries["today.Bounces"], bounces, more.scanBounces)
	})
	return more, group.Wait()
}

// markToday returns the query of the sessions that were marked by their Entry or Exit.
func (db *DB) markToday(mark string) string {
	return strings.NewReplacer("$(mark)", db.queries["mark."+mark], "$(place)", db.queries["mark."+mark+"Place"]).Replace(db.queries["today.Marks"])
}

// Kinds of rows of the queries of a day that goes on.
const (
	todayTotal = iota
	todayBlock
	todayValue
)

func (m *todayMore) scanEvents(rows driver.Rows) (bool, error) {
	var kind uint8
	var block, times uint64
	var latest int64
	var r todayRow
	var visitors, sessions string
	err := rows.Scan(&kind, &block, &times, &latest, &r.at, &r.value, &r.views, &visitors, &sessions, &r.place)
	switch kind {
	case todayTotal:
		m.events = times
	case todayBlock:
		m.blocks = append(m.blocks, blockNote{block, times, latest})
	case todayValue:
		m.brought += times
		if r.at == 0 {
			m.latest = max(m.latest, latest)
		}
		r.visitors, r.sessions = numbers(visitors), numbers(sessions)
		m.rows = append(m.rows, r)
	}
	return true, err
}

func (m *todayMore) scanBounces(rows driver.Rows) (bool, error) {
	var kind uint8
	var block, times uint64
	var latest int64
	var c todayChange
	err := rows.Scan(&kind, &block, &times, &latest, &c.began, &c.session, &c.by)
	if kind == todayTotal {
		m.bounces = times
		return true, err
	}
	m.bounceBlocks = append(m.bounceBlocks, blockNote{block, times, latest})
	m.changes = append(m.changes, c)
	return true, err
}

// take counts what was read, up to an instant in milliseconds, and says whether that is
// all that the store holds. It takes nothing where a block came between the halves of a
// read of events.
func (t *today) take(more *todayMore, to int64) bool {
	var events uint64
	for _, b := range more.blocks {
		events += b.events
	}
	if events != more.brought {
		return false
	}
	for _, b := range more.blocks {
		t.events.note(b.block, b.events, b.arrived)
	}
	for _, b := range more.bounceBlocks {
		t.bounces.note(b.block, b.events, b.arrived)
	}
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
	return t.events.events == more.events && t.bounces.events == more.bounces
}
