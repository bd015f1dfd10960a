package people

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// LookAmong sets the bounds of a page, so that a small environment behaves like a large one.
func (db *Store) LookAmong(first, most int) { db.bounds = bounds{first, most} }

// Unkept returns the same people without materialized profiles.
func (db *Store) Unkept() *Store {
	other := *db
	other.keeper = newKeeper()
	return &other
}

// Changed returns how many persons changed since the environment was materialized. It is negative if there are no
// profiles.
func (db *Store) Changed(ctx context.Context, environment uint64) (int, error) {
	folds, err := db.keptOf(ctx, environment, &rankQuery{decided: true})
	if folds == nil || err != nil {
		return -1, err
	}
	if held, err := db.held(ctx, folds); !held || err != nil {
		return -1, err
	}
	return len(folds.changed), nil
}

// Spans returns the spans of visitors as text, computed in three ways: by this package, by persons.Links, and by
// queries about all people that receive the shared visitors as parameters.
func (db *Store) Spans(ctx context.Context, environment uint64, visitors []uint64) (here, engine, told map[uint64]string, err error) {
	spans, err := db.spansOf(ctx, environment, visitors)
	if err != nil {
		return nil, nil, nil, err
	}
	here = map[uint64]string{}
	for visitor, of := range spans {
		for _, one := range of {
			here[visitor] += fmt.Sprintf("(%d,%d)", one.sinceMs, one.person)
		}
	}
	if engine, err = db.linked(ctx, db.queries["persons.Links"], members{}.args().With(clickhouse.Args{"environment": environment, "visitors": visitors})); err != nil {
		return nil, nil, nil, err
	}
	parts, args, err := db.WhoIs(ctx, environment)
	if err != nil {
		return nil, nil, nil, err
	}
	told, err = db.linked(ctx, parts["persons.Links"], args.With(clickhouse.Args{"environment": environment, "visitors": visitors}))
	return here, engine, told, err
}

// linked reads spans of visitors with a query.
func (db *Store) linked(ctx context.Context, query string, args clickhouse.Args) (map[uint64]string, error) {
	found := map[uint64]string{}
	query = "SELECT visitor, arrayStringConcat(arrayMap(span -> format('({},{})', span.1, span.2), spans)) FROM (" + query + ") WHERE visitor IN {visitors:Array(UInt64)}"
	err := db.conn.Read(ctx, "finding the persons of visitors", query, args, func(rows driver.Rows) (bool, error) {
		var visitor uint64
		var text string
		err := rows.Scan(&visitor, &text)
		if found[visitor] != "" {
			text = "twice"
		}
		found[visitor] = text
		return true, err
	})
	return found, err
}
