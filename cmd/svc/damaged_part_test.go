package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// flipBytes changes bytes of the largest data file of the table of events. The changes damage every column.
func flipBytes(t *testing.T, dir string) {
	t.Helper()
	var largest string
	var size int64
	for _, folder := range partsOfEvents(t, dir) {
		files, err := filepath.Glob(filepath.Join(folder, "*.bin"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.Size() > size {
				largest, size = file, info.Size()
			}
		}
	}
	content, err := os.ReadFile(largest)
	if err != nil {
		t.Fatal(err)
	}
	const every = 50 // bytes; no column is shorter
	for at := every; at < len(content); at += every {
		content[at] = ^content[at]
	}
	file, err := os.OpenFile(largest, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
}

// TestAFlippedByteIsNamedAndRepaired flips bytes in a part of the events. Readiness names the damage after the first
// read of it. A backup refuses to copy the part, and a repair sets the part aside.
func TestAFlippedByteIsNamedAndRepaired(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	for n := range 60 {
		s.send(item(fmt.Sprintf("event-%d", n), fmt.Sprintf("visitor-%d", n%16), "/", time.Now()))
	}
	s.settled()
	if done, err := s.backUp(filepath.Join(t.TempDir(), "sound")); err != nil {
		t.Fatalf("a backup of a sound store: %v\n%s", err, done)
	}
	flipBytes(t, dir)
	if got := s.call("GET", appPath+"/events?limit=500", s.boot.Token, nil, nil); got.status != 500 {
		t.Errorf("a read of the damaged part: %d %s", got.status, got.body)
	}
	if status, body, err := ready(s.node.operatorAddr.String()); err != nil || status != 503 || !strings.Contains(body, "met damaged data; stop the server and run `svc repair`") {
		t.Errorf("readiness: %d %s, %v", status, body, err)
	}
	damaged := filepath.Join(t.TempDir(), "damaged")
	if _, err := s.backUp(damaged); err == nil || !strings.Contains(err.Error(), "do not match their checksums: part") || !strings.Contains(err.Error(), "of events") {
		t.Errorf("a backup of the damaged store: %v", err)
	}
	if _, err := os.Stat(filepath.Join(damaged, "manifest.json")); err == nil {
		t.Error("the refused backup has a manifest")
	}
	s.stopped()

	look, err := repaired(t, dir, false)
	if err != nil || !strings.Contains(look, "1 parts of the store do not match their checksums") || !strings.Contains(look, "sets these parts aside") {
		t.Fatalf("repair says %q, %v", look, err)
	}
	if done, err := repaired(t, dir, true); err != nil || !strings.Contains(done, "applied; start it") {
		t.Fatalf("repair says %q, %v", done, err)
	}
	if look, err := repaired(t, dir, false); err != nil || !strings.Contains(look, "nothing was found") {
		t.Fatalf("after the repair: %q, %v", look, err)
	}
	again := startServer(t, dir, nil)
	again.settled()
	again.send(item("later", "me", "/", time.Now()))
	eventually(t, "reads go on", func() error {
		got := again.call("GET", appPath+"/events?limit=500", again.boot.Token, nil, nil)
		if got.status != 200 {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		rows := object(t, got.body)["data"].([]any)
		if len(rows) >= 61 || !slices.ContainsFunc(rows, func(row any) bool { return row.(map[string]any)["id"] == "later" }) {
			return fmt.Errorf("%d rows", len(rows))
		}
		return nil
	})
	if status, body, err := ready(again.node.operatorAddr.String()); err != nil || status != 200 {
		t.Errorf("readiness after the repair: %d %s, %v", status, body, err)
	}
}
