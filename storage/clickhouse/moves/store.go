package moves

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/storage/clickhouse"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store copies environments between the shards of a database.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
}

// New returns the store of moves for a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries}, nil
}

// homeTables have rows that name environments, but are always on shard 0.
func homeTables() []string { return []string{"dead_letters", "deliveries", "retentions"} }

// wholeTables are copied whole once nothing is written. They have little data per environment, are written
// independently of blocks, or their rows lack the number of their block.
func wholeTables() []string {
	return []string{
		"activations", "aliases", "billing", "campaign_outcomes", "campaign_recipients", "flag_counts", "flag_exposures", "metric_series", "roots", "usage",
	}
}

// blockTables have rows with the number of their block. The views derive their data again from the copied rows.
func blockTables() []string { return []string{"events", "occurrences", "metric_points"} }

// tables returns the tables with rows that live with environments.
func (db *Store) tables(ctx context.Context, shard *clickhouse.Conn) (tables []string, err error) {
	err = shard.ReadFirst(ctx, "listing the tables with environments", db.queries["moves.Tables"], nil, func(rows driver.Rows) (bool, error) {
		var table string
		err := rows.Scan(&table)
		if !slices.Contains(homeTables(), table) {
			tables = append(tables, table)
		}
		return true, err
	})
	return tables, err
}

// text returns a query about a table of a database. The empty database is the service's own.
func (db *Store) text(query, database, table string) string {
	return strings.NewReplacer("$(database)", database, "$(table)", table).Replace(db.queries[query])
}

// databaseOf returns the name of the database in which the rows of an environment are collected.
func databaseOf(conn *clickhouse.Conn, environment uint64) string {
	return conn.Database() + "_move_" + strconv.FormatUint(environment, 10)
}

// ClearMoved removes the data of an environment from a shard on which it does not live: its rows, and the rest of a
// copy. It first waits for reads of this process on that shard, at most for the maximum time of a read.
func (db *Store) ClearMoved(ctx context.Context, environment uint64, shard int) error {
	if db.conn.ShardOf(environment) == shard {
		return fmt.Errorf("environment %d lives on shard %d", environment, shard)
	}
	conn := db.conn.Shards()[shard]
	if err := db.drop(ctx, conn, environment); err != nil {
		return err
	}
	tables, err := db.tables(ctx, conn)
	if err != nil {
		return err
	}
	if err := db.awaitReads(ctx, conn); err != nil {
		return err
	}
	for _, table := range tables {
		filled, err := db.filled(ctx, conn, environment, table)
		if err != nil {
			return err
		}
		if !filled {
			continue
		}
		settings := clickhouse.Settings{"mutations_sync": 1, "max_execution_time": 0}
		err = conn.Exec(clickhouse.WithSettings(ctx, settings), db.text("moves.Remove", "", table), clickhouse.Args{"environment": environment})
		if err != nil {
			return clickhouse.WriteError("removing the rows of an environment from "+table, err)
		}
	}
	return nil
}

// readPause is the pause between two checks of running reads.
const readPause = 20 * time.Millisecond

// awaitReads returns once no read of this process is running on a shard, or after the maximum time of a read.
func (db *Store) awaitReads(ctx context.Context, conn *clickhouse.Conn) error {
	deadline := time.After(clickhouse.QueryTime)
	for conn.Reading() {
		select {
		case <-deadline:
			return nil
		case <-time.After(readPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// filled reports whether a table has rows of an environment.
func (db *Store) filled(ctx context.Context, conn *clickhouse.Conn, environment uint64, table string) (filled bool, err error) {
	args := clickhouse.Args{"environment": environment}
	err = conn.All().ReadFirst(ctx, "looking for rows of an environment", db.text("moves.Any", "", table), args, func(rows driver.Rows) (bool, error) {
		var count uint64
		err := rows.Scan(&count)
		filled = count > 0
		return false, err
	})
	return filled, err
}

// drop removes the staging database of an earlier copy.
func (db *Store) drop(ctx context.Context, conn *clickhouse.Conn, environment uint64) error {
	args := clickhouse.Args{"database": databaseOf(conn, environment)}
	return clickhouse.WriteError("removing a copy", conn.Exec(ctx, db.queries["moves.Drop"], args))
}

// send copies the rows of a query from one shard into a table of another.
func (db *Store) send(ctx context.Context, from, to *clickhouse.Conn, query, table string, args clickhouse.Args) error {
	rows, err := from.All().Format(ctx, "copying an environment", "Native", query, args)
	if err != nil {
		return err
	}
	ctx = clickhouse.WithSettings(ctx, clickhouse.Settings{
		"async_insert": 0, "insert_deduplicate": 0, "max_partitions_per_insert_block": 0, "max_execution_time": 0, "materialized_views_ignore_errors": 0,
	})
	err = to.InsertNative(ctx, db.text("moves.Append", "", table), rows)
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return clickhouse.WriteError("copying an environment into "+table, err)
}

// errSums means that a copy differs from the environment.
var errSums = domain.Errorf(domain.CodeInternal, "The copy has other rows than the environment; nothing was moved. Repeat the command.")
