package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/importer"
)

// incompressible returns a text of n bytes.
func incompressible(n int) string {
	var text strings.Builder
	for text.Len() < n {
		fmt.Fprintf(&text, "%016x", rand.Uint64())
	}
	return text.String()[:n]
}

// TestLargeItemsOfOneVisitor sends items within all limits that are together longer than a record of the log, and than
// the queue of a partition.
func TestLargeItemsOfOneVisitor(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	item := func(kind string, n int, text string) map[string]any {
		return map[string]any{"type": "event", "name": kind, "distinctId": "u1", "id": fmt.Sprint(kind, n), "properties": map[string]any{"text": text}}
	}
	var large []map[string]any
	for n := range 16 {
		large = append(large, item("large", n, incompressible(60_000)))
	}
	s.send(large...)

	text := strings.Repeat("x", 60_000)
	var many []map[string]any
	for n := range 300 {
		many = append(many, item("many", n, text))
	}
	body, err := json.Marshal(map[string]any{"items": many})
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := zip.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	got := s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, zipped.Bytes(), map[string]string{"Content-Encoding": "gzip"})
	if got.status != 202 || object(t, got.body)["accepted"] != 300.0 {
		t.Fatalf("%d %s", got.status, got.body)
	}

	var lines []string
	for n := range 16 {
		lines = append(lines, fmt.Sprintf(`{"name":"imported","ts":%q,"distinctId":"u1","properties":{"n":%d,"text":%q}}`, time.Now().UTC().Format(time.RFC3339), n, text))
	}
	file := itemFile(t, "large.ndjson", lines...)
	var out, notices bytes.Buffer
	args := []string{"events", file, "--url", s.boot.URL, "--bootstrap", filepath.Join(s.dir, "bootstrap.json"), "--env", "production"}
	if err := importer.Run(t.Context(), args, &out, &notices); err != nil {
		t.Fatalf("%v: %s %s", err, out.String(), notices.String())
	}
	s.settled()
	counts := map[string]any{}
	for _, row := range s.get(appPath + "/events/names?includeBots=true")["data"].([]any) {
		counts[row.(map[string]any)["name"].(string)] = row.(map[string]any)["count"]
	}
	if want := map[string]any{"large": 16.0, "many": 300.0, "imported": 16.0}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}
