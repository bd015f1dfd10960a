package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// readyTime limits the start of a server.
const readyTime = 60 * time.Second

// stopTime limits its orderly end.
const stopTime = 30 * time.Second

// Settings describe a server under test.
type Settings struct {
	// Binary is the program svc.
	Binary string
	// Dir holds data, the bootstrap file and the server's log.
	Dir string
	// Sync is SVC_LOG_SYNC: always or os.
	Sync string
	// Flush is SVC_FLUSH_INTERVAL, 500 ms if it is empty.
	Flush string
	// CPU is the server's processor, or Unpinned.
	CPU int
	// Environment overrides and adds variables, as NAME=value.
	Environment []string
}

// Bootstrap is the file that the first start writes.
type Bootstrap struct {
	Organization string             `json:"organization"`
	App          string             `json:"app"`
	Token        string             `json:"token"`
	Keys         map[string]KeyPair `json:"keys"`
	URL          string             `json:"url"`
}

// KeyPair are the ingest keys of an environment.
type KeyPair struct {
	Public string `json:"public"`
	Secret string `json:"secret"`
}

// Server is a server under test. It retains its addresses and its data across restarts.
type Server struct {
	Settings
	Bootstrap
	// Address serves ingest and the management API, Admin serves metrics and health.
	Address string
	Admin   string

	process *Process
	client  *http.Client
}

// NewServer chooses the addresses; it starts nothing.
func NewServer(ctx context.Context, settings Settings) (*Server, error) {
	s := &Server{Settings: settings, client: &http.Client{Timeout: requestTime, Transport: &http.Transport{DisableCompression: true}}}
	var err error
	if s.Binary, err = filepath.Abs(settings.Binary); err != nil {
		return nil, fmt.Errorf("finding the server: %w", err)
	}
	if err := os.MkdirAll(s.DataDir(), 0o755); err != nil {
		return nil, fmt.Errorf("making the directory: %w", err)
	}
	if s.Address, err = FreeAddress(ctx); err != nil {
		return nil, err
	}
	s.Admin, err = FreeAddress(ctx)
	return s, err
}

// DataDir is the server's data directory.
func (s *Server) DataDir() string { return filepath.Join(s.Dir, "data") }

// LogFile holds the server's output.
func (s *Server) LogFile() string { return filepath.Join(s.Dir, "server.log") }

// bootstrapFile is the file that the first start writes.
func (s *Server) bootstrapFile() string { return filepath.Join(s.Dir, "bootstrap.json") }

// Join gives a further node the organization and the keys that the first node's start created.
func (s *Server) Join(first *Server) error {
	text, err := os.ReadFile(first.bootstrapFile())
	if err != nil {
		return fmt.Errorf("reading what the first start made: %w", err)
	}
	if err := os.WriteFile(s.bootstrapFile(), text, 0o600); err != nil {
		return fmt.Errorf("copying what the first start made: %w", err)
	}
	return nil
}

// Start starts the server and does not wait for it.
func (s *Server) Start() error {
	flush := s.Flush
	if flush == "" {
		flush = "500ms"
	}
	environment := append([]string{
		"SVC_HTTP_ADDR=" + s.Address, "SVC_ADMIN_ADDR=" + s.Admin, "SVC_DATA_DIR=" + s.DataDir(),
		"SVC_BOOTSTRAP_FILE=" + s.bootstrapFile(), "SVC_LOG_SYNC=" + s.Sync,
		"SVC_FLUSH_INTERVAL=" + flush, "SVC_RATE_LIMIT=0", "SVC_LOG_LEVEL=info",
	}, s.Environment...)
	process, err := StartProcess(s.CPU, environment, s.LogFile(), s.Binary, "serve")
	if err != nil {
		return err
	}
	s.process = process
	return nil
}

// Open starts the server, waits until it serves, and returns the time that this took.
func (s *Server) Open(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := s.Start(); err != nil {
		return 0, err
	}
	if err := s.AwaitReady(ctx); err != nil {
		s.Kill()
		return 0, err
	}
	return time.Since(began), nil
}

// AwaitReady waits until the server serves and reads the bootstrap file.
func (s *Server) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.process.Exited():
			cancel(fmt.Errorf("the server ended without a signal; see %s", s.LogFile()))
		case <-ctx.Done():
		}
	}()
	err := Poll(ctx, "readiness", readyTime, 2*time.Millisecond, func(ctx context.Context) (bool, string) {
		status, body, err := s.get(ctx, "http://"+s.Admin+"/readyz", "")
		if err != nil {
			return false, err.Error()
		}
		return status == http.StatusOK, fmt.Sprintf("status %d: %.200s", status, body)
	})
	if err != nil {
		return err
	}
	// The file may follow readiness on the very first start.
	return Poll(ctx, "the bootstrap file", readyTime, 5*time.Millisecond, func(context.Context) (bool, string) {
		if err := s.readBootstrap(); err != nil {
			return false, err.Error()
		}
		return true, ""
	})
}

func (s *Server) readBootstrap() error {
	text, err := os.ReadFile(s.bootstrapFile())
	if err != nil {
		return fmt.Errorf("reading the bootstrap file: %w", err)
	}
	if err := json.Unmarshal(text, &s.Bootstrap); err != nil {
		return fmt.Errorf("reading the bootstrap file: %w", err)
	}
	if s.Token == "" || s.Keys["production"].Secret == "" {
		return errors.New("reading the bootstrap file: it lacks the token or the keys of production")
	}
	return nil
}

// PID returns the number of the running process.
func (s *Server) PID() int { return s.process.PID() }

// Kill ends the server as kill -9 does.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.client.CloseIdleConnections()
	}
}

// Stop stops the server in order.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	s.client.CloseIdleConnections()
	return s.process.Stop(stopTime)
}
