package chdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFindLibrary(t *testing.T) {
	dir := t.TempDir()
	explicit := filepath.Join(dir, "mine.so")
	cached := filepath.Join(dir, "chdb", Version, "libchdb.so")
	if err := os.MkdirAll(filepath.Dir(cached), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{explicit, cached} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ explicit, cache, want, wantErr string }{
		"explicit":           {explicit: explicit, cache: dir, want: explicit},
		"explicit, missing":  {explicit: explicit + "x", cache: dir, wantErr: "SVC_CHDB_LIB"},
		"explicit, a folder": {explicit: dir, cache: dir, wantErr: "not a regular file"},
		"cached":             {cache: dir, want: cached},
		"not cached":         {cache: filepath.Join(dir, "empty"), wantErr: "run `make deps`"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SVC_CACHE_DIR", c.cache)
			got, err := FindLibrary(c.explicit)
			if got != c.want || (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("got %q, %v; want %q, %q", got, err, c.want, c.wantErr)
			}
		})
	}
}

func TestOneDataFolderPerProcess(t *testing.T) {
	open := func(dir string) error {
		_, err := openEngine(dir)
		return err
	}
	folder := strings.TrimPrefix(testEngine.args[1], "--path=")
	for name, c := range map[string]struct{ dir, want string }{
		"same folder":   {folder, "is already open in this process"},
		"second folder": {t.TempDir(), "this process has another data folder open, of which libchdb allows one"},
		"no folder":     {"", "no data folder is named"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := open(c.dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if got := one[uint8](t, client(t), "SELECT 1"); got != 1 {
		t.Error("the engine does not work after refused opens")
	}
}

func TestDataFolderOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := child(t, dir, 1, 1_000_000)
	if !lines.Scan() || lines.Text() != "block 1" {
		t.Fatalf("unexpected line %q", lines.Text())
	}
	_, err := openEngine(dir)
	if want := "is in use by another process (PID: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func TestRefusedSettingFailsOpen(t *testing.T) {
	if _, err := connect(testEngine.lib, testEngine.args, "svc-bad", map[string]string{"max_threads": "many"}); err == nil {
		t.Error("a connection with a malformed setting was opened")
	}
}

// The child closes its engine at the end. It then fails to open it on an address that is in use, opens it again and
// closes it twice.
func TestReopenedEngineKeepsItsTables(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if got, want := replay(t, dir, 1, 1), "rows 1000, blocks 1, sum 1000, journal 1, parts lost 0"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// closeAndReopen is the last step of the child of TestReopenedEngineKeepsItsTables.
func closeAndReopen(e *Engine, dir string) error {
	if err := errors.Join(e.Close(), e.Close()); err != nil {
		return err
	}
	if _, err := e.DialContext(context.Background(), ""); !errors.Is(err, net.ErrClosed) {
		return errors.New("a closed engine was dialed")
	}
	taken, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer taken.Close()
	if _, err := openEngineAt(dir, taken.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("on an address that is taken the engine opened with %w", err)
	}
	again, err := openEngineAt(dir, "127.0.0.1:0")
	if err != nil {
		return err
	}
	return again.Close()
}
