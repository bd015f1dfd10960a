package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
)

// mcpClients returns a folder with the script and the packages that it imports.
func mcpClients(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile("testdata/mcp/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("SVC_CACHE_DIR")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(user, "svc")
	}
	packages := filepath.Join(cache, "mcp-clients", fmt.Sprintf("%x", sha256.Sum256(lock))[:16], "node_modules")
	if _, err := os.Stat(packages); err != nil {
		t.Fatalf("finding the clients, which `make sdk` fetches: %v", err)
	}
	folder := t.TempDir()
	script, err := os.ReadFile("testdata/mcp/client.mjs")
	if err := errors.Join(err, os.Symlink(packages, filepath.Join(folder, "node_modules")), os.WriteFile(filepath.Join(folder, "client.mjs"), script, 0o600)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestPublishedClients lets clients of both eras call a node, over HTTP and through `svc mcp`, and compares their
// results.
func TestPublishedClients(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("the clients need Node.js: %v", err)
	}
	folder := mcpClients(t)
	binary := filepath.Join(folder, "svc")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	s := startServer(t, t.TempDir(), nil)
	s.send(map[string]any{"type": "event", "name": "page_view", "distinctId": "u1", "url": "https://example.com/a"})
	s.envelope([]byte("{}\n{\"type\":\"event\"}\n{\"message\":\"disk is nearly full\",\"event_id\":\"00000000000000000000000000000001\"}"))
	issue := s.issues(1)["Message: disk is nearly full"]
	event := s.occurrence(issue)
	s.settled()

	command := exec.CommandContext(t.Context(), node, "client.mjs")
	command.Dir = folder
	command.Env = append(command.Environ(), "SVC_URL="+s.boot.URL, "SVC_TOKEN="+s.boot.Token, "SVC_BINARY="+binary,
		"ISSUE="+issue["id"].(string), "EVENT="+event["id"].(string))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	var answers map[string]any
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatal(err)
	}
	if answers["stranger"] == "nothing" {
		t.Error("a stranger was let in")
	}
	for name, version := range map[string]string{
		"sdk 1, http": "2025-11-25", "client 2, http": "2025-11-25", "client 2, http, automatic": "2026-07-28",
		"sdk 1, stdio": "", "client 2, stdio": "2025-11-25", "client 2, stdio, automatic": "2026-07-28",
	} {
		want := maps.Clone(learnt())
		want["version"] = version
		if !reflect.DeepEqual(answers[name], want) {
			t.Errorf("%s learnt\n%v\nwant\n%v", name, answers[name], want)
		}
	}
}

// learnt is the result that every client must have.
func learnt() map[string]any {
	return map[string]any{
		"server": "svc", "instructed": true, "readOnly": 7.0, "session": "",
		"tools": []any{"find_tools", "call_read", "call_write", "get_error", "analytics_overview", "analytics_breakdown", "errors_list", "apps_list"},
		"found": "events_list", "pageviews": 1.0, "text": true, "event": "page_view", "issue": "Message: disk is nearly full", "occurrence": true,
		"invalid": []any{true, "range"}, "listed": true, "template": "svc://docs/{+slug}", "page": []any{"text/markdown", "# Agents (MCP)"},
		"noTool": -32602.0, "noPage": -32602.0,
	}
}
