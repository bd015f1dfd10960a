package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Queries about an environment join the decisions of members about its issues and people. These decisions are state,
// which is stored on shard 0. Before such a query runs on another shard, the joined rows are copied to the table of the
// same name there. Each query thus runs on one shard, and an unavailable shard delays no save. A row that is copied
// twice, or late, is the same or an earlier version, which the table replaces.

// brought is the part of shard 0's state that a shard has.
type brought struct {
	// queries are the queries for the copies. They are nil on shard 0.
	queries Queries
	// copying is held while rows are copied.
	copying sync.Mutex

	mu sync.Mutex
	// known has a digest of the rows of shard 0 that were copied last, by the first of their owners.
	known map[string]digest
}

// digest changes if rows change.
type digest struct{ rows, sum uint64 }

// errOwners means that a query that joins state cannot run on a shard.
var errOwners = errors.New("the query joins state of owners that its arguments do not name")

// bring copies the issues and people of the owners in a query's arguments from shard 0 to this shard, if the shard
// lacks them or has earlier versions.
func (c *Conn) bring(ctx context.Context, args Args) error {
	condition, owners := "owner IN {owners:Array(String)}", Args{"owners": args["owners"]}
	from, ranged := args["owner_from"].(string)
	switch {
	case ranged:
		condition, owners = "owner >= {owner_from:String} AND owner < {owner_to:String}", Args{"owner_from": from, "owner_to": args["owner_to"]}
	case args["owners"] == nil:
		return errOwners
	}
	b := &bringing{to: c, from: &Conn{link: c.home, home: c.home, places: c.places}, args: owners, text: func(name string) string {
		return strings.ReplaceAll(c.brought.queries[name], "$(owned)", condition)
	}}
	if !ranged {
		return b.copy(ctx)
	}
	now, err := b.digest(ctx)
	if err != nil || c.brought.is(from, now) {
		return err
	}
	if err := b.copy(ctx); err != nil {
		return err
	}
	c.brought.note(from, now)
	return nil
}

// is reports whether the rows of a digest were copied.
func (b *brought) is(owners string, now digest) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, there := b.known[owners]
	return there && known == now || now.rows == 0
}

// note records that the rows of a digest were copied.
func (b *brought) note(owners string, now digest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]digest{}
	}
	b.known[owners] = now
}

// bringing is one copy of some owners' state.
type bringing struct {
	from, to *Conn
	args     Args
	text     func(query string) string
}

// digest returns the digest of the rows on shard 0.
func (b *bringing) digest(ctx context.Context) (now digest, err error) {
	err = b.from.rows(ctx, "looking for state that a shard lacks", b.text("state.Digest"), b.args, first(), func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&now.rows, &now.sum)
	})
	return now, err
}

// copy inserts the rows that the shard lacks.
func (b *bringing) copy(ctx context.Context) error {
	b.to.brought.copying.Lock()
	defer b.to.brought.copying.Unlock()
	there := map[[3]string]uint64{}
	err := b.to.rows(ctx, "looking for state on a shard", b.text("state.Versions"), b.args, first(), func(rows driver.Rows) (bool, error) {
		var owner, kind, id string
		var version uint64
		err := rows.Scan(&owner, &kind, &id, &version)
		there[[3]string{owner, kind, id}] = version
		return true, err
	})
	if err != nil {
		return err
	}
	var missing Rows
	columns := []Column{
		{Name: "owner", Type: "String"},
		{Name: "kind", Type: "LowCardinality(String)"},
		{Name: "id", Type: "String"},
		{Name: "version", Type: "UInt64"},
		{Name: "deleted", Type: "Bool"},
		{Name: "payload", Type: "String"},
	}
	err = b.from.rows(ctx, "reading state for a shard", b.text("state.Present"), b.args, first(), func(rows driver.Rows) (bool, error) {
		var owner, kind, id, payload string
		var version uint64
		var deleted bool
		if err := rows.Scan(&owner, &kind, &id, &version, &deleted, &payload); err != nil {
			return false, err
		}
		if known, has := there[[3]string{owner, kind, id}]; has && known >= version {
			return true, nil
		}
		return true, missing.Append(ctx, b.to, b.text("state.Bring"), columns, owner, kind, id, version, deleted, payload)
	})
	if err = errors.Join(err, missing.Send()); err != nil {
		return fmt.Errorf("bringing state to a shard: %w", unavailable(err))
	}
	return nil
}
