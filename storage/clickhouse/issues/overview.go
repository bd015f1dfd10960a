package issues

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/issue"
	"svc/storage/clickhouse"
)

// ErrorsOverview returns the errors in a window and in the window before. Its parts are read in parallel.
func (db *Store) ErrorsOverview(ctx context.Context, q issue.ErrorsQuery) (issue.ErrorsOverview, error) {
	return clickhouse.Whole(ctx, db.conn.Of(q.Environment.Number), func(ctx context.Context) (issue.ErrorsOverview, error) { return db.errorsOverview(ctx, q) })
}

// errorsOverview is ErrorsOverview without coordination with inserts under way.
func (db *Store) errorsOverview(ctx context.Context, q issue.ErrorsQuery) (issue.ErrorsOverview, error) {
	environment := q.Environment.Number
	m, err := db.merges(ctx, environment)
	if err != nil {
		return issue.ErrorsOverview{}, err
	}
	out := issue.ErrorsOverview{Series: make([]issue.Day, len(q.Buckets))}
	for i, bucket := range q.Buckets {
		out.Series[i].T = bucket
	}
	args := m.arguments().With(windowArguments(environment, q.Window))
	parts, partCtx := errgroup.WithContext(ctx)
	parts.Go(func() (err error) { out.Totals, err = db.totalErrors(partCtx, args); return err })
	parts.Go(func() (err error) {
		out.Previous, err = db.totalErrors(partCtx, m.arguments().With(windowArguments(environment, q.Window.Previous())))
		return err
	})
	parts.Go(func() error { return db.errorSeries(partCtx, args, out.Series) })
	parts.Go(func() error {
		return db.conn.Read(partCtx, "counting new issues", db.queries["errors.CountNew"], args.With(stateArguments(environment, q.Now)),
			func(rows driver.Rows) (bool, error) { return true, rows.Scan(&out.NewIssues, &out.RegressedIssues) })
	})
	parts.Go(func() error {
		keys, err := db.noisiest(partCtx, args)
		if err != nil {
			return err
		}
		out.Noisiest, err = db.issueRows(partCtx, environment, m, keys, q.Days, q.Now)
		return err
	})
	return out, parts.Wait()
}

// windowArguments returns the values that select the occurrences of an environment in a window.
func windowArguments(environment uint64, window domain.Window) clickhouse.Args {
	return clickhouse.Args{"environment": environment, "from": window.From, "to": window.To}
}

// totalErrors returns the totals of a window.
func (db *Store) totalErrors(ctx context.Context, args clickhouse.Args) (issue.ErrorTotals, error) {
	var t issue.ErrorTotals
	err := db.conn.Read(ctx, "summing errors", db.queries["errors.Total"], args, func(rows driver.Rows) (bool, error) {
		return true, rows.Scan(&t.Events, &t.Issues, &t.Users)
	})
	return t, err
}

// errorSeries fills the buckets of a series.
func (db *Store) errorSeries(ctx context.Context, args clickhouse.Args, series []issue.Day) error {
	begin := make([]uint32, len(series))
	places := make(map[uint32]*issue.Day, len(series))
	for i := range series {
		begin[i] = uint32(series[i].T.Unix())
		places[begin[i]] = &series[i]
	}
	args = args.With(clickhouse.Args{"buckets": begin})
	return db.conn.Read(ctx, "counting errors per day", db.queries["errors.Series"], args, func(rows driver.Rows) (bool, error) {
		var bucket uint32
		var day issue.Day
		err := rows.Scan(&bucket, &day.Events, &day.Users)
		if place := places[bucket]; place != nil {
			place.Events, place.Users = day.Events, day.Users
		}
		return true, err
	})
}

// noisiest returns the issues with the most occurrences in a window.
func (db *Store) noisiest(ctx context.Context, args clickhouse.Args) ([]issue.Key, error) {
	var keys []issue.Key
	args = args.With(clickhouse.Args{"limit": issue.NoisiestIssues})
	err := db.conn.Read(ctx, "listing the noisiest issues", db.queries["errors.Noisiest"], args, func(rows driver.Rows) (bool, error) {
		var key issue.Key
		var events uint64
		err := rows.Scan(&key.Number, &events)
		key.Value = int64(events)
		keys = append(keys, key)
		return true, err
	})
	return keys, err
}
