package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"svc/cmd/svc/firststart"
	"svc/cmd/svc/settings"
)

// server is a complete node in this process, with its own data directory.
type server struct {
	t       testing.TB
	node    *node
	dir     string
	boot    firststart.Secrets
	output  *lockedBuffer
	stopped func()
	// ended waits until a child of startChild has ended by itself, and returns its state and its log.
	ended func() (*os.ProcessState, string)
	// env is the environment with which a node of startNodes was started.
	env map[string]string
}

// lockedBuffer holds the output of the server.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// patience limits every wait of these tests; it is long because CI is slow.
const patience = 60 * time.Second

// startServer starts a node over dir; env overrides the configuration.
func startServer(t testing.TB, dir string, env map[string]string) *server {
	t.Helper()
	return startServerWith(t, dir, env, nil)
}

// startServerWith starts a node with the modules that more returns, in addition to the product's; more may be nil.
func startServerWith(t testing.TB, dir string, env map[string]string, more func(n *node) []module) *server {
	t.Helper()
	values := map[string]string{
		"SVC_HTTP_ADDR": "127.0.0.1:0", "SVC_ADMIN_ADDR": "127.0.0.1:0", "SVC_DATA_DIR": dir, "SVC_RATE_LIMIT": "0",
		"SVC_BOOTSTRAP_FILE": filepath.Join(dir, "bootstrap.json"), "SVC_PARTITIONS": "4", "SVC_FLUSH_INTERVAL": "100ms",
	}
	maps.Copy(values, env)
	config, err := settings.Load(func(name string) (string, bool) { value, ok := values[name]; return value, ok })
	if err != nil {
		t.Fatal(err)
	}
	if config.ClickHouseDSN == "" {
		empty.copyInto(t, dir)
	}
	logs := &lockedBuffer{}
	s := &server{t: t, dir: dir, output: &lockedBuffer{}}
	ctx, cancel := context.WithCancel(context.Background())
	n := newNode(config, slog.New(slog.NewTextHandler(logs, nil)))
	if more != nil {
		n.more = more(n)
	}
	if err := n.open(ctx); err != nil {
		cancel()
		_ = n.close()
		t.Fatal(err)
	}
	s.node = n
	ended := make(chan error, 1)
	go func() { ended <- n.run(ctx, s.output) }()
	s.stopped = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		if err := n.close(); err != nil {
			t.Errorf("closing the server: %v", err)
		}
		if t.Failed() {
			t.Log(logs.String())
		}
	})
	t.Cleanup(s.stopped)
	eventually(t, "the server says that it serves", func() error {
		if s.output.String() == "" {
			return fmt.Errorf("it printed nothing; its log: %s", logs.String())
		}
		return nil
	})
	raw, err := os.ReadFile(values["SVC_BOOTSTRAP_FILE"])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &s.boot); err != nil {
		t.Fatal(err)
	}
	s.boot.URL = "http://" + n.publicAddr.String()
	return s
}

// eventually repeats a check until it holds.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	eventuallyWithin(t, patience, 20*time.Millisecond, what, check)
}

// eventuallyFiles repeats a check that reads all files of a folder. It is patient: the engine removes replaced files in
// rounds of up to 40 seconds, and a file that is in use one round later.
func eventuallyFiles(t testing.TB, what string, check func() error) {
	t.Helper()
	eventuallyWithin(t, 4*patience, 500*time.Millisecond, what, check)
}

func eventuallyWithin(t testing.TB, limit, pause time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting until %s: %v", what, err)
		}
		time.Sleep(pause)
	}
}

// answer is an answer of the server.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends one request.
func (s *server) call(method, path, token string, body []byte, header map[string]string) answer {
	s.t.Helper()
	got, err := s.try(method, path, token, body, header)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// try sends one request to a server that may not answer.
func (s *server) try(method, path, token string, body []byte, header map[string]string) (answer, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, s.boot.URL+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, content}, err
}

// get reads a management path with the first token.
func (s *server) get(path string) map[string]any {
	s.t.Helper()
	got := s.call("GET", path, s.boot.Token, nil, nil)
	if got.status != 200 {
		s.t.Fatalf("GET %s: %d %s", path, got.status, got.body)
	}
	return object(s.t, got.body)
}

func object(t testing.TB, body []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("decoding %s: %v", body, err)
	}
	return out
}

// send posts a batch with the production secret key and expects that all items are accepted.
func (s *server) send(items ...map[string]any) {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.call("POST", "/api/v1/batch", s.boot.Keys["production"].Secret, body, nil)
	if got.status != 202 || object(s.t, got.body)["accepted"] != float64(len(items)) {
		s.t.Fatalf("sending %d items: %d %s", len(items), got.status, got.body)
	}
}

// settled waits until everything that was accepted is stored.
func (s *server) settled() {
	s.t.Helper()
	eventually(s.t, "everything is stored", func() error {
		if lag := s.node.backlog.Lag(context.Background()); lag != 0 {
			return fmt.Errorf("%d records are not", lag)
		}
		return nil
	})
}

const appPath = "/api/v1/apps/acme/web"

// feed reads all events of production, page by page.
func (s *server) feed() []map[string]any {
	s.t.Helper()
	var all []map[string]any
	for cursor := ""; ; {
		page := s.get(appPath + "/events?limit=500" + cursor)
		for _, row := range page["data"].([]any) {
			all = append(all, row.(map[string]any))
		}
		next, more := page["nextCursor"].(string)
		if !more {
			return all
		}
		cursor = "&cursor=" + next
	}
}
