package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/chdb"
	"svc/storage/clickhouse"
	log "svc/storage/kafka/state"
	"svc/storage/vault"
)

// oldThings is the number of objects of each kind in the tables of an old data folder, and also in its journal.
const oldThings = 40

// makeOldFolder creates a data folder of an early version: without the later tables, with a journal that contains
// waiting writes, and with a log without state.
func makeOldFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := vault.Open("", filepath.Join(dir, keyFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bootstrap.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	library, err := chdb.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := chdb.Open(t.Context(), chdb.Config{Library: library, Dir: filepath.Join(dir, "store"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		database string
		fill     func(conn *clickhouse.Conn) error
	}{
		{"default", func(conn *clickhouse.Conn) error { return conn.Exec(t.Context(), "CREATE DATABASE svc", nil) }},
		{"svc", func(conn *clickhouse.Conn) error { return fillOld(t.Context(), conn) }},
	} {
		conn, err := clickhouse.Connect(clickhouse.Config{Engine: engine, Database: part.database})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(part.fill(conn), conn.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fillOld creates the tables of an early version and fills them.
func fillOld(ctx context.Context, conn *clickhouse.Conn) error {
	folder := filepath.Join("..", "..", "storage", "clickhouse")
	files, err := filepath.Glob(filepath.Join(folder, "migrations", "20261120_*.sql"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no early migrations: %w", err)
	}
	var statements []string
	for _, file := range append([]string{filepath.Join(folder, "query", "migrations.Create.sql")}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		statements = append(statements, strings.Split(string(text), ";\n")...)
		if slices.Contains(files, file) {
			statements = append(statements, fmt.Sprintf("INSERT INTO migrations (name) SELECT '%s'", strings.TrimSuffix(filepath.Base(file), ".sql")))
		}
	}
	statements = append(statements,
		fmt.Sprintf(`INSERT INTO entities (owner, kind, id, version, deleted, payload) SELECT concat('application/acme/', toString(number)), 'thing', 'a', 4294967297, false, '{"from":"table"}' FROM numbers(%d)`, oldThings),
		fmt.Sprintf(`INSERT INTO wakeups (kind, identity, name, due, version, deleted) SELECT 'bench', toString(number), 'look', toDateTime64('2100-01-01 00:00:00', 3, 'UTC'), 4294967297, false FROM numbers(%d)`, oldThings),
		fmt.Sprintf(`INSERT INTO audit (org, at, id, operation) SELECT 'acme', now64(3), concat('table ', toString(number)), 'keys.create' FROM numbers(%d)`, oldThings),
		"CREATE TABLE journal (key String, record String) ENGINE = EmbeddedRocksDB PRIMARY KEY key",
	)
	for n := range oldThings {
		version := domain.Version{Generation: 2, Sequence: 2}
		record, err := json.Marshal(map[string]any{
			"Entities": []domain.Entity{{Owner: fmt.Sprintf("application/acme/%d", n), Kind: "thing", ID: "a", Version: version, Payload: []byte(`{"from":"journal"}`)}},
			"Audit":    domain.AuditRow{At: time.Now(), Org: "acme", Operation: "goals.create"},
		})
		if err != nil {
			return err
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO journal VALUES ('journal %d', '%s')", n, record))
	}
	for _, statement := range statements {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := conn.Exec(ctx, statement, nil); err != nil {
			return fmt.Errorf("%.80s: %w", statement, err)
		}
	}
	return nil
}

// traces counts a store's objects on disk: folders of tables and parts, and definitions.
func traces(dir string) (count int) {
	_ = filepath.WalkDir(filepath.Join(dir, "store"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && (entry.IsDir() || strings.HasSuffix(entry.Name(), ".sql")) {
			count++
		}
		return nil // a file that is renamed meanwhile is counted next time
	})
	return count
}

// killDuringStart starts a server as a separate process and kills it once its store has changed on disk some times, or
// a while after it serves.
func killDuringStart(t *testing.T, dir string, changes int) (served bool) {
	t.Helper()
	var output lockedBuffer
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=1", "SVC_HTTP_ADDR=127.0.0.1:0", "SVC_ADMIN_ADDR=127.0.0.1:0", "SVC_DATA_DIR="+dir, "SVC_PARTITIONS=4")
	command.Stdout, command.Stderr = &output, &output
	before := traces(dir)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for began := time.Now(); changes > 0 && time.Since(began) < patience; {
		select {
		case err := <-ended:
			t.Fatalf("the start ended with %v: %s", err, output.String())
		case <-time.After(time.Millisecond):
		}
		if now := traces(dir); now != before {
			before = now
			changes--
		}
		if strings.Contains(output.String(), "svc serves") {
			served = true
			time.Sleep(time.Duration(changes) * 100 * time.Millisecond) // the state is copied to its log meanwhile
			break
		}
	}
	_ = command.Process.Kill()
	<-ended //nolint:errcheck // it was killed
	return served
}

// upgrade kills the first starts over an old data folder kills times, each a little later, and checks the final state.
func upgrade(t *testing.T, kills int) {
	dir := makeOldFolder(t)
	served := 0
	for kill := range kills {
		if killDuringStart(t, dir, 1+kill*3) {
			served++
		}
	}
	if served == kills {
		t.Error("every start was over before it was killed")
	}
	s := startServer(t, dir, nil)
	ctx := context.Background()
	for n := range oldThings {
		owner := fmt.Sprintf("application/acme/%d", n)
		got, err := s.node.db.Load(ctx, owner)
		if err != nil || len(got) != 1 || string(got[0].Payload) != `{"from":"journal"}` {
			t.Errorf("%s has %+v, %v", owner, got, err)
		}
	}
	rows, _, err := s.node.db.AuditRows(ctx, domain.AuditQuery{Org: "acme", Limit: 10 * oldThings})
	if err != nil || len(rows) != 2*oldThings {
		t.Errorf("%d audit rows, want %d: %v", len(rows), 2*oldThings, err)
	}
	wakeups := 0
	if err := s.node.db.Wakeups(ctx, func(domain.Wakeup, uint64) { wakeups++ }); err != nil || wakeups != oldThings {
		t.Errorf("%d wake-ups, want %d: %v", wakeups, oldThings, err)
	}
	eventually(t, "the log holds the whole state", func() error {
		archives, err := s.node.stateLog.Archives(ctx)
		if slices.Contains(archives, log.Archive{}) {
			err = errors.New("a partition was not copied")
		}
		return err
	})
}

// TestAnUpgradeThatIsKilled kills an upgrade at a few places.
func TestAnUpgradeThatIsKilled(t *testing.T) { upgrade(t, 3) }

// TestAnUpgradeAcrossKills kills an upgrade at twenty places, at six with -short.
func TestAnUpgradeAcrossKills(t *testing.T) {
	kills := 20
	if testing.Short() {
		kills = 6
	}
	upgrade(t, kills)
}
