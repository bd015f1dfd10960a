package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/storage/kafka"
)

// TestTheLogForgetsAnErasedPerson erases a person on a server that receives nothing afterwards. After SVC_LOG_RETENTION
// it searches all files of the log for the person and for the address of the client.
func TestTheLogForgetsAnErasedPerson(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir, map[string]string{"SVC_ERASURE_DELAY": "300ms", "SVC_LOG_RETENTION": "3m", "SVC_TRUSTED_PROXIES": "127.0.0.1"})
	const address, email = "2001:db8:5eed:cafe:1:2:3:4", "quiet.quux@plant.example"
	traces := map[string]string{"distinct id": "quiet-device-1", "e-mail": email, "client address": address}
	identify := map[string]any{"type": "identify", "id": "quiet-1", "distinctId": "quiet-device-1", "traits": map[string]any{"email": email}}
	body, err := json.Marshal(map[string]any{"items": []any{item("quiet-0", "quiet-device-1", "/quiet", time.Now()), identify}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Public, body, map[string]string{"X-Forwarded-For": address, "Origin": "https://acme.example"}); got.status != 202 {
		t.Fatalf("sending: %d %s", got.status, got.body)
	}
	s.settled()
	s.erase(t, "quiet-device-1")
	for trace, text := range traces {
		if filesOfLog(t, dir, text) == nil {
			t.Errorf("before the time of the log has passed no file of it holds the %s", trace)
		}
	}
	soon(t, s.node.newRetention())
	eventuallyFiles(t, "no file of the log holds the person", func() error {
		for trace, text := range traces {
			if found := filesOfLog(t, dir, text); found != nil {
				return fmt.Errorf("the %s is in %v", trace, found)
			}
		}
		return nil
	})
	s.send(item("after-1", "somebody", "/after", time.Now()))
	s.settled()
	if events := s.feed(); len(events) != 1 {
		t.Errorf("afterwards %d events are stored, want the one that came last", len(events))
	}
}

// soon runs a retention. Each round is a minute after the previous one.
func soon(t *testing.T, retention *kafka.Retention) {
	t.Helper()
	now := time.Now()
	retention.Every = time.Millisecond
	retention.Now = func() time.Time {
		now = now.Add(time.Minute)
		return now
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- retention.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// filesOfLog returns the files of the log that contain a text.
func filesOfLog(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	log := filepath.Join(dir, "log")
	err := filepath.WalkDir(log, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // the log removes files meanwhile
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // the log removed it
		}
		if bytes.Contains(content, []byte(text)) {
			found = append(found, strings.TrimPrefix(path, log))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
