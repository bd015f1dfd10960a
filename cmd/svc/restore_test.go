package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc/cmd/svc/settings"
)

// TestTheAdviceAboutAnUnfinishedRestoreWorks ends a restore after each step, like a kill. It starts a server over the
// files that exist then, and follows the advice of the server.
func TestTheAdviceAboutAnUnfinishedRestoreWorks(t *testing.T) {
	env := map[string]string{"SVC_PARTITIONS": "4"}
	s := startServer(t, t.TempDir(), env)
	s.send(item("kept-1", "somebody", "/", time.Now()))
	s.settled()
	from := filepath.Join(t.TempDir(), "monday")
	if printed, err := s.backUp(from); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	s.stopped()
	bootstrap, err := os.ReadFile(filepath.Join(s.dir, "bootstrap.json"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "restored")
	t.Setenv("SVC_DATA_DIR", folder)
	t.Setenv("SVC_PARTITIONS", "4")
	config, err := settings.Load(os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	advice := fmt.Sprintf("a restore into %[1]s did not end, so it holds a part of the backup %[2]s: remove %[1]s and what the restore made in ClickHouse and Kafka servers, then call svc restore %[2]s again", folder, from)
	for done := range len((&restore{}).steps()) {
		if done == 0 {
			continue // nothing is written
		}
		r := &restore{dir: from, stdout: io.Discard, node: newNode(config, s.node.logger)}
		killedAfter(t, r, done)
		if err := newNode(config, s.node.logger).openDir(t.Context()); err == nil || err.Error() != advice {
			t.Errorf("after %d steps a start says %v", done, err)
		}
		if err := runRestore(t.Context(), []string{from}, io.Discard, io.Discard); err == nil || err.Error() != advice {
			t.Errorf("after %d steps a restore says %v", done, err)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	if err := runRestore(t.Context(), []string{from}, io.Discard, io.Discard); err != nil {
		t.Fatalf("the advice does not work: %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "bootstrap.json"), bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	again := startServer(t, folder, env)
	if rows := again.feed(); len(rows) != 1 || rows[0]["id"] != "kept-1" {
		t.Errorf("the restored server has %v", rows)
	}
}

// killedAfter runs the first steps of a restore and closes everything that they opened.
func killedAfter(t *testing.T, r *restore, steps int) {
	t.Helper()
	err := r.prepare()
	for n := 0; n < steps && err == nil; n++ {
		err = r.steps()[n](t.Context())
	}
	if err != nil {
		t.Fatalf("the first %d steps: %v", steps, err)
	}
	if err := r.node.close(); err != nil {
		t.Fatal(err)
	}
}
