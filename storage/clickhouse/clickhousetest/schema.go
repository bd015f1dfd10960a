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

// schema holds the definitions that all migrations together make. Migrations are most of what a database of a
// test costs, so all but the first of a process are made of the definitions of the first.
type schema struct {
	mu sync.Mutex
	// from is the database that the definitions are of, empty before they are known. Its table of migrations
	// is copied too.
	from        string
	definitions []string
	// opened are the databases that were opened before: they have their tables.
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

// definitionsQuery lists what a database is made of: tables, then views of them, then what fills tables.
const definitionsQuery = `SELECT create_table_query FROM system.tables WHERE database = currentDatabase()
ORDER BY engine = 'MaterializedView', engine = 'View', name`

// copyInto makes the tables of a new database with a name of [Name]. It does nothing before the definitions are
// known, and for a database that was opened before or is forced to disk.
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
