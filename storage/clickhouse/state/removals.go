package state

import (
	"context"
	"slices"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/storage/clickhouse"
)

// Owned returns the stored entities and wake-ups of the actors of a deleted application or organization, by owner.
func (db *Store) Owned(ctx context.Context, deletion domain.Deletion) (owned []domain.Owned, err error) {
	args, at := removalArgs(deletion), map[string]int{}
	of := func(owner string) *domain.Owned {
		if _, known := at[owner]; !known {
			at[owner] = len(owned)
			owned = append(owned, domain.Owned{Owner: owner})
		}
		return &owned[at[owner]]
	}
	err = db.conn.ReadFirst(ctx, "finding what is stored of a deletion", db.queries["removals.Owned"], args, func(rows driver.Rows) (bool, error) {
		var owner string
		var entity [2]string
		err := rows.Scan(&owner, &entity[0], &entity[1])
		of(owner).Entities = append(of(owner).Entities, entity)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	err = db.conn.ReadFirst(ctx, "finding wake-ups of a deletion", db.queries["removals.Wakeups"], args, func(rows driver.Rows) (bool, error) {
		var owner, name string
		err := rows.Scan(&owner, &name)
		of(owner).Wakeups = append(of(owner).Wakeups, name)
		return true, err
	})
	return owned, err
}

// removalArgs returns the identities, and identity prefixes, of the actors of a deletion. The actors of only an
// organization are identified by its slug; its applications have separate deletions.
func removalArgs(deletion domain.Deletion) clickhouse.Args {
	identities, prefixes := []string{deletion.App.Org}, []string{}
	if deletion.App.App != "" {
		ref := deletion.App.String()
		identities, prefixes = []string{ref, deletion.AppID}, []string{ref + "/"}
	}
	for _, environment := range deletion.Environments {
		number := strconv.FormatUint(environment, 10)
		identities, prefixes = append(identities, number), append(prefixes, number+"/")
	}
	return clickhouse.Args{"identities": identities, "prefixes": prefixes}
}

// ownersAtOnce limits the owners of one statement.
const ownersAtOnce = 1000

// RemoveRows removes the rows of a deletion from all tables, and the entities that the owners stored before they were
// deleted. The ledger and the audit log stay.
func (db *Store) RemoveRows(ctx context.Context, deletion domain.Deletion, owners []string) error {
	if err := db.Flush(ctx); err != nil { // otherwise deleted data comes back from the log of state
		return err
	}
	return db.conn.Change(func() error {
		for _, shard := range db.conn.Shards() {
			if err := db.removeOn(ctx, shard, deletion, owners); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeOn is RemoveRows for one shard.
func (db *Store) removeOn(ctx context.Context, shard *clickhouse.Conn, deletion domain.Deletion, owners []string) error {
	for some := range slices.Chunk(owners, ownersAtOnce) {
		if err := remove(ctx, shard, db.queries["removals.Entities"], clickhouse.Args{"owners": some}); err != nil {
			return err
		}
	}
	if deletion.App.App == "" {
		return remove(ctx, shard, db.queries["removals.Organization"], clickhouse.Args{"org": deletion.App.Org})
	}
	var tables [][2]string
	err := shard.ReadFirst(ctx, "listing the tables of applications", db.queries["removals.Tables"], nil, func(rows driver.Rows) (bool, error) {
		var table [2]string
		err := rows.Scan(&table[0], &table[1])
		tables = append(tables, table)
		return true, err
	})
	if err != nil {
		return err
	}
	for _, table := range tables {
		statement := db.queries["removals.Environments"]
		args := clickhouse.Args{"table": table[0], "environments": deletion.Environments}
		if table[1] == "app" {
			statement, args = db.queries["removals.App"], clickhouse.Args{"table": table[0], "apps": []string{deletion.App.String(), deletion.AppID}}
		}
		if err := remove(ctx, shard, statement, args); err != nil {
			return err
		}
	}
	return remove(ctx, shard, db.queries["removals.Folds"], nil)
}

// remove runs a statement that removes rows, and waits for its end.
func remove(ctx context.Context, conn *clickhouse.Conn, statement string, args clickhouse.Args) error {
	settings := clickhouse.Settings{"mutations_sync": 1, "max_execution_time": 3600}
	return clickhouse.WriteError("removing what was deleted", conn.Exec(clickhouse.WithSettings(ctx, settings), statement, args))
}
