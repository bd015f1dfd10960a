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

// heavyEvents is the number of events of one read above which the engine counts the visitors, instead of fetching and
// caching them here.
const heavyEvents = 100_000_000

// wholeCounts counts adjacent windows without filters per local day, with or without bounces and durations. It takes
// whole slots from the cache if a day still has the same number of events as when its visitors were read.
func (db *Store) wholeCounts(ctx context.Context, scope analytics.Scope, windows []domain.Window, stays bool) ([]windowCounts, error) {
	t, err := db.readTraffic(ctx, scope, windows, domain.Day, stays)
	if err != nil {
		return nil, err
	}
	out := make([]windowCounts, len(windows))
	var events int64
	for i := range windows {
		out[i].buckets = map[int64]tally{}
		t.count(i, &out[i])
	}
	for _, c := range t.cuts {
		events += c.sums.events
	}
	if events > heavyEvents {
		for i, w := range windows {
			scope.Window = w
			if err := db.countInEngine(ctx, scope, localDays(w), &out[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if err := db.loadPieces(ctx, scope, t.cuts); err != nil {
		return nil, err
	}
	group := errgroup.Group{}
	for i := range windows {
		group.Go(func() error {
			db.countPieces(scope, i, t, &out[i])
			return nil
		})
	}
	err = group.Wait()
	return out, err
}

// key returns the key of a cut's piece.
func (c *cut) key(scope analytics.Scope) pieceKey {
	return pieceKey{environment: scope.Environment.Number, bots: scope.IncludeBots, from: c.from, to: c.to}
}

// loadPieces sets the piece of every cut. Missing pieces are read with one query per run of neighbouring cuts of one
// kind.
func (db *Store) loadPieces(ctx context.Context, scope analytics.Scope, cuts []cut) error {
	for i := range cuts {
		cuts[i].piece = db.knownPiece(cuts[i].key(scope), cuts[i].sums.events)
	}
	group, ctx := errgroup.WithContext(ctx)
	for first := 0; first < len(cuts); {
		last := first
		for last+1 < len(cuts) && cuts[last+1].follows(&cuts[last]) {
			last++
		}
		if run := cuts[first : last+1]; run[0].piece == nil {
			group.Go(func() error { return db.readPieces(ctx, scope, run) })
		}
		first = last + 1
	}
	return group.Wait()
}

// follows reports whether a cut can be read together with the one before it.
func (c *cut) follows(before *cut) bool {
	return c.window == before.window && c.whole == before.whole && (c.piece == nil) == (before.piece == nil)
}

// readPieces reads and caches the pieces of neighbouring cuts of one kind. The event count of a piece comes from its
// own rows, because the sums of traffic may belong to an earlier or later insert.
func (db *Store) readPieces(ctx context.Context, scope analytics.Scope, cuts []cut) error {
	begins := make([]time.Time, len(cuts))
	pieces := make(map[int64]*piece, len(cuts))
	for i, c := range cuts {
		begins[i] = time.Unix(c.from, 0)
	}
	args := environmentArguments(scope).With(clickhouse.BucketArgs(begins)).With(clickhouse.Args{
		"whole_from": cuts[0].from, "whole_to": cuts[len(cuts)-1].to, "with_sessions": !cuts[0].whole,
	})
	err := db.conn.Read(ctx, "listing visits", db.queries["visits.Sets"], args, func(rows driver.Rows) (bool, error) {
		var begin uint32
		var events uint64
		var visitors, sessions string
		p := &piece{}
		if err := rows.Scan(&begin, &events, &p.sessions, &visitors, &sessions); err != nil {
			return false, err
		}
		p.events, p.visitors, p.sessionSet = int64(events), numbers(visitors), numbers(sessions)
		pieces[int64(begin)] = p
		return true, nil
	})
	if err != nil {
		return err
	}
	for i := range cuts {
		p := pieces[cuts[i].from]
		if p == nil { // the rows are not in visits yet, or no longer there
			p = &piece{}
		}
		cuts[i].piece = p
		db.keepPiece(cuts[i].key(scope), p)
	}
	return nil
}

// numbers unpacks numbers of eight little-endian bytes.
func numbers(packed string) []uint64 {
	bytes := []byte(packed)
	out := make([]uint64, len(bytes)/8)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(bytes[8*i:])
	}
	return out
}

// countPieces counts the visitors and sessions of one window: the members of its pieces, and the ones at its ends that
// are not in any piece.
func (db *Store) countPieces(scope analytics.Scope, window int, t traffic, counts *windowCounts) {
	cuts := slices.DeleteFunc(slices.Clone(t.cuts), func(c cut) bool { return c.window != window })
	byBucket := make(map[int64]*piece, len(cuts))
	for _, c := range cuts {
		byBucket[c.bucket] = c.piece
		tally := counts.buckets[c.bucket]
		tally.visitors, tally.sessions = uint64(len(c.piece.visitors)), c.piece.sessions
		counts.buckets[c.bucket] = tally
	}
	settled, fresh := db.uniqueVisitors(scope, cuts)
	counts.unique = unionSize(settled, fresh)
	visitors, sessions, unique := newcomers{}, newcomers{}, newcomers{}
	for _, v := range t.visits {
		if v.end.window != window {
			continue
		}
		p := byBucket[v.end.bucket]
		if p == nil {
			p = &piece{}
		}
		tally := counts.buckets[v.end.bucket]
		tally.visitors += visitors.count(v.end.bucket, v.visitor, p.visitors)
		tally.sessions += sessions.count(v.end.bucket, v.session, p.sessionSet)
		if _, found := slices.BinarySearch(settled, v.visitor); !found {
			counts.unique += unique.count(0, v.visitor, fresh)
		}
		counts.buckets[v.end.bucket] = tally
	}
}

// newcomers has the members of buckets that were counted in addition to the buckets' sets.
type newcomers map[struct {
	bucket int64
	member uint64
}]struct{}

// count returns 1 for a member that is not in the ascending set and was not counted in the bucket before. Otherwise it
// returns 0.
func (n newcomers) count(bucket int64, member uint64, set []uint64) uint64 {
	key := struct {
		bucket int64
		member uint64
	}{bucket, member}
	if _, counted := n[key]; counted {
		return 0
	}
	if _, found := slices.BinarySearch(set, member); found {
		return 0
	}
	n[key] = struct{}{}
	return 1
}

// uniqueVisitors returns the distinct visitors of cuts in two ascending sets, which may share members. settled has the
// visitors of the days in the middle. It is cached, because it changes only with late events and at the end of a day.
// fresh has the visitors of the days at the ends.
func (db *Store) uniqueVisitors(scope analytics.Scope, cuts []cut) (settled, fresh []uint64) {
	whole := slices.Clone(cuts)
	if len(whole) > freshDays {
		whole = whole[:len(whole)-freshDays]
	}
	whole = slices.DeleteFunc(whole, func(c cut) bool { return !c.whole })
	var ends [][]uint64
	for _, c := range cuts {
		if len(whole) == 0 || c.from < whole[0].from || c.from > whole[len(whole)-1].from {
			ends = append(ends, c.piece.visitors)
		}
	}
	fresh = union(ends)
	if len(whole) == 0 {
		return nil, fresh
	}
	key := whole[0].key(scope)
	key.to, key.union = whole[len(whole)-1].to, true
	var events int64
	sets := make([][]uint64, len(whole))
	for i, c := range whole {
		events += c.piece.events
		sets[i] = c.piece.visitors
	}
	if known := db.knownPiece(key, events); known != nil {
		return known.visitors, fresh
	}
	all := slices.Clone(union(sets))
	db.keepPiece(key, &piece{events: events, visitors: all})
	return all, fresh
}

// unionSize returns the number of distinct members of two ascending sets.
func unionSize(a, b []uint64) uint64 {
	size := uint64(len(a) + len(b))
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		if x == y {
			size--
		}
		if x <= y {
			a = a[1:]
		}
		if y <= x {
			b = b[1:]
		}
	}
	return size
}

// countInEngine lets the engine count the visitors and sessions of the scope's window.
func (db *Store) countInEngine(ctx context.Context, scope analytics.Scope, buckets []time.Time, counts *windowCounts) error {
	args := scopeArguments(scope, scope.Window).With(clickhouse.BucketArgs(buckets))
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return db.conn.Read(ctx, "counting visits", db.queries["visits.Count"], args, func(rows driver.Rows) (bool, error) {
			var bucket uint32
			var visitors, sessions uint64
			err := rows.Scan(&bucket, &visitors, &sessions)
			tally := counts.buckets[int64(bucket)]
			tally.visitors, tally.sessions = visitors, sessions
			counts.buckets[int64(bucket)] = tally
			return true, err
		})
	})
	group.Go(func() error {
		return db.conn.Read(ctx, "counting visitors", db.queries["visits.Unique"], args, func(rows driver.Rows) (bool, error) {
			return true, rows.Scan(&counts.unique)
		})
	})
	return group.Wait()
}
