package clickhouse

import (
	"context"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Facts returns what is noted about the whole installation, by name.
func (db *DB) Facts(ctx context.Context) (map[string]string, error) {
	facts := map[string]string{}
	err := db.read(ctx, "reading the facts of the installation", db.queries["installation.List"], nil, func(rows driver.Rows) (bool, error) {
		var name, value string
		err := rows.Scan(&name, &value)
		facts[name] = value
		return true, err
	})
	return facts, err
}

// NoteFact notes a fact unless it is noted already, and returns the one that stands: of nodes
// that note one together, all get the same.
func (db *DB) NoteFact(ctx context.Context, name, value string) (string, error) {
	facts, err := db.Facts(ctx)
	if err != nil {
		return "", err
	}
	if stands, noted := facts[name]; noted {
		return stands, nil
	}
	if err := db.setFact(ctx, "installation.Append", name, value); err != nil {
		return "", err
	}
	facts, err = db.Facts(ctx)
	return facts[name], err
}

// ReplaceFact replaces a fact, whatever stood before.
func (db *DB) ReplaceFact(ctx context.Context, name, value string) error {
	return db.setFact(ctx, "installation.Replace", name, value)
}

func (db *DB) setFact(ctx context.Context, query, name, value string) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return writeError("noting "+name, db.conn.Exec(ctx, db.queries[query], clickhouse.Named("name", name), clickhouse.Named("value", value)))
}

// Used says whether anything was ever written by actors: a first start makes an organization
// before anything else.
func (db *DB) Used(ctx context.Context) (used bool, err error) {
	err = db.read(ctx, "looking whether the store was used", db.queries["installation.Used"], nil, func(rows driver.Rows) (bool, error) {
		var count uint64
		err := rows.Scan(&count)
		used = count > 0
		return false, err
	})
	return used, err
}
