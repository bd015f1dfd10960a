package flags

import (
	"context"
	"embed"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/flag"
	"svc/domain/goal"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/people"
	"svc/storage/clickhouse/state"
)

//go:embed query/*.sql
var files embed.FS

// Store answers queries about evaluations of flags. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	people  *people.Store
}

// New returns the flag store of a database.
func New(db *state.Store) (*Store, error) {
	queries, err := clickhouse.LoadQueries(people.Files, files)
	if err != nil {
		return nil, err
	}
	persons, err := people.New(db.Conn())
	return &Store{conn: db.Conn(), queries: queries, people: persons}, err
}

// AppendFlagCounts adds evaluations. A repetition under the same token changes nothing.
func (db *Store) AppendFlagCounts(ctx context.Context, word string, counts []flag.Count) error {
	err := insert(ctx, db, word, "counts.Append", countColumns(), counts, func(c *flag.Count) []any {
		return []any{c.Environment, c.Flag, c.Variant, c.Day, c.Count}
	})
	return clickhouse.WriteError("counting evaluations of flags", err)
}

func countColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "environment", Type: "UInt64"},
		{Name: "flag", Type: "LowCardinality(String)"},
		{Name: "variant", Type: "LowCardinality(String)"},
		{Name: "day", Type: "Date"},
		{Name: "count", Type: "UInt64"},
	}
}

// AppendFlagExposures adds first exposures to variants. It is idempotent.
func (db *Store) AppendFlagExposures(ctx context.Context, word string, exposures []flag.Exposure) error {
	err := insert(ctx, db, word, "exposures.Append", exposureColumns(), exposures, func(e *flag.Exposure) []any {
		return []any{e.Environment, e.Flag, e.Visitor, e.Variant, e.At, e.Expires}
	})
	return clickhouse.WriteError("keeping exposures of flags", err)
}

func exposureColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "environment", Type: "UInt64"},
		{Name: "flag", Type: "LowCardinality(String)"},
		{Name: "visitor", Type: "UInt64"},
		{Name: "variant", Type: "LowCardinality(String)"},
		{Name: "first", Type: "DateTime64(3, 'UTC')"},
		{Name: "expires", Type: "Date"},
	}
}

// insert stores items as rows on the shards of their environments; the first column names the environment. Repetitions
// under the same token change nothing.
func insert[T any](ctx context.Context, db *Store, token, statement string, columns []clickhouse.Column, items []T, values func(*T) []any) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{"async_insert": 0, "insert_deduplicate": 1, "insert_deduplication_token": token})
	of := func(item T) uint64 { environment, _ := values(&item)[0].(uint64); return environment }
	return clickhouse.SplitWrite(db.conn, items, of, func(conn *clickhouse.Conn, items []T) error {
		var rows clickhouse.Rows
		for i := range items {
			if err := rows.Append(ctx, conn, db.queries[statement], columns, values(&items[i])...); err != nil {
				return err
			}
		}
		return rows.Send()
	})
}

const day = 24 * time.Hour

// FlagReadings returns the counts of the flags of an environment in the last 30 days, by key.
func (db *Store) FlagReadings(ctx context.Context, environment uint64, now time.Time) (map[string]flag.Reading, error) {
	today := now.UTC().Truncate(day)
	readings := map[string]flag.Reading{}
	args := clickhouse.Args{"environment": environment, "from": today.Add(-flag.StaleAfter)}
	err := db.conn.Read(ctx, "counting evaluations of flags", db.queries["counts.Recent"], args, func(rows driver.Rows) (bool, error) {
		var flag, variant string
		var on time.Time
		var count uint64
		if err := rows.Scan(&flag, &variant, &on, &count); err != nil {
			return false, err
		}
		reading := readings[flag]
		if on.After(reading.LastEvaluatedAt) {
			reading.LastEvaluatedAt = on
		}
		if reading.First.IsZero() || on.Before(reading.First) {
			reading.First = on
		}
		if !slices.Contains(reading.Served, variant) {
			reading.Served = append(reading.Served, variant)
		}
		if ago := int(today.Sub(on) / day); ago >= 0 && ago < len(reading.Spark) {
			reading.Spark[len(reading.Spark)-1-ago] += count
		}
		readings[flag] = reading
		return true, nil
	})
	return readings, err
}

// FlagResults returns how many persons were served the variants of a flag in a window, and how many of them reached the
// goals afterwards.
func (db *Store) FlagResults(ctx context.Context, q flag.ResultQuery) (flag.Totals, error) {
	return clickhouse.Whole(ctx, db.conn.Of(q.Environment), func(ctx context.Context) (flag.Totals, error) { return db.results(ctx, q) })
}

func (db *Store) results(ctx context.Context, q flag.ResultQuery) (totals flag.Totals, err error) {
	totals.Conversions = map[string]map[string]uint64{}
	args := clickhouse.Args{"environment": q.Environment, "flag": q.Flag, "from": q.From, "to": q.To}
	err = db.conn.Read(ctx, "counting evaluations of a flag", db.queries["counts.Days"], args, func(rows driver.Rows) (bool, error) {
		count := flag.Count{Environment: q.Environment, Flag: q.Flag}
		err := rows.Scan(&count.Variant, &count.Day, &count.Count)
		totals.Days = append(totals.Days, count)
		return true, err
	})
	if err != nil {
		return totals, err
	}
	who, err := db.people.LinksArgs(ctx, q.Environment)
	if err != nil {
		return totals, err
	}
	args = args.With(who)
	err = db.conn.Read(ctx, "counting exposures of a flag", db.queries["exposures.Count"], args, func(rows driver.Rows) (bool, error) {
		var exposed flag.Exposed
		err := rows.Scan(&exposed.Variant, &exposed.Persons, &exposed.Several)
		totals.Exposed = append(totals.Exposed, exposed)
		return true, err
	})
	if err != nil || len(q.Goals) == 0 {
		return totals, err
	}
	paths, matches, open := make([]bool, len(q.Goals)), make([]string, len(q.Goals)), make([]bool, len(q.Goals))
	for n := range q.Goals {
		matches[n], open[n] = q.Goals[n].Prefix()
		paths[n] = q.Goals[n].Kind == goal.MatchPath
	}
	args = args.With(clickhouse.Args{"goal_path": paths, "goal_match": matches, "goal_open": open})
	err = db.conn.Read(ctx, "counting conversions of a flag", db.queries["exposures.Conversions"], args, func(rows driver.Rows) (bool, error) {
		var variant string
		var goal uint32
		var persons uint64
		if err := rows.Scan(&variant, &goal, &persons); err != nil {
			return false, err
		}
		id := q.Goals[goal-1].ID
		if totals.Conversions[id] == nil {
			totals.Conversions[id] = map[string]uint64{}
		}
		totals.Conversions[id][variant] = persons
		return true, nil
	})
	return totals, err
}
