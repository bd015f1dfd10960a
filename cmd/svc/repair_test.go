package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestADamagedFolderIsRefusedAndRepaired removes a part of the folder of a stopped node. Every start is refused with
// the findings. `svc repair` without --apply changes nothing, and with it applies the announced remedies.
func TestADamagedFolderIsRefusedAndRepaired(t *testing.T) {
	remove := func(names ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			for _, name := range names {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		hurt func(t *testing.T, dir string)
		says []string
		// left is the number of the 60 events that remain after the repair.
		left int
	}{
		"the broker's note":            {remove("log/meta.json"), []string{"meta.json is missing", "partitions have"}, 60},
		"the note of the topics":       {remove("log/topics.json"), []string{"topics.json is missing", "partitions have"}, 60},
		"both notes":                   {remove("log/topics.json", "log/meta.json"), []string{"meta.json is missing", "partitions have"}, 60},
		"the note of the topics, torn": {tear("log/topics.json"), []string{"topics.json is not readable", "partitions have"}, 60},
		"the broker's note, emptied":   {empties("log/meta.json"), []string{"meta.json is not readable", "partitions have"}, 60},
		"the log":                      {remove("log"), []string{"the log is another one", "it had 60 records, of which 60 were stored and 0 were not"}, 60},
		"the master key":               {remove("vault.key"), []string{"vault.key is gone"}, 60},
		"another key": {func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "vault.key"), bytes.Repeat([]byte{7}, 32), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"the master key is", "sealed with the key"}, 60},
		"a part":    {removePart, []string{"parts of the store are gone", "60 rows of events"}, 0},
		"the store": {remove("store"), []string{"the store is empty, and 60 records of this log were stored"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := startServer(t, dir, nil)
			for n := range 60 {
				s.send(item(fmt.Sprintf("event-%d", n), fmt.Sprintf("visitor-%d", n%16), "/", time.Now()))
			}
			s.settled()
			s.stopped()
			c.hurt(t, dir)
			for range 2 { // the first one changes nothing
				err := startOnce(t, dir, nil, io.Discard)
				for _, says := range append(c.says, "this start is refused", "svc repair --apply") {
					if err == nil || !strings.Contains(err.Error(), says) {
						t.Fatalf("the start says %v, want %q", err, says)
					}
				}
				look, err := repaired(t, dir, false)
				if err != nil || !strings.Contains(look, c.says[0]) {
					t.Fatalf("repair says %q, %v", look, err)
				}
			}
			if done, err := repaired(t, dir, true); err != nil || !strings.Contains(done, "applied; start it") {
				t.Fatalf("repair says %q, %v", done, err)
			}
			assertRepaired(t, dir, c.left)
		})
	}
}

// tear cuts a file in the middle.
func tear(name string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil {
			err = os.Truncate(filepath.Join(dir, name), info.Size()/2)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// empties truncates a file, as a crash may do.
func empties(name string) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		if err := os.Truncate(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// partsOfEvents returns the folders of the parts of the table of events.
func partsOfEvents(t *testing.T, dir string) []string {
	t.Helper()
	definitions, err := filepath.Glob(filepath.Join(dir, "store", "store", "*", "*", "events.sql"))
	if err != nil || len(definitions) != 1 {
		t.Fatalf("%v, %v", definitions, err)
	}
	text, err := os.ReadFile(definitions[0])
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "UUID '")
	uuid, _, _ := strings.Cut(rest, "'")
	parts, err := filepath.Glob(filepath.Join(dir, "store", "store", uuid[:3], uuid, "2*"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("%v, %v", parts, err)
	}
	return parts
}

// removePart deletes the parts of the table of events.
func removePart(t *testing.T, dir string) {
	t.Helper()
	for _, part := range partsOfEvents(t, dir) {
		if err := os.RemoveAll(part); err != nil {
			t.Fatal(err)
		}
	}
}

func repaired(t *testing.T, dir string, apply bool) (string, error) {
	t.Helper()
	var stdout bytes.Buffer
	err := repair(t.Context(), configured(t, dir, nil), slog.New(slog.DiscardHandler), apply, &stdout)
	return stdout.String(), err
}

// assertRepaired starts a repaired node: left of the events remain, and new ones are stored.
func assertRepaired(t *testing.T, dir string, left int) {
	t.Helper()
	s := startServer(t, dir, nil)
	s.settled()
	s.send(item("later", "me", "/", time.Now()))
	eventually(t, "the events are there, and a new one", func() error {
		if got := s.call("GET", appPath+"/events?limit=500", s.boot.Token, nil, nil); got.status == 200 {
			if rows := object(t, got.body)["data"].([]any); len(rows) != left+1 {
				return fmt.Errorf("%d rows, want %d", len(rows), left+1)
			}
			return nil
		}
		return fmt.Errorf("the token of the first start is gone")
	})
	s.stopped()
}
