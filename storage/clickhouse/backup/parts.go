package backup

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Parts yields the current parts of the tables: table, UUID of the table, name, rows, and the time at which the last
// row expires, or zero.
func (db *Store) Parts(ctx context.Context, yield func(table, uuid, name string, rows uint64, expires time.Time)) error {
	return db.conn.Read(ctx, "listing the parts", db.queries["parts.List"], nil, func(rows driver.Rows) (bool, error) {
		var table, uuid, name string
		var count uint64
		var expires time.Time
		err := rows.Scan(&table, &uuid, &name, &count, &expires)
		if expires.Unix() <= 0 {
			expires = time.Time{}
		}
		yield(table, uuid, name, count, expires)
		return true, err
	})
}
