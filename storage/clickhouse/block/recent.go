package block

import (
	"context"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/ingest"
	"svc/domain/metric"
	"svc/protos"
	"svc/storage/clickhouse"
)

// recentBatch is the approximate number of events that one query for recent ids returns.
const recentBatch = 500_000

// arrivals are the events received in a span of time.
type arrivals struct {
	shard    *Store
	from, to time.Time
	events   uint64
}

// RecentIDs calls yield for every event that was received at or after an instant, except the events of one block. yield
// receives the thread and the key of the event, as package protos computes them. RecentIDs reads spans of time, oldest
// first. With more than limit events, it omits the oldest spans. It yields an event from before threads existed for
// each thread in which a repetition may arrive.
func (db *Store) RecentIDs(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(thread uint64, key [2]uint64)) error {
	queries := recentQueries{"state.Arrivals", "state.RecentIDs"}
	return db.recent(ctx, queries, since, exceptBlock, limit, func(rows driver.Rows) error {
		var environment uint64
		var threads, visitors, ids, others, devices, sessions []uint64
		err := rows.Scan(&environment, &threads, &visitors, &ids, &others, &devices, &sessions)
		for i := range ids {
			visitor := protos.VisitorHashOf(environment, visitors[i])
			if threads[i] != 0 {
				yield(threads[i], protos.EventKeyOf(threads[i], visitor, ids[i], others[i]))
				continue
			}
			for n, sum := range [...]uint64{visitors[i], devices[i], sessions[i]} {
				if n == 0 || sum != 0 && sum != visitors[i] {
					thread := protos.VisitorHashOf(environment, sum)
					yield(thread, protos.EventKeyOf(thread, visitor, ids[i], others[i]))
				}
			}
		}
		return err
	})
}

// RecentErrors is RecentIDs for occurrences. It yields the number of the issue instead of the thread.
func (db *Store) RecentErrors(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(issue uint64, key [2]uint64)) error {
	queries := recentQueries{"state.ErrorArrivals", "state.RecentErrors"}
	return db.recent(ctx, queries, since, exceptBlock, limit, func(rows driver.Rows) error {
		var issues, visitors, ids, others []uint64
		err := rows.Scan(&issues, &visitors, &ids, &others)
		for i := range ids {
			yield(issues[i], protos.KeyOf(protos.VisitorHashOf(issues[i], visitors[i]), ids[i], others[i]))
		}
		return err
	})
}

// RecentMetrics is RecentIDs for metric points with deduplication. It yields the hash of the metric's name instead of
// the thread.
func (db *Store) RecentMetrics(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(metric uint64, key [2]uint64)) error {
	queries := recentQueries{"state.MetricArrivals", "state.RecentMetrics"}
	return db.recent(ctx, queries, since, exceptBlock, limit, func(rows driver.Rows) error {
		var environment uint64
		var names, series, ids, others []uint64
		err := rows.Scan(&environment, &names, &series, &ids, &others)
		for i := range ids {
			yield(protos.VisitorHashOf(environment, names[i]), protos.KeyOf(series[i], ids[i], others[i]))
		}
		return err
	})
}

// RecentBillings is RecentIDs for billing items. It yields the hash of the subject instead of the thread, and the
// current rate.
func (db *Store) RecentBillings(ctx context.Context, since time.Time, exceptBlock uint64, limit int, yield func(subject uint64, name [2]uint64, rate int64)) error {
	queries := recentQueries{"state.BillingArrivals", "state.RecentBillings"}
	return db.recent(ctx, queries, since, exceptBlock, limit, func(rows driver.Rows) error {
		var environment uint64
		var kinds, subjects, ids, others []uint64
		var rates []int64
		err := rows.Scan(&environment, &kinds, &subjects, &ids, &others, &rates)
		for i := range ids {
			subject := protos.VisitorHashOf(environment, subjects[i])
			yield(subject, protos.BillingKeyOf(subject, kinds[i], ids[i], others[i]), rates[i])
		}
		return err
	})
}

// recentQueries names the query that counts arrivals and the query that returns their ids.
type recentQueries struct{ arrivals, ids string }

