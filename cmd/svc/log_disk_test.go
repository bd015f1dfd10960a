package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// breakLogVariable names a file. Once the file exists, the disk under the journal of the child's log fails.
const breakLogVariable = "SVC_TEST_BREAK_LOG"

// breakLogOnce waits for the file. Then it makes every later sync of the journal fail: writes to the null device
// succeed, but it cannot be synced.
func breakLogOnce(file string) error {
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name()))
		if err != nil || !strings.HasPrefix(filepath.Base(target), "journal-") {
			continue
		}
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			return err
		}
		if err := unix.Dup3(int(null.Fd()), fd, unix.O_CLOEXEC); err != nil {
			return err
		}
	}
	return nil
}

// TestAServerWhoseLogCannotBeForcedEnds sends events until the disk of the log fails. The process ends and names the
// cause. It does not advise TLS. The next start serves every accepted event once.
func TestAServerWhoseLogCannotBeForcedEnds(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "break")
	env := map[string]string{"SVC_LOG_SYNC": "always", breakLogVariable: file}
	s := startChild(t, dir, env)
	accepted, sent := 0, 0
	send := func() (int, error) {
		sent++
		body := fmt.Sprintf(`{"items":[{"type":"event","id":"event-%d","name":"bought","distinctId":"visitor"}]}`, sent-1)
		got, err := s.try("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, []byte(body), nil)
		return got.status, err
	}
	for range 20 {
		if status, err := send(); err != nil || status != http.StatusAccepted {
			t.Fatalf("event %d: %d, %v", sent, status, err)
		}
		accepted++
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "an event is not accepted any more", func() error {
		status, err := send()
		if err == nil && status == http.StatusAccepted {
			accepted++
			return errors.New("it was accepted")
		}
		return nil
	})
	state, logs := s.ended()
	if state.ExitCode() != 1 {
		t.Errorf("the process ended with %s, want status 1", state)
	}
	if cause := "the disk of " + filepath.Join(dir, "log") + " failed"; !strings.Contains(logs, cause) || strings.Contains(logs, "TLS") || strings.Count(logs, "\n") > 200 {
		t.Errorf("want one cause, %q, and no flood of consequences:\n%.5000s", cause, logs)
	}

	again := startServer(t, dir, map[string]string{"SVC_LOG_SYNC": "always"})
	again.boot.Keys, again.boot.Token = s.boot.Keys, s.boot.Token
	again.settled()
	seen := map[string]int{}
	for _, row := range again.feed() {
		seen[row["id"].(string)]++
	}
	for n := range sent {
		id := fmt.Sprintf("event-%d", n)
		if seen[id] > 1 || n < accepted && seen[id] != 1 {
			t.Errorf("%s is there %d times; %d of %d events were accepted", id, seen[id], accepted, sent)
		}
	}
}
