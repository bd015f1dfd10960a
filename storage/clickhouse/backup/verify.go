package backup

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// DamagedPart is a part of a table. Some of its files do not match their checksums.
type DamagedPart struct {
	Shard       int
	Table, Part string
	// Reason is the message of the store.
	Reason string
}

// DamageError lists damaged parts.
type DamageError struct{ Parts []DamagedPart }

// shownParts is the number of parts that an error describes.
const shownParts = 5

func (e *DamageError) Error() string {
	var words []string
	for _, part := range e.Parts[:min(len(e.Parts), shownParts)] {
		words = append(words, fmt.Sprintf("part %s of %s: %.300s", part.Part, part.Table, part.Reason))
	}
	if more := len(e.Parts) - shownParts; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%d parts of the store do not match their checksums: %s", len(e.Parts), strings.Join(words, "; "))
}

// Verify reads every file of the tables of all shards. It returns a [DamageError] if any file does not match its
// checksum. It takes as long as reading the whole store once.
func (db *Store) Verify(ctx context.Context) error {
	var damaged []DamagedPart
	for shard := range db.conn.Shards() {
		one := db.at(shard)
		database, err := one.database(ctx)
		if err != nil {
			return err
		}
		found, err := one.verify(ctx, shard, database)
		if err != nil {
			return err
		}
		damaged = append(damaged, found...)
	}
	return asError(damaged)
}

// VerifySnapshot is like [Store.Verify], for a snapshot of one shard.
func (db *Store) VerifySnapshot(ctx context.Context, shard int, s *Snapshot) error {
	damaged, err := db.at(shard).verify(ctx, shard, s.Name)
	if err != nil {
		return err
	}
	return asError(damaged)
}

func asError(damaged []DamagedPart) error {
	if len(damaged) == 0 {
		return nil
	}
	return &DamageError{Parts: damaged}
}

// verify returns the damaged parts of a database.
func (db *Store) verify(ctx context.Context, shard int, database string) (damaged []DamagedPart, err error) {
	var tables []string
	err = db.conn.ReadFirst(ctx, "listing the tables", db.queries["parts.Tables"], clickhouse.Args{"database": database}, func(rows driver.Rows) (bool, error) {
		var name string
		err := rows.Scan(&name)
		tables = append(tables, name)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		if !plain(database) || !plain(table) {
			return nil, fmt.Errorf("the names %q and %q are not made of letters and digits", database, table)
		}
		text := strings.NewReplacer("$(database)", database, "$(table)", table).Replace(db.queries["parts.Verify"])
		err := db.conn.Stream(ctx, "verifying the checksums of "+table, text, nil, func(rows driver.Rows) (bool, error) {
			part := DamagedPart{Shard: shard, Table: table}
			var passed bool
			err := rows.Scan(&part.Part, &passed, &part.Reason)
			if err == nil && !passed {
				damaged = append(damaged, part)
			}
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	return damaged, nil
}

// Detach moves damaged parts out of their tables. Reads then continue without their rows. The files stay in the folders
// of detached parts.
func (db *Store) Detach(ctx context.Context, damaged []DamagedPart) error {
	for _, part := range damaged {
		one := db.at(part.Shard)
		database, err := one.database(ctx)
		if err != nil {
			return err
		}
		if !plain(database) || !plain(part.Table) || !plain(part.Part) {
			return fmt.Errorf("the names %q, %q and %q are not made of letters and digits", database, part.Table, part.Part)
		}
		text := strings.NewReplacer("$(database)", database, "$(table)", part.Table, "$(part)", part.Part).Replace(db.queries["parts.Detach"])
		if err := one.conn.Exec(ctx, text, nil); err != nil {
			return clickhouse.WriteError("setting the part "+part.Part+" of "+part.Table+" aside", err)
		}
	}
	return nil
}
