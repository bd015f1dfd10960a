package harness

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Store is a store in a separate process, which all nodes reach by its address.
type Store struct {
	// Program is storage/chdb/serve.
	Program string
	// Dir holds the data and the log.
	Dir string
	// Address is its network address.
	Address string

	process *Process
}

const (
	// StoreReadyTime limits the wait for a store that starts.
	StoreReadyTime = time.Minute
	storeStopTime  = 30 * time.Second
)

// Open starts the store, over its existing data, and waits until it answers.
func (s *Store) Open(ctx context.Context) error {
	program, err := filepath.Abs(s.Program)
	if err != nil {
		return fmt.Errorf("finding the store: %w", err)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("making the directory: %w", err)
	}
	s.process, err = StartProcess(Unpinned, nil, filepath.Join(s.Dir, "store.log"), program, "-addr", s.Address, "-dir", filepath.Join(s.Dir, "store"))
	if err != nil {
		return err
	}
	return Poll(ctx, "the store", StoreReadyTime, 20*time.Millisecond, func(ctx context.Context) (bool, string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/?query="+url.QueryEscape("SELECT 1"), http.NoBody)
		if err != nil {
			return false, err.Error()
		}
		response, err := (&http.Client{}).Do(request) // the context limits it
		if err != nil {
			return false, err.Error()
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK, response.Status
	})
}

// DSN is the address of the store in a server's settings.
func (s *Store) DSN() string { return "http://" + s.Address + "/svc" }

// Pause suspends the store, with its connections open, until it is killed.
func (s *Store) Pause() error {
	if err := syscall.Kill(s.process.PID(), syscall.SIGSTOP); err != nil {
		return fmt.Errorf("pausing the store: %w", err)
	}
	return nil
}

// Kill ends the store as kill -9 does.
func (s *Store) Kill() {
	if s != nil && s.process != nil {
		s.process.Kill()
	}
}

// Stop stops the store in order.
func (s *Store) Stop() error {
	if s == nil {
		return nil
	}
	return s.process.Stop(storeStopTime)
}
