package clickhouse

import (
	"context"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc"
)

// heavyEvents is the number of events of one day, or of uncached days together, above
// which visitors are counted in the engine instead of being brought here and kept.
const heavyEvents = 20_000_000

// traffic is a row of traffic.Sum.
type traffic struct {
	events, settled, pageviews, bounces, lasted int64
}

// traffic returns the sums of a window by the beginnings of buckets.
func (db *DB) traffic(ctx context.Context, scope svc.AnalyticsScope, buckets []time.Time) (map[int64]traffic, error) {
	out := make(map[int64]traffic, len(buckets))
	args := scopeArguments(scope, scope.Window).with(bucketArguments(buckets))
	err := db.read(ctx, "adding up traffic", db.queries["traffic.Sum"], args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var t traffic
		err := rows.Scan(&bucket, &t.events, &t.settled, &t.pageviews, &t.bounces, &t.lasted)
		out[int64(bucket)] = t
		return true, err
	})
	return out, err
}

// wholeCounts counts a window without filters, per local day. Days are taken from the
// cache where their number of events is the same as when they were counted.
func (db *DB) wholeCounts(ctx context.Context, scope svc.AnalyticsScope) (windowCounts, error) {
	days := localDays(scope.Window)
	var sums map[int64]traffic
	var edges []visit
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		sums, err = db.traffic(groupCtx, scope, days)
		return err
	})
	group.Go(func() (err error) {
		edges, err = db.edges(groupCtx, scope, days)
		return err
	})
	if err := group.Wait(); err != nil {
		return windowCounts{}, err
	}
	counts := windowCounts{buckets: make(map[int64]tally, len(days))}
	for bucket, t := range sums {
		counts.buckets[bucket] = tally{events: uint64(t.events), pageviews: uint64(t.pageviews)}
		counts.bounces += t.bounces
		counts.lasted += t.lasted
	}
	cuts := cutDays(scope, days, sums)
	if isHeavy(cuts) {
		err := db.countInEngine(ctx, scope, days, &counts)
		return counts, err
	}
	if err := db.loadPieces(ctx, scope, cuts); err != nil {
		return windowCounts{}, err
	}
	db.countPieces(scope, cuts, edges, &counts)
	return counts, nil
}

// visit says that a visitor was active in a bucket, in a session.
type visit struct {
	bucket           int64
	visitor, session uint64
}

// edges returns who was active in the partial slots at the ends of a window.
func (db *DB) edges(ctx context.Context, scope svc.AnalyticsScope, buckets []time.Time) ([]visit, error) {
	s := spanOf(scope.Window.From, scope.Window.To)
	if !s.from.Before(s.headTo) && !s.tailFrom.Before(s.to) {
		return nil, nil
	}
	var out []visit
	args := scopeArguments(scope, scope.Window).with(bucketArguments(buckets))
	err := db.read(ctx, "listing visits at the ends of a window", db.queries["visits.Edges"], args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var v visit
		err := rows.Scan(&bucket, &v.visitor, &v.session)
		v.bucket = int64(bucket)
		out = append(out, v)
		return true, err
	})
	return out, err
}

// cut is the part of a local day that consists of whole slots within the window.
type cut struct {
	day    int64 // the beginning of the day
	key    pieceKey
	whole  bool // the part is the day
	events int64
	piece  *piece
}

// cutDays returns the parts of days that hold events, in order.
func cutDays(scope svc.AnalyticsScope, days []time.Time, sums map[int64]traffic) []cut {
	s := spanOf(scope.Window.From, scope.Window.To)
	var cuts []cut
	for _, day := range days {
		next := svc.Day.Next(day)
		from, to := day, next
		if from.Before(s.wholeFrom) {
			from = s.wholeFrom
		}
		if to.After(s.wholeTo) {
			to = s.wholeTo
		}
		events := sums[day.Unix()].settled
		if !from.Before(to) || events == 0 {
			continue
		}
		cuts = append(cuts, cut{
			day: day.Unix(), events: events, whole: from.Equal(day) && to.Equal(next),
			key: pieceKey{environment: scope.Environment.Number, bots: scope.IncludeBots, from: from.Unix(), to: to.Unix()},
		})
	}
	return cuts
}

func isHeavy(cuts []cut) bool {
	var sum int64
	for _, c := range cuts {
		sum += c.events
	}
	return sum > heavyEvents
}

// loadPieces gives every cut its piece, from the cache or with one query per run of
// neighbouring cuts that the cache does not know.
func (db *DB) loadPieces(ctx context.Context, scope svc.AnalyticsScope, cuts []cut) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := 0; i < len(cuts); i++ {
		first := i
		for i < len(cuts) {
			if cuts[i].piece = db.days.get(cuts[i].key, cuts[i].events); cuts[i].piece != nil {
				break
			}
			i++
		}
		if run := cuts[first:min(i, len(cuts))]; len(run) > 0 {
			group.Go(func() error { return db.readPieces(ctx, scope, run) })
		}
	}
	return group.Wait()
}

