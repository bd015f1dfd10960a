package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/cmd/svc/importer"
)

// itemFile writes lines to a file, compressed if its name ends in .gz.
func itemFile(t *testing.T, name string, lines ...string) string {
	t.Helper()
	content := []byte(strings.Join(lines, "\n") + "\n")
	if strings.HasSuffix(name, ".gz") {
		var out bytes.Buffer
		zip := gzip.NewWriter(&out)
		if _, err := zip.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := zip.Close(); err != nil {
			t.Fatal(err)
		}
		content = out.Bytes()
	}
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestImportOfEvents replays a file into a real server, twice.
func TestImportOfEvents(t *testing.T) {
	s := startServer(t, t.TempDir(), nil)
	now := time.Now().UTC().Truncate(time.Second)
	at := func(days int) string { return now.AddDate(0, 0, -days).Format(time.RFC3339) }
	lines := []string{
		"\uFEFF" + fmt.Sprintf(`{"type":"page","ts":%q,"distinctId":"u1","url":"https://example.com/a?utm_source=old"}`, at(100)),
		fmt.Sprintf(`{"name":"signup","ts":%q,"distinctId":"u1","properties":{"plan":"pro"}}`, at(10)),
		`{"name":"signup"`,
		``,
		fmt.Sprintf(`{"id":"mine","name":"purchase","ts":%q,"anonymousId":"a1","value":12.5,"currency":"EUR"}`, at(1)),
		fmt.Sprintf(`{"name":"ancient","ts":%q,"distinctId":"u2"}`, at(5000)),
		`{"name":"nobody"}`,
		`"text"`,
	}
	for len(lines) < 3000 {
		lines = append(lines, fmt.Sprintf(`{"name":"bulk","ts":%q,"distinctId":"u%d"}`, at(len(lines)%300), len(lines)%40))
	}
	file := itemFile(t, "history.ndjson.gz", lines...)
	args := []string{"events", file, "--url", s.boot.URL, "--bootstrap", filepath.Join(s.dir, "bootstrap.json"), "--env", "staging"}
	for range 2 {
		var out, notices bytes.Buffer
		err := importer.Run(t.Context(), args, &out, &notices)
		if err == nil || !strings.Contains(err.Error(), "retentionDays") {
			t.Errorf("got error %v", err)
		}
		for _, want := range []string{"sent       2995\n", "skipped    1\n", "malformed  2\n", "rejected   2 (missing_value 1, too_old 1)\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the summary lacks %q:\n%s", want, out.String())
			}
		}
		if !strings.Contains(out.String(), "lines/s (3000 lines in ") || !strings.Contains(notices.String(), "3000 lines") {
			t.Errorf("%s\n%s", out.String(), notices.String())
		}
		why := "line 3: malformed: The line is no JSON object, or too long for a request.\n" +
			"line 6: too_old: ts is older than this key may send.\nline 7: missing_value: distinctId or anonymousId is missing.\n"
		if !strings.HasSuffix(notices.String(), why) {
			t.Errorf("got %s\nwant at its end %s", notices.String(), why)
		}
	}
	s.settled()
	counts := map[string]any{}
	for _, row := range s.get(appPath + "/events/names?range=12m&env=staging&includeBots=true")["data"].([]any) {
		row := row.(map[string]any)
		counts[row["name"].(string)] = row["count"]
	}
	if want := map[string]any{"bulk": 2992.0, "page_view": 1.0, "purchase": 1.0, "signup": 1.0}; fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", counts, want)
	}
	row := s.get(appPath + "/events?env=staging&name=page_view")["data"].([]any)[0].(map[string]any)
	if row["ts"] != strings.Replace(at(100), "Z", ".000Z", 1) || row["source"] != "old" || !strings.HasPrefix(row["id"].(string), "imp_") {
		t.Errorf("%v", row)
	}
	if row := s.get(appPath + "/events?env=staging&id=mine")["data"].([]any); len(row) != 1 {
		t.Errorf("%v", row)
	}
}
