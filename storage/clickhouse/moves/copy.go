package moves

import (
	"context"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// clockSlack is the maximum difference between the clocks that number blocks.
const clockSlack = 10 * time.Minute

// Copy is a copy of an environment under way.
//
//  1. Link, while nothing is stored on the shard: it links the current tables.
//  2. Fill copies the linked rows into staging tables of the other shard, and attaches these to its tables. This
//     bypasses the views; the tables of the views are copied like the others.
//  3. List, while nothing is stored: it lists the blocks that came since. Add copies their rows, and the views derive
//     the rest.
//  4. Finish, while nothing is stored or written: it copies the last blocks and the tables that are copied whole.
type Copy struct {
	db          *Store
	environment uint64
	from, to    *clickhouse.Conn
	// bulk has the tables that are linked.
	bulk []string
	// since is a number below all blocks that come after Link. seen has the copied blocks from there on, and listed the
	// blocks to copy.
	since  uint64
	seen   map[uint64]bool
	listed []uint64
}

// CopyOf begins a copy of an environment to a shard, which must not have any of its rows.
func (db *Store) CopyOf(ctx context.Context, environment uint64, to int) (*Copy, error) {
	c := &Copy{db: db, environment: environment, from: db.conn.Of(environment), to: db.conn.Shards()[to], seen: map[uint64]bool{}}
	if err := db.drop(ctx, c.from, environment); err != nil {
		return nil, err
	}
	tables, err := db.tables(ctx, c.from)
	if err != nil {
		return nil, err
	}
	c.bulk = slices.DeleteFunc(tables, func(table string) bool { return slices.Contains(wholeTables(), table) })
	for _, conn := range []*clickhouse.Conn{c.from, c.to} {
		database := databaseOf(conn, environment)
		if err := conn.Exec(ctx, db.queries["moves.Create"], clickhouse.Args{"database": database}); err != nil {
			return nil, clickhouse.WriteError("beginning a copy", err)
		}
		for _, table := range c.bulk {
			if err := conn.Exec(ctx, db.text("moves.CreateTable", database, table), nil); err != nil {
				return nil, clickhouse.WriteError("beginning a copy of "+table, err)
			}
		}
	}
	return c, nil
}

// Link links the current tables. blockAt returns the lowest number of a block that is stored at a time.
func (c *Copy) Link(ctx context.Context, now time.Time, blockAt func(time.Time) uint64) error {
	c.since = blockAt(now.Add(-clockSlack))
	if err := c.List(ctx); err != nil {
		return err
	}
	for _, block := range c.listed {
		c.seen[block] = true
	}
	c.listed = nil
	for _, table := range c.bulk {
		if err := c.from.Exec(ctx, c.db.text("moves.Link", databaseOf(c.from, c.environment), table), nil); err != nil {
			return clickhouse.WriteError("linking "+table, err)
		}
	}
	return nil
}

// Fill copies the linked rows.
func (c *Copy) Fill(ctx context.Context) error {
	source, target := databaseOf(c.from, c.environment), databaseOf(c.to, c.environment)
	for _, table := range c.bulk {
		query := c.db.text("moves.Rows", "", source+"."+table)
		if err := c.db.send(ctx, c.from, c.to, query, target+"."+table, clickhouse.Args{"environment": c.environment}); err != nil {
			return err
		}
	}
	if err := c.db.drop(ctx, c.from, c.environment); err != nil { // merges cannot remove linked parts
		return err
	}
	for _, table := range c.bulk {
		if err := c.to.Exec(ctx, c.db.text("moves.Attach", target, table), nil); err != nil {
			return clickhouse.WriteError("adding copied rows to "+table, err)
		}
	}
	return c.db.drop(ctx, c.to, c.environment)
}

// List adds the new blocks to the list.
func (c *Copy) List(ctx context.Context) error {
	args := clickhouse.Args{"environment": c.environment, "since": c.since}
	return c.from.All().Stream(ctx, "listing new blocks of an environment", c.db.queries["moves.Blocks"], args, func(rows driver.Rows) (bool, error) {
		var block uint64
		err := rows.Scan(&block)
		if !c.seen[block] && !slices.Contains(c.listed, block) {
			c.listed = append(c.listed, block)
		}
		return true, err
	})
}

// blocksAtOnce limits the blocks of one statement.
const blocksAtOnce = 500

// Add copies the rows of the listed blocks.
func (c *Copy) Add(ctx context.Context) error {
	for blocks := range slices.Chunk(c.listed, blocksAtOnce) {
		for _, table := range blockTables() {
			query := c.db.text("moves.BlockRows", "", table)
			if err := c.db.send(ctx, c.from, c.to, query, table, clickhouse.Args{"environment": c.environment, "blocks": blocks}); err != nil {
				return err
			}
		}
		for _, block := range blocks {
			c.seen[block] = true
		}
	}
	c.listed = nil
	return nil
}

// Finish copies the rest. It returns an error if the copy differs from the environment.
func (c *Copy) Finish(ctx context.Context) error {
	if err := c.List(ctx); err != nil {
		return err
	}
	if err := c.Add(ctx); err != nil {
		return err
	}
	for _, table := range wholeTables() {
		query := c.db.text("moves.Rows", "", table)
		if err := c.db.send(ctx, c.from, c.to, query, table, clickhouse.Args{"environment": c.environment}); err != nil {
			return err
		}
	}
	here, err := c.sums(ctx, c.from)
	if err != nil {
		return err
	}
	there, err := c.sums(ctx, c.to)
	if err == nil && here != there {
		err = errSums
	}
	return err
}

// sums returns a checksum text of the environment's rows on a shard.
func (c *Copy) sums(ctx context.Context, shard *clickhouse.Conn) (sums string, err error) {
	args := clickhouse.Args{"environment": c.environment}
	err = shard.All().Stream(ctx, "comparing a copy", c.db.queries["moves.Sums"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&sums)
	})
	return sums, err
}