// readPieces reads the pieces of neighbouring cuts and keeps them.
func (db *DB) readPieces(ctx context.Context, scope svc.AnalyticsScope, cuts []cut) error {
	buckets := make([]time.Time, len(cuts))
	pieces := make(map[int64]*piece, len(cuts))
	for i, c := range cuts {
		buckets[i] = time.Unix(c.key.from, 0)
		pieces[c.key.from] = &piece{}
	}
	args := scopeArguments(scope, scope.Window).with(bucketArguments(buckets)).with(arguments{
		"whole_from": cuts[0].key.from, "whole_to": cuts[len(cuts)-1].key.to,
	})
	err := db.read(ctx, "listing visits", db.queries["visits.List"], args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var v visit
		var events uint64
		err := rows.Scan(&bucket, &v.visitor, &v.session, &events)
		if p := pieces[int64(bucket)]; p != nil {
			p.events += int64(events)
			p.visitors = append(p.visitors, v.visitor)
			p.sessionSet = append(p.sessionSet, v.session)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	for i := range cuts {
		p := pieces[cuts[i].key.from]
		p.visitors, p.sessionSet = distinct(p.visitors), distinct(p.sessionSet)
		p.sessions = uint64(len(p.sessionSet))
		if cuts[i].whole {
			p.sessionSet = nil
		}
		cuts[i].piece = p
		db.days.put(cuts[i].key, p)
	}
	return nil
}

// distinct sorts a set and drops repeated members. The result holds no spare memory.
func distinct(set []uint64) []uint64 {
	slices.Sort(set)
	return slices.Clone(slices.Compact(set))
}

// countPieces adds up visitors and sessions: those of the pieces, and those at the ends of
// the window that are not among them.
func (db *DB) countPieces(scope svc.AnalyticsScope, cuts []cut, edges []visit, counts *windowCounts) {
	byDay := make(map[int64]*piece, len(cuts))
	for _, c := range cuts {
		byDay[c.day] = c.piece
		t := counts.buckets[c.day]
		t.visitors, t.sessions = uint64(len(c.piece.visitors)), c.piece.sessions
		counts.buckets[c.day] = t
	}
	all := db.uniqueVisitors(scope, cuts)
	counts.unique = uint64(len(all))
	seenVisitors, seenSessions, seen := map[visit]bool{}, map[visit]bool{}, map[uint64]bool{}
	for _, v := range edges {
		p := byDay[v.bucket]
		if p == nil {
			p = &piece{}
		}
		t := counts.buckets[v.bucket]
		if isNew(seenVisitors, visit{bucket: v.bucket, visitor: v.visitor}, p.visitors, v.visitor) {
			t.visitors++
		}
		if isNew(seenSessions, visit{bucket: v.bucket, session: v.session}, p.sessionSet, v.session) {
			t.sessions++
		}
		if isNew(seen, v.visitor, all, v.visitor) {
			counts.unique++
		}
		counts.buckets[v.bucket] = t
	}
}

// isNew says whether a member is met for the first time: it is neither in an ascending
// set nor was it asked for before.
func isNew[K comparable](asked map[K]bool, key K, set []uint64, member uint64) bool {
	if asked[key] {
		return false
	}
	asked[key] = true
	_, found := slices.BinarySearch(set, member)
	return !found
}

// uniqueVisitors returns the distinct visitors of all cuts, ascending.
func (db *DB) uniqueVisitors(scope svc.AnalyticsScope, cuts []cut) []uint64 {
	if len(cuts) == 0 {
		return nil
	}
	key := pieceKey{
		environment: scope.Environment.Number, bots: scope.IncludeBots,
		from: cuts[0].key.from, to: cuts[len(cuts)-1].key.to, union: true,
	}
	var events int64
	sets := make([][]uint64, len(cuts))
	for i, c := range cuts {
		events += c.piece.events
		sets[i] = c.piece.visitors
	}
	if known := db.days.get(key, events); known != nil {
		return known.visitors
	}
	all := slices.Clip(union(sets))
	db.days.put(key, &piece{events: events, visitors: all})
	return all
}

// countInEngine counts visitors and sessions in the engine.
func (db *DB) countInEngine(ctx context.Context, scope svc.AnalyticsScope, buckets []time.Time, counts *windowCounts) error {
	args := scopeArguments(scope, scope.Window).with(bucketArguments(buckets))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return db.read(ctx, "counting visits", db.queries["visits.Count"], args, func(rows driver.Rows) (bool, error) {
			var bucket uint32
			var visitors, sessions uint64
			err := rows.Scan(&bucket, &visitors, &sessions)
			t := counts.buckets[int64(bucket)]
			t.visitors, t.sessions = visitors, sessions
			counts.buckets[int64(bucket)] = t
			return true, err
		})
	})
	group.Go(func() error {
		return db.read(ctx, "counting visitors", db.queries["visits.Unique"], args, func(rows driver.Rows) (bool, error) {
			return true, rows.Scan(&counts.unique)
		})
	})
	return group.Wait()
}
