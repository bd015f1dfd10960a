package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"svc/storage/chdb"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/database"
	"svc/storage/clickhouse/state"
	"svc/storage/vault"
)

// emptyStore is the folder of an embedded store with its tables and no rows. Creating the tables is most of the cost of
// a server's start, so all servers of a test process except the first start from a copy.
type emptyStore struct {
	mu      sync.Mutex
	starts  int
	folder  string
	problem error
}

var empty emptyStore

// copyInto creates the store of a data directory that has none.
func (e *emptyStore) copyInto(t testing.TB, dir string) {
	t.Helper()
	store := filepath.Join(dir, "store")
	if _, err := os.Stat(store); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.starts++
	if e.starts == 1 { // a process with one server does not need a copy, and one server must create its tables itself
		return
	}
	if e.starts == 2 {
		e.folder, e.problem = makeEmptyStore(t.Context())
	}
	if e.problem == nil {
		e.problem = os.CopyFS(store, os.DirFS(e.folder))
	}
	if e.problem == nil { // a store without its key is refused
		_, e.problem = vault.Open("", filepath.Join(dir, keyFile))
	}
	if e.problem != nil {
		t.Fatal(e.problem)
	}
}

// remove deletes the folder.
func (e *emptyStore) remove() {
	if e.folder != "" {
		_ = os.RemoveAll(filepath.Dir(e.folder))
	}
}

func makeEmptyStore(ctx context.Context) (folder string, err error) {
	parent, err := os.MkdirTemp("", "svc-empty-store-")
	if err != nil {
		return "", err
	}
	folder = filepath.Join(parent, "store")
	library, err := chdb.FindLibrary("")
	if err != nil {
		return "", err
	}
	engine, err := chdb.Open(ctx, chdb.Config{Library: library, Dir: folder, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	db, err := database.Open(ctx, clickhouse.Config{Engine: engine, Durable: true}, state.Config{})
	if err != nil {
		return "", errors.Join(err, engine.Close())
	}
	return folder, errors.Join(db.Close(), engine.Close())
}