// recent reads recent ids span by span. read decodes one row.
func (db *Store) recent(ctx context.Context, queries recentQueries, since time.Time, exceptBlock uint64, limit int, read func(rows driver.Rows) error) error {
	spans, err := db.countArrivals(ctx, queries.arrivals, since, exceptBlock)
	if err != nil {
		return err
	}
	first, events := len(spans), uint64(0)
	for first > 0 && events < uint64(limit) {
		first--
		events += spans[first].events
	}
	for _, s := range spans[first:] {
		args := clickhouse.Args{"since": s.from, "until": s.to, "block": exceptBlock}
		err := s.shard.conn.Stream(ctx, "loading recent ids", db.queries[queries.ids], args, func(rows driver.Rows) (bool, error) {
			return true, read(rows)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// countArrivals splits the time since an instant into spans of about recentBatch events of one shard. It returns them
// in the order of their ends.
func (db *Store) countArrivals(ctx context.Context, query string, since time.Time, exceptBlock uint64) (spans []arrivals, err error) {
	remembered := db.remembered()
	for _, shard := range remembered {
		found, err := shard.countOwnArrivals(ctx, query, since, exceptBlock)
		if err != nil {
			return nil, err
		}
		spans = append(spans, found...)
	}
	if len(remembered) > 1 {
		slices.SortStableFunc(spans, func(a, b arrivals) int { return a.to.Compare(b.to) })
	}
	return spans, nil
}

// countOwnArrivals is countArrivals for one shard.
func (db *Store) countOwnArrivals(ctx context.Context, query string, since time.Time, exceptBlock uint64) ([]arrivals, error) {
	var spans []arrivals
	args := clickhouse.Args{"since": since, "block": exceptBlock}
	err := db.conn.Stream(ctx, "counting arrivals", db.queries[query], args, func(rows driver.Rows) (bool, error) {
		var second time.Time
		var events uint64
		if err := rows.Scan(&second, &events); err != nil {
			return false, err
		}
		if len(spans) == 0 || spans[len(spans)-1].events >= recentBatch {
			from := second
			if from.Before(since) {
				from = since
			}
			spans = append(spans, arrivals{shard: db, from: from})
		}
		last := &spans[len(spans)-1]
		last.to = second.Add(time.Second)
		last.events += events
		return true, nil
	})
	return spans, err
}

// Cumulatives calls yield with the last state of every cumulative series that received a point at or after an instant.
// It ignores the points of one block.
func (db *Store) Cumulatives(ctx context.Context, since time.Time, exceptBlock uint64, yield func(metric.CumulativeSeries)) error {
	args := clickhouse.Args{"since": since, "block": exceptBlock}
	for _, shard := range db.remembered() {
		err := shard.conn.Stream(ctx, "loading cumulative series", db.queries["state.Cumulatives"], args, func(rows driver.Rows) (bool, error) {
			var s metric.CumulativeSeries
			var state string
			err := rows.Scan(&s.Environment, &s.Name, &s.Series, &state, &s.SeenAt)
			s.State = []byte(state)
			if err == nil {
				yield(s)
			}
			return true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// SeriesSince calls yield with the series of some environments that were seen since an instant.
func (db *Store) SeriesSince(ctx context.Context, environments []uint64, since time.Time, yield func(environment uint64, series []uint64)) error {
	for number, shard := range db.shards {
		own := environments
		if len(db.shards) > 1 {
			own = slices.DeleteFunc(slices.Clone(environments), func(environment uint64) bool { return db.shardOf(environment) != number })
		}
		err := shard.conn.Stream(ctx, "loading series", db.queries["state.Series"], clickhouse.Args{"environments": own, "since": since}, func(rows driver.Rows) (bool, error) {
			var environment uint64
			var series []uint64
			err := rows.Scan(&environment, &series)
			if err == nil {
				yield(environment, series)
			}
			return true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RecentTallies calls yield with the last tally of every source that made one since an instant. It ignores the tallies
// of one block.
func (db *Store) RecentTallies(ctx context.Context, since time.Time, exceptBlock uint64, yield func(ingest.TallyMark)) error {
	args := clickhouse.Args{"since": since.UTC(), "block": exceptBlock}
	return db.conn.Stream(ctx, "loading tallies", db.queries["state.RecentTallies"], args, func(rows driver.Rows) (bool, error) {
		var mark ingest.TallyMark
		var at time.Time
		err := rows.Scan(&mark.Source, &mark.Seq, &at)
		if mark.AtMs = at.UnixMilli(); err == nil {
			yield(mark)
		}
		return true, err
	})
}
