package people

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/segment"
	"svc/storage/clickhouse"
)

// visitorsAlone selects the visitors of a person that no other person shares.
const visitorsAlone = "groupUniqArrayIf(visitor, alone)"

// EventsOf returns the condition that an event belongs to a person in a segment, with its parameters. It finds these
// people once and names their visitors, so each statement with the condition costs as much as one with another filter.
// Concurrent reads share the result. If the people have too many visitors, the condition finds them by itself.
func (db *Store) EventsOf(ctx context.Context, environment uint64, segment *segment.Segment, now time.Time) (string, clickhouse.Args, error) {
	now = now.Truncate(time.Second)
	key := fmt.Sprintf("segment %d %s %d %d", environment, segment.ID, segment.UpdatedAt.UnixNano(), now.Unix())
	named, err := clickhouse.Join(ctx, db.conn.Of(environment), key, func(ctx context.Context) (clickhouse.Args, error) {
		return db.nameEvents(ctx, environment, segment, now)
	})
	if err != nil || named != nil {
		return db.queries["segment.Named"], named, err
	}
	rank := newConditions("segment_")
	shared, err := db.divides(ctx, environment, rank)
	if err != nil {
		return "", nil, err
	}
	rank.keep(rank.inSegment(segment, now))
	name := "segment.Events"
	if !shared {
		name = "segment.Alone"
	}
	query := strings.ReplaceAll(db.queries[name], "$(visitors)", rank.fold(visitorsAlone))
	return rank.text(query, db.queries, shared), rank.values(environment), nil
}

// nameEvents returns the parameters of segment.Named for the people of a segment. It returns nil if they have too many
// visitors.
func (db *Store) nameEvents(ctx context.Context, environment uint64, segment *segment.Segment, now time.Time) (clickhouse.Args, error) {
	spans, few, err := db.everyTie(ctx, environment)
	if err != nil || !few {
		return nil, err
	}
	rank := newConditions("")
	rank.sharers, rank.tied = spans, true
	rank.keep(rank.inSegment(segment, now))
	_, shared := spans.lists()
	query := strings.ReplaceAll(db.queries["segment.Persons"], "$(visitors)", rank.fold(visitorsAlone))
	query = rank.text(query, db.queries, len(shared) > 0)
	alone, persons, most := []uint64{}, map[uint64]bool{}, db.bounds.most
	args := rank.values(environment).With(clickhouse.Args{"limit": most + 1})
	err = db.conn.Read(ctx, "finding the people of a segment", query, args, func(rows driver.Rows) (bool, error) {
		var person uint64
		var own []uint64
		err := rows.Scan(&person, &own)
		persons[person] = true
		alone = append(alone, own...)
		return max(len(persons), len(alone)) <= most, err
	})
	if err != nil || max(len(persons), len(alone)) > most {
		return nil, err
	}
	slices.Sort(alone)
	since, meets := make([][]int64, len(shared)), make([][]bool, len(shared))
	for i, visitor := range shared {
		for _, one := range spans[visitor] {
			since[i], meets[i] = append(since[i], one.sinceMs), append(meets[i], persons[one.person])
		}
	}
	return clickhouse.Args{"segment_visitors": alone, "segment_shared": shared, "segment_since": since, "segment_meets": meets}, nil
}
