package state

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// Facts returns the facts about the whole installation by name.
func (db *Store) Facts(ctx context.Context) (map[string]string, error) { return db.facts(ctx, db.conn) }

// ShardFacts returns the facts about a shard from its own tables, by name.
func (db *Store) ShardFacts(ctx context.Context, shard int) (map[string]string, error) {
	return db.facts(ctx, db.conn.Shards()[shard])
}

// NoteShardFact stores a fact about a shard in its own tables.
func (db *Store) NoteShardFact(ctx context.Context, shard int, name, value string) error {
	return db.setFact(ctx, db.conn.Shards()[shard], "installation.Append", name, value)
}

// ShardCount returns the number of listed shards.
func (db *Store) ShardCount() int { return len(db.conn.Shards()) }

func (db *Store) facts(ctx context.Context, conn *clickhouse.Conn) (map[string]string, error) {
	facts := map[string]string{}
	err := conn.Read(ctx, "reading the facts of the installation", db.queries["installation.List"], nil, func(rows driver.Rows) (bool, error) {
		var name, value string
		err := rows.Scan(&name, &value)
		facts[name] = value
		return true, err
	})
	return facts, err
}

// NoteFact stores a fact unless it exists, and returns the one that counts. Nodes that store the same fact at the same
// time all get the same value.
func (db *Store) NoteFact(ctx context.Context, name, value string) (string, error) {
	facts, err := db.Facts(ctx)
	if err != nil {
		return "", err
	}
	if stands, noted := facts[name]; noted {
		return stands, nil
	}
	if err := db.setFact(ctx, db.conn, "installation.Append", name, value); err != nil {
		return "", err
	}
	facts, err = db.Facts(ctx)
	return facts[name], err
}

// ReplaceFact replaces a fact, regardless of its previous value.
func (db *Store) ReplaceFact(ctx context.Context, name, value string) error {
	return db.setFact(ctx, db.conn, "installation.Replace", name, value)
}

func (db *Store) setFact(ctx context.Context, conn *clickhouse.Conn, query, name, value string) error {
	ctx, cancel := context.WithTimeout(ctx, clickhouse.WriteTime)
	defer cancel()
	return clickhouse.WriteError("noting "+name, conn.Exec(ctx, db.queries[query], clickhouse.Args{"name": name, "value": value}))
}

// Used reports whether actors have ever written anything. A first start creates an organization before anything else.
// Used does not flush the journal, which is also empty for a new store.
func (db *Store) Used(ctx context.Context) (used bool, err error) {
	err = db.conn.ReadUnflushed(ctx, "looking whether the store was used", db.queries["installation.Used"], nil, func(rows driver.Rows) (bool, error) {
		var count uint64
		err := rows.Scan(&count)
		used = count > 0
		return false, err
	})
	return used, err
}

// Clear removes the whole state of actors from the tables. A log of state then fills them again.
func (db *Store) Clear(ctx context.Context) error {
	for statement := range strings.SplitSeq(db.queries["tables.Clear"], ";\n") {
		if err := db.conn.Exec(ctx, statement, nil); err != nil {
			return clickhouse.WriteError("clearing the tables of the state", err)
		}
	}
	return nil
}
