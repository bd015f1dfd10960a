package people

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// LookAmong has pages be looked for among few visitors, as in an environment that has many more.
func (db *Store) LookAmong(first, most int) { db.bounds = bounds{first, most} }

// Spans returns the spans of visitors as text, as they are put together here and as persons.Links has them.
func (db *Store) Spans(ctx context.Context, environment uint64, visitors []uint64) (here, engine map[uint64]string, err error) {
	spans, err := db.spansOf(ctx, environment, visitors)
	if err != nil {
		return nil, nil, err
	}
	here, engine = map[uint64]string{}, map[uint64]string{}
	for visitor, of := range spans {
		for _, one := range of {
			here[visitor] += fmt.Sprintf("(%d,%d)", one.sinceMs, one.person)
		}
	}
	query := "SELECT visitor, arrayStringConcat(arrayMap(span -> format('({},{})', span.1, span.2), spans)) FROM (" + db.queries["persons.Links"] + ") WHERE visitor IN {only:Array(UInt64)}"
	err = db.conn.Read(ctx, "finding the persons of visitors", query, clickhouse.Args{"environment": environment, "only": visitors}, func(rows driver.Rows) (bool, error) {
		var visitor uint64
		var text string
		err := rows.Scan(&visitor, &text)
		engine[visitor] = text
		return true, err
	})
	return here, engine, err
}
