package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/cmd/svc/backup"
	"svc/cmd/svc/operator"
	"svc/storage/kafka/broker"
	"svc/storage/owned"
)

// backUp asks a server to make a backup, and returns the command's output.
func (s *server) backUp(dir string, args ...string) (string, error) {
	var stdout bytes.Buffer
	args = append([]string{dir, "--addr", s.operatorAddr(), "--token-file", filepath.Join(s.dir, operator.TokenFile)}, args...)
	err := backup.Run(s.t.Context(), args, &stdout, io.Discard)
	return stdout.String(), err
}

// restored restores a backup into a new folder.
func restored(t *testing.T, dir string, env map[string]string) (folder, printed string, err error) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "restored")
	t.Setenv("SVC_DATA_DIR", folder)
	t.Setenv("SVC_PARTITIONS", "4")
	for name, value := range env {
		t.Setenv(name, value)
	}
	var stdout bytes.Buffer
	err = runRestore(t.Context(), []string{dir}, &stdout, io.Discard)
	return folder, stdout.String(), err
}

// load sends events, one after another, until it is stopped.
type load struct {
	accepted atomic.Int64
	stop     func()
}

func (s *server) load() *load {
	l, ended := &load{}, make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			default:
			}
			s.send(item(fmt.Sprintf("event-%d", n), fmt.Sprintf("visitor-%d", n%37), "/", time.Now()))
			l.accepted.Add(1)
		}
	})
	l.stop = sync.OnceFunc(func() { close(ended); done.Wait() })
	return l
}

// holds compares a restored server with the accepted events: the first events exist, no event exists twice, no unsent
// event exists, and the aggregates match the rows.
func (s *server) holds(before, after int64) {
	s.t.Helper()
	s.settled()
	seen := map[string]int{}
	rows := s.feed()
	for _, row := range rows {
		seen[row["id"].(string)]++
	}
	for n := range before {
		if seen[fmt.Sprintf("event-%d", n)] != 1 {
			s.t.Errorf("event-%d is there %d times", n, seen[fmt.Sprintf("event-%d", n)])
		}
	}
	if int64(len(rows)) > after || len(seen) != len(rows) {
		s.t.Errorf("%d rows of %d ids, %d were sent", len(rows), len(seen), after)
	}
	if pageviews := s.overview()["pageviews"]; pageviews != float64(len(rows)) {
		s.t.Errorf("%v page views of %d rows", pageviews, len(rows))
	}
}

