package people

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-faster/city"

	"svc/domain"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/storage/clickhouse"
)

// Bounds of a query that counts several segments: the length of its conditions in bytes, below the limit of a
// statement, and the number of static members in it.
const (
	tallyBytes   = 64 << 10
	tallyMembers = segment.MaxSegmentMembers
)

// fewSegments is the highest number of segments that are counted one by one. More are counted in one pass over all
// people.
const fewSegments = 4

// SegmentCounts returns how many people of an environment are in each of some segments now. It counts materialized
// profiles if there are any. Otherwise, if a prefilter finds few visitors, it folds their people. Otherwise one pass
// over all people counts as many segments as fit into a statement.
func (db *Store) SegmentCounts(ctx context.Context, environment domain.Environment, segments []segment.Segment, now time.Time) ([]uint64, error) {
	counts, left := make([]uint64, len(segments)), []int{}
	for i := range segments {
		if len(segments) > fewSegments {
			left = append(left, i)
			continue
		}
		count, err := db.countOne(ctx, environment, &segments[i], now)
		if err != nil {
			return nil, err
		}
		if count == nil {
			left = append(left, i)
		} else {
			counts[i] = *count
		}
	}
	for len(left) > 0 {
		rank, part, asked := newConditions(""), []segment.Segment{}, left
		size, members := 0, 0
		for len(left) > 0 {
			segment := &segments[left[0]]
			members += len(segment.Members)
			if len(part) > 0 && (size > tallyBytes || members > tallyMembers) {
				break
			}
			size += len(rank.inSegment(segment, now))
			part, left = append(part, *segment), left[1:]
		}
		of, err := db.countAll(ctx, environment.Number, part, now)
		if err != nil {
			return nil, err
		}
		for n, count := range of {
			counts[asked[n]] = count
		}
	}
	return counts, nil
}

// countOne counts the people of a segment if the environment is materialized, or if few visitors may be in it.
// Otherwise it returns nil.
func (db *Store) countOne(ctx context.Context, environment domain.Environment, s *segment.Segment, now time.Time) (*uint64, error) {
	if kept := db.keptCounts(ctx, environment.Number, []segment.Segment{*s}, now); kept != nil {
		return &kept[0], nil
	}
	return db.countFew(ctx, environment, s, now)
}

// countAll counts the people of segments in one pass over all people.
func (db *Store) countAll(ctx context.Context, environment uint64, segments []segment.Segment, now time.Time) ([]uint64, error) {
	defer db.noteSlow(environment, time.Now())
	if counts := db.keptCounts(ctx, environment, segments, now); counts != nil {
		return counts, nil
	}
	return clickhouse.Whole(ctx, db.conn.Of(environment), func(ctx context.Context) ([]uint64, error) {
		rank := newConditions("")
		conditions := rank.inSegments(segments, now)
		shared, err := db.divides(ctx, environment, rank)
		if err != nil {
			return nil, err
		}
		return db.tally(ctx, environment, rank, shared, conditions)
	})
}

// inSegments returns the condition of each segment.
func (q *rankQuery) inSegments(segments []segment.Segment, now time.Time) []string {
	conditions := make([]string, len(segments))
	for i := range segments {
		conditions[i] = q.inSegment(&segments[i], now)
	}
	return conditions
}

// keptCounts counts the people of segments in materialized profiles; it folds the people that changed since. It returns
// nil if there are no profiles or they cannot be read.
func (db *Store) keptCounts(ctx context.Context, environment uint64, segments []segment.Segment, now time.Time) []uint64 {
	if db.keeper.of(environment) == nil {
		return nil
	}
	rank := newConditions("")
	rank.whole = true
	conditions := rank.inSegments(segments, now)
	if textLength(conditions)+textLength(rank.finds) > 2*tallyBytes {
		return nil
	}
	if len(conditions) == 1 { // as a filter, the condition spares further work on profiles that do not meet it
		rank.keep(conditions[0])
		conditions[0] = "true"
	}
	counts, err := clickhouse.Whole(ctx, db.conn.Of(environment), func(ctx context.Context) ([]uint64, error) {
		folds, err := db.keptOf(ctx, environment, rank)
		if folds == nil || err != nil {
			return nil, err
		}
		counts, err := db.tally(ctx, environment, rank, folds.readBy(rank), conditions)
		if err != nil {
			return nil, err
		}
		if len(folds.changed) > 0 {
			rank := newConditions("")
			conditions := rank.inSegments(segments, now)
			changed, err := db.tally(ctx, environment, rank, folds.only(rank), conditions)
			if err != nil {
				return nil, err
			}
			for i := range counts {
				counts[i] += changed[i]
			}
		}
		if held, err := db.held(ctx, folds); !held || err != nil {
			return nil, err
		}
		return counts, nil
	})
	if err != nil {
		db.keeper.fail(ctx, environment, err)
		return nil
	}
	return counts
}

