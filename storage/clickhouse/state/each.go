package state

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
)

// Each calls each with the whole content of the tables, one thing per record, until each returns an error. The content
// is entities, including deleted ones, wake-ups, ledger entries and audit rows.
func (db *Store) Each(ctx context.Context, each func(r Record) error) error {
	for _, kind := range []struct {
		what, query string
		scan        func(rows driver.Rows) (Record, error)
	}{
		{"reading all entities", "entities.Each", scanEntity},
		{"reading all wake-ups", "wakeups.List", scanWakeup},
		{"reading all ledgers", "ledger.Each", scanLedger},
		{"reading all audit rows", "audit.Each", scanAudit},
	} {
		err := db.conn.Stream(ctx, kind.what, db.queries[kind.query], nil, func(rows driver.Rows) (bool, error) {
			r, err := kind.scan(rows)
			if err == nil {
				err = each(r)
			}
			return true, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func scanEntity(rows driver.Rows) (r Record, err error) {
	_, err = entityScan(func(e domain.Entity) { r.Entities = []domain.Entity{e} })(rows)
	return r, err
}

func scanWakeup(rows driver.Rows) (Record, error) {
	var w domain.Wakeup
	var version uint64
	err := rows.Scan(&w.Kind, &w.Identity, &w.Name, &w.Due, &version)
	return Record{Wakeups: []domain.Wakeup{w}, Version: domain.VersionOf(version)}, err
}

func scanLedger(rows driver.Rows) (Record, error) {
	var org string
	var sequence, version uint64
	entity := domain.Entity{Kind: kindEntry}
	err := rows.Scan(&org, &sequence, &version, &entity.Payload)
	entity.Owner, entity.ID, entity.Version = "ledger/"+org, fmt.Sprint(sequence), domain.VersionOf(version)
	return Record{Sealed: []domain.Entity{entity}}, err
}

func scanAudit(rows driver.Rows) (Record, error) {
	row, err := scanAuditRow(rows)
	return Record{Key: row.ID, Audit: &row}, err
}
