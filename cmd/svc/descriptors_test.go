package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestTooFewFilesAreSaidAtTheStart starts a process that would fail later, in the middle of its work.
func TestTooFewFilesAreSaidAtTheStart(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=1", filesVariable+"=256", "SVC_HTTP_ADDR=127.0.0.1:0", "SVC_ADMIN_ADDR=127.0.0.1:0", "SVC_DATA_DIR="+t.TempDir())
	output, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(output), "the process may open 256 files, and the embedded store needs 1024") {
		t.Errorf("%v: %s", err, output)
	}
}

// TestClientsDoNotTakeTheFilesOfTheLog opens more connections to a process than its file limit. Earlier work continues,
// and ingest works again once the connections are gone.
func TestClientsDoNotTakeTheFilesOfTheLog(t *testing.T) {
	s := startChild(t, t.TempDir(), map[string]string{filesVariable: "1024"})
	s.send(item("before", "me", "/", time.Now()))
	addr := strings.TrimPrefix(s.boot.URL, "http://")
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}()
	for range 1500 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
	}
	eventually(t, "the node is ready while clients hold every connection that they may have", func() error {
		if status, body, err := ready(s.operatorAddr()); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	for _, conn := range open {
		_ = conn.Close()
	}
	open = nil
	s.send(item("after", "me", "/", time.Now()))
	eventually(t, "both events are stored", func() error {
		if rows := s.feed(); len(rows) != 2 {
			return fmt.Errorf("%d rows", len(rows))
		}
		return nil
	})
}
