package clickhousetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// schema has the definitions that result from all migrations. Migrations are most of the cost of a test's database.
// Only the first database of a process runs them; the others are created from the definitions of the first.
type schema struct {
	mu sync.Mutex
	// from is the database that has the definitions. It is empty until they are known. Its table of migrations is
	// copied too.
	from        string
	definitions []string
	// opened has the databases that were opened before, which have their tables.
	opened map[string]bool
}

// learn reads the definitions of the first database, before its test changes anything.
func (s *schema) learn(ctx context.Context, conn *clickhouse.Conn, cfg clickhouse.Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		s.opened = map[string]bool{}
	}
	s.opened[conn.Database()] = true
	if s.from != "" || cfg.Durable {
		return nil
	}
	var definitions []string
	err := conn.ReadUnflushed(ctx, "reading the definitions", definitionsQuery, nil, func(rows driver.Rows) (bool, error) {
		var definition string
		err := rows.Scan(&definition)
		definitions = append(definitions, definition)
		return true, err
	})
	if err != nil {
		return err
	}
	s.from, s.definitions = conn.Database(), definitions
	return nil
}

// definitionsQuery lists the definitions of a database: tables, then the views of them, then the views that fill
// tables.
const definitionsQuery = `SELECT create_table_query FROM system.tables WHERE database = currentDatabase()
ORDER BY engine = 'MaterializedView', engine = 'View', name`

// copyInto creates the tables of a new database with a name from [Name]. It does nothing before the definitions are
// known, and for databases that were opened before or are synced to disk.
func (s *schema) copyInto(ctx context.Context, cfg clickhouse.Config) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := cfg.DatabaseName()
	if s.from == "" || cfg.Durable || s.opened[name] || !strings.HasPrefix(name, namePrefix) {
		return nil
	}
	cfg.Database = "default"
	conn, err := clickhouse.Connect(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	statements := []string{"CREATE DATABASE " + name}
	for _, definition := range s.definitions {
		statements = append(statements, strings.ReplaceAll(definition, s.from+".", name+"."))
	}
	statements = append(statements, fmt.Sprintf("INSERT INTO %s.migrations SELECT * FROM %s.migrations", name, s.from))
	for _, statement := range statements {
		if err := conn.Exec(ctx, statement, nil); err != nil {
			return fmt.Errorf("copying a definition: %w: %s", err, statement)
		}
	}
	return nil
}
