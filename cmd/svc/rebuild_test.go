package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/domain"
	log "svc/storage/kafka/state"
)

// rebuildChild returns the command that rebuilds the store of a folder in a separate process.
func rebuildChild(ctx context.Context, dir string) *exec.Cmd {
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=rebuild", "SVC_DATA_DIR="+dir, "SVC_PARTITIONS=4", "SVC_ADMIN_ADDR=127.0.0.1:0")
	return command
}

// answers reads the data that a rebuild must retain: entities one by one and in lists, the ledger, the audit entries
// and the events.
func (s *server) answers() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, path := range []string{
		appPath, appPath + "/goals", appPath + "/funnels", appPath + "/alerts", appPath + "/monitors", appPath + "/channels",
		appPath + "/events?limit=200", appPath + "/people",
	} {
		got := s.call("GET", path, s.boot.Token, nil, nil)
		if got.status != http.StatusOK {
			s.t.Fatalf("GET %s: %d %s", path, got.status, got.body)
		}
		out[path] = string(got.body)
	}
	rows, _, err := s.node.db.AuditRows(context.Background(), domain.AuditQuery{Limit: 1000})
	if err != nil {
		s.t.Fatal(err)
	}
	entries, _, err := s.node.db.LedgerEntries(context.Background(), "acme", "", 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	for what, list := range map[string]any{"audit": rows, "ledger": entries} {
		encoded, err := json.Marshal(list)
		if err != nil {
			s.t.Fatal(err)
		}
		out[what] = string(encoded)
	}
	return out
}

// TestAStoreThatWasLostIsRebuilt uses a server, deletes its store, kills a rebuild, completes another one, and compares
// the server's answers.
func TestAStoreThatWasLostIsRebuilt(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, nil)
	for n := range 20 {
		s.post(appPath+"/goals", fmt.Sprintf(`{"name":"Goal %d","kind":"event","match":"e%d"}`, n, n))
		s.send(item(fmt.Sprintf("event-%d", n), fmt.Sprintf("visitor-%d", n%7), "/", time.Now()))
	}
	s.post(appPath+"/alerts", `{"name":"Rush","kind":"event_volume","threshold":3000,"comparator":"gte","condition":{"name":"order"},"channelIds":[],"enabled":false}`)
	s.post(appPath+"/funnels", `{"name":"Way","steps":[{"kind":"event","match":"a"},{"kind":"event","match":"b"}]}`)
	s.settled()
	people := s.get(appPath + "/people")["data"].([]any)
	one, other := people[0].(map[string]any)["id"].(string), people[1].(map[string]any)["id"].(string)
	if got := s.call("POST", appPath+"/people/"+one+"/merge", s.boot.Token, fmt.Appendf(nil, `{"personId":%q}`, other), nil); got.status != http.StatusOK {
		t.Fatalf("merging: %d %s", got.status, got.body)
	}
	eventually(t, "the log holds the whole state", func() error {
		archives, err := s.node.stateLog.Archives(context.Background())
		for partition, a := range archives {
			if a == (log.Archive{}) {
				return fmt.Errorf("partition %d was not copied", partition)
			}
		}
		return err
	})
	s.post(appPath+"/goals", `{"name":"Last","kind":"event","match":"last"}`)
	want := s.answers()
	s.stopped()

	if output, err := rebuildChild(t.Context(), dir).CombinedOutput(); err == nil || !strings.Contains(string(output), "not empty") {
		t.Errorf("a store with rows is filled: %v %s", err, output)
	}
	if err := os.Rename(filepath.Join(dir, "store"), filepath.Join(t.TempDir(), "lost")); err != nil {
		t.Fatal(err)
	}
	if err := startOnce(t, dir, nil, io.Discard); err == nil || !strings.Contains(err.Error(), "svc admin rebuild") {
		t.Fatalf("a start over a lost store says %v", err)
	}
	parts := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "store", "store", "*", "*", "all_*"))
		return found
	}
	before := len(parts())
	killed := rebuildChild(t.Context(), dir)
	var output bytes.Buffer
	killed.Stdout, killed.Stderr = &output, &output
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rebuild has begun", func() error {
		if len(parts()) <= before {
			return errors.New("it has stored nothing")
		}
		return nil
	})
	_ = killed.Process.Kill()
	_ = killed.Wait()
	printed, err := rebuildChild(t.Context(), dir).CombinedOutput()
	if err != nil || !strings.Contains(string(printed), "rebuilt") {
		t.Fatalf("%v: %s (the one that was killed: %s)", err, printed, output.String())
	}
	s = startServer(t, dir, nil)
	s.settled()
	eventually(t, "who was merged is one person", func() error {
		if people := s.get(appPath + "/people")["data"].([]any); len(people) != 6 {
			return fmt.Errorf("there are %d people of seven visitors", len(people))
		}
		return nil
	})
	got := s.answers()
	for what := range want {
		if got[what] != want[what] {
			t.Errorf("%s:\n%s\nwas\n%s", what, got[what], want[what])
		}
	}
}