// TestABackupOfAServingNodeIsRestoredIntoAnEmptyFolder makes backups under load, restores one, and counts.
func TestABackupOfAServingNodeIsRestoredIntoAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, map[string]string{"SVC_FLUSH_INTERVAL": "1s"})
	goal := s.post(appPath+"/goals", `{"name":"kept","kind":"event","match":"signup"}`)
	l := s.load()
	defer l.stop()
	eventually(t, "something is accepted", func() error {
		if l.accepted.Load() < 100 {
			return fmt.Errorf("%d", l.accepted.Load())
		}
		return nil
	})
	kept := filepath.Join(t.TempDir(), "backup")
	before := l.accepted.Load()
	printed, err := s.backUp(kept)
	if err != nil {
		t.Fatal(err)
	}
	after := l.accepted.Load() + 1
	if !strings.Contains(printed, "master key") || !strings.Contains(printed, backup.KeyInside) {
		t.Errorf("the command says\n%s", printed)
	}
	if _, err := s.backUp(kept); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a backup over another one: %v", err)
	}
	l.stop()
	boot := s.boot
	s.stopped()

	if _, _, err := restored(t, kept, map[string]string{"SVC_PARTITIONS": "8"}); err == nil || !strings.Contains(err.Error(), "SVC_PARTITIONS=4") {
		t.Errorf("with another number of partitions: %v", err)
	}
	folder, printed, err := restored(t, kept, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	t.Logf("\n%s", printed)
	raw, err := os.ReadFile(filepath.Join(dir, "bootstrap.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "bootstrap.json"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	again := startServer(t, folder, nil)
	if again.boot.Token != boot.Token {
		t.Fatal("the test reads another bootstrap file")
	}
	again.holds(before, after)
	if goals := again.get(appPath + "/goals")["data"].([]any); len(goals) != 1 || goals[0].(map[string]any)["id"] != goal["id"] {
		t.Errorf("goals %v, want %v", goals, goal)
	}
	again.send(item("later", "me", "/", time.Now()))
	again.settled()
	if rows := again.feed(); rows[0]["id"] != "later" {
		t.Errorf("the newest event is %v", rows[0])
	}
	again.stopped()
	if _, _, err := restoredInto(t, kept, folder); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a folder that is not empty: %v", err)
	}
	damage(t, filepath.Join(kept, backup.LogFile))
	if _, _, err := restored(t, kept, nil); err == nil || !strings.Contains(err.Error(), backup.LogFile+" has changed") {
		t.Errorf("a damaged backup: %v", err)
	}
}

// TestARestoreOverALogFollowsIt restores a backup over a log to which its server wrote further decisions after the
// backup. All of these decisions hold, including deletions.
func TestARestoreOverALogFollowsIt(t *testing.T) {
	addr := freeAddress(t)
	log, err := broker.Open(broker.Config{Dir: t.TempDir(), Topics: []string{ingestTopic}, Partitions: 4, Addr: addr, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	dir := t.TempDir()
	s := startServer(t, dir, map[string]string{"SVC_KAFKA_BROKERS": addr})
	goal := func(name string) string {
		made := s.post(appPath+"/goals", fmt.Sprintf(`{"name":%q,"kind":"event","match":%q}`, name, name))
		return made["id"].(string)
	}
	kept, dropped := goal("kept"), goal("dropped")
	s.send(item("before", "me", "/", time.Now()))
	s.settled()
	backedUp := filepath.Join(t.TempDir(), "backup")
	if _, err := s.backUp(backedUp); err != nil {
		t.Fatal(err)
	}
	if got := s.call("DELETE", appPath+"/goals/"+dropped, s.boot.Token, nil, nil); got.status != http.StatusNoContent {
		t.Fatalf("deleting a goal: %d %s", got.status, got.body)
	}
	later := goal("later")
	s.send(item("after", "me", "/", time.Now()))
	s.settled()
	eventually(t, "the log holds the whole state", func() error { return owned.CheckComplete(context.Background(), s.node.stateLog, 4) })
	s.stopped()

	folder, printed, err := restored(t, backedUp, map[string]string{"SVC_KAFKA_BROKERS": addr})
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "bootstrap.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "bootstrap.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	again := startServer(t, folder, map[string]string{"SVC_KAFKA_BROKERS": addr})
	again.settled()
	var goals []string
	for _, one := range again.get(appPath + "/goals")["data"].([]any) {
		goals = append(goals, one.(map[string]any)["id"].(string))
	}
	if want := []string{kept, later}; !slices.Equal(slices.Sorted(slices.Values(goals)), slices.Sorted(slices.Values(want))) {
		t.Errorf("goals are %v, want %v without %s", goals, want, dropped)
	}
	if rows := again.feed(); len(rows) != 2 {
		t.Errorf("%d events are there, want both", len(rows))
	}
	if check, err := again.node.db.CheckLedger(t.Context(), "acme"); err != nil || check.BrokenAt != 0 {
		t.Errorf("the ledger: %+v, %v", check, err)
	}
}

// TestABackupOfTwoStoresIsRestoredIntoTwoOthers backs up a server with environments on two stores, one of them moved
// there, while it receives events. It restores the backup into two empty stores: every environment has its events,
// once, on its shard.
func TestABackupOfTwoStoresIsRestoredIntoTwoOthers(t *testing.T) {
	list := func() (addrs []string, env map[string]string) {
		addrs = []string{startStore(t), startStore(t)}
		return addrs, map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + addrs[0] + "/ http://" + addrs[1] + "/"}
	}
	_, env := list()
	dir, copies := t.TempDir(), t.TempDir()
	s := startServer(t, dir, env)
	other := s.another(t)
	one := &tenant{server: s, path: appPath, key: s.boot.Keys["production"].Secret}
	one.publish(30)
	other.publish(20)
	one.stored()
	other.stored()
	goal := s.post(appPath+"/goals", `{"name":"kept","kind":"event","match":"signup"}`)
	if _, err := s.move(1); err != nil {
		t.Fatal(err)
	}
	one.publish(5)
	other.publish(5)
	places := []string{"--store", "File('" + filepath.Join(copies, "0") + "')", "--store", "File('" + filepath.Join(copies, "1") + "')"}
	kept := filepath.Join(t.TempDir(), "backup")
	for _, wrong := range [][]string{nil, places[:2], append(places[:4:4], places[:2]...)} {
		if _, err := s.backUp(kept, wrong...); err == nil || !strings.Contains(err.Error(), "lists 2 servers") {
			t.Errorf("with the places %q: %v", wrong, err)
		}
	}
	if printed, err := s.backUp(kept, places...); err != nil || !strings.Contains(printed, "store 1, in File(") {
		t.Fatal(printed, err)
	}
	one.publish(1) // after the backup
	s.stopped()

	if _, _, err := restored(t, kept, map[string]string{"SVC_CLICKHOUSE_DSN": "http://" + freeAddress(t) + "/"}); err == nil || !strings.Contains(err.Error(), "has 2 stores, and 1 are configured") {
		t.Errorf("into one store: %v", err)
	}
	addrs, env := list()
	folder, printed, err := restored(t, kept, env)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "bootstrap.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "bootstrap.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	again := startServer(t, folder, env)
	one.server, other.server, one.sent = again, again, one.sent-1
	one.stored()
	other.stored()
	one.publish(3)
	one.stored()
	again.settled()
	found, err := again.node.environmentOf("acme/web", "production")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(rowsIn(addrs[1], found.Number, one.sent), rowsIn(addrs[0], found.Number, 0)); err != nil {
		t.Error(err)
	}
	if goals := again.get(appPath + "/goals")["data"].([]any); len(goals) != 1 || goals[0].(map[string]any)["id"] != goal["id"] {
		t.Errorf("goals %v, want %v", goals, goal)
	}
}

func restoredInto(t *testing.T, dir, folder string) (string, string, error) {
	t.Helper()
	t.Setenv("SVC_DATA_DIR", folder)
	return folder, "", runRestore(t.Context(), []string{dir}, io.Discard, io.Discard)
}

// damage appends a byte to a file.
func damage(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(" "); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
