package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"svc/bench/harness"
)

// apartStore is a store in a process of its own, which all nodes reach by its address.
type apartStore struct {
	program, dir, addr string

	process *harness.Process
}

const (
	storeReadyTime = time.Minute
	storeStopTime  = 30 * time.Second
)

// open starts the store, over what it had, and waits until it answers.
func (s *apartStore) open(ctx context.Context) error {
	program, err := filepath.Abs(s.program)
	if err != nil {
		return fmt.Errorf("finding the store: %w", err)
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("making the directory: %w", err)
	}
	s.process, err = harness.StartProcess(harness.Unpinned, nil, filepath.Join(s.dir, "store.log"), program, "-addr", s.addr, "-dir", filepath.Join(s.dir, "store"))
	if err != nil {
		return err
	}
	return harness.Poll(ctx, "the store", storeReadyTime, 20*time.Millisecond, func(ctx context.Context) (bool, string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/?query="+url.QueryEscape("SELECT 1"), http.NoBody)
		if err != nil {
			return false, err.Error()
		}
		response, err := (&http.Client{}).Do(request) // the context bounds it
		if err != nil {
			return false, err.Error()
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, response.Status
	})
}

// kill ends the store as kill -9 does.
func (s *apartStore) kill() {
	if s != nil && s.process != nil {
		s.process.Kill()
	}
}

// stop ends the store in order.
func (s *apartStore) stop() error {
	if s == nil {
		return nil
	}
	return s.process.Stop(storeStopTime)
}