// textLength returns the total length of texts.
func textLength(texts []string) (length int) {
	for _, text := range texts {
		length += len(text)
	}
	return length
}

// countFew counts the people of a segment if few visitors may be in it. Otherwise it returns nil.
func (db *Store) countFew(ctx context.Context, environment domain.Environment, segment *segment.Segment, now time.Time) (*uint64, error) {
	return clickhouse.Whole(ctx, db.conn.Of(environment.Number), func(ctx context.Context) (*uint64, error) {
		f := newFinder(db, person.Query{Environment: environment, Segment: segment, Now: now})
		visitors, _, err := f.candidates(ctx)
		if visitors == nil || err != nil {
			return nil, err
		}
		keys, few, err := f.among(ctx, visitors)
		if !few || err != nil {
			return nil, err
		}
		count := uint64(len(keys))
		return &count, nil
	})
}

// tally counts the persons of a query that meet each of some conditions.
func (db *Store) tally(ctx context.Context, environment uint64, rank *rankQuery, shared bool, conditions []string) (counts []uint64, err error) {
	tallies := make([]string, len(conditions))
	for i, condition := range conditions {
		tallies[i] = "countIf(" + condition + ")"
	}
	query := rank.text(strings.ReplaceAll(db.queries["persons.Tally"], "$(tallies)", strings.Join(tallies, ", ")), db.queries, shared)
	err = db.conn.Read(ctx, "counting the people of segments", query, rank.values(environment), func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&counts)
	})
	return counts, err
}

// VisitorNumber returns the number of a visitor from the distinct id, as the tables compute it.
func VisitorNumber(distinctID string) uint64 { return city.CH64([]byte(distinctID)) }

// SegmentsOf returns the ids of the segments that contain the person of a visitor. It reads the rows of that person
// alone. A visitor that no person of the environment has is in no segment.
func (db *Store) SegmentsOf(ctx context.Context, environment, visitor uint64, segments []segment.Segment, now time.Time) ([]string, error) {
	ids := []string{}
	if len(segments) == 0 {
		return ids, nil
	}
	person, members, err := db.whoIs(ctx, environment, visitor)
	if err != nil {
		return nil, err
	}
	_, shared := members.lists()
	for len(segments) > 0 {
		rank, conditions, asked := newConditions(""), []string{}, []segment.Segment{}
		rank.of = members
		for size := 0; len(segments) > 0 && size < tallyBytes; segments = segments[1:] {
			condition := rank.holdsMember(&segments[0], members, now)
			size += len(condition)
			conditions, asked = append(conditions, "toUInt8("+condition+")"), append(asked, segments[0])
		}
		query := rank.text(strings.ReplaceAll(db.queries["persons.Meets"], "$(meets)", strings.Join(conditions, ", ")), db.queries, len(shared) > 0)
		args := rank.values(environment).With(clickhouse.Args{"person": person})
		err := db.conn.Read(ctx, "looking for the segments of a person", query, args, func(rows driver.Rows) (bool, error) {
			var meets []uint8
			err := rows.Scan(&meets)
			for i := range meets {
				if meets[i] == 1 {
					ids = append(ids, asked[i].ID)
				}
			}
			return false, err
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// holdsMember is inSegment for a person with known visitors. For a static segment it sends only the members among
// these.
func (q *rankQuery) holdsMember(s *segment.Segment, of members, now time.Time) string {
	if s.Kind != segment.Static {
		return q.inSegment(s, now)
	}
	held := segment.Segment{Kind: segment.Static, Members: []uint64{}}
	for _, visitor := range slices.Sorted(maps.Keys(of)) {
		if s.Has(visitor) {
			held.Members = append(held.Members, visitor)
		}
	}
	return q.inSegment(&held, now)
}
