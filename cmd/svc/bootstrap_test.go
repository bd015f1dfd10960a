package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/cmd/svc/firststart"
	"svc/cmd/svc/settings"
	"svc/domain"
	"svc/storage/chdb"
)

// configured returns the configuration of a node over dir; env overrides it.
func configured(t *testing.T, dir string, env map[string]string) settings.Config {
	t.Helper()
	values := map[string]string{"SVC_HTTP_ADDR": "127.0.0.1:0", "SVC_ADMIN_ADDR": "127.0.0.1:0", "SVC_DATA_DIR": dir, "SVC_PARTITIONS": "4", "SVC_RATE_LIMIT": "0", "SVC_FLUSH_INTERVAL": "100ms"}
	maps.Copy(values, env)
	config, err := settings.Load(func(name string) (string, bool) { value, ok := values[name]; return value, ok })
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// refusalTime is how long a start that should be refused may run.
const refusalTime = time.Minute

// startOnce runs a node over dir until it ends, and returns its error: nil if it was not refused within refusalTime.
func startOnce(t *testing.T, dir string, env map[string]string, stdout io.Writer) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), refusalTime)
	defer cancel()
	return serve(ctx, newNode(configured(t, dir, env), slog.New(slog.DiscardHandler)), stdout)
}

// deaf is an output that accepts nothing.
type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// TestTheSecretsOfAFirstStartAreNotLost makes first starts fail before, while and after the secrets are created. Of all
// secrets, only the ones that the next start shows work.
func TestTheSecretsOfAFirstStartAreNotLost(t *testing.T) {
	dir := t.TempDir()
	missing := map[string]string{"SVC_BOOTSTRAP_FILE": filepath.Join(dir, "missing", "bootstrap.json")}
	if err := startOnce(t, dir, missing, io.Discard); err == nil || !strings.Contains(err.Error(), "SVC_BOOTSTRAP_FILE") {
		t.Fatalf("a bootstrap file in a folder that is not there: %v", err)
	}
	if err := startOnce(t, dir, nil, deaf{}); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Fatalf("secrets that could not be shown: %v", err)
	}
	s := startServer(t, dir, nil)
	s.get(appPath)
	s.send(item("first", "me", "/", time.Now()))
	owner, err := s.node.identity.KnownUser(t.Context(), firststart.Owner)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := s.node.identity.Tokens(t.Context(), domain.TokenOwner{User: owner})
	if err != nil || len(tokens) != 1 {
		t.Errorf("%d tokens, %v; want the one that was shown", len(tokens), err)
	}
	keys, err := s.node.apps.Keys(t.Context(), domain.AppRef{Org: firststart.Org, App: firststart.App})
	if err != nil || len(keys) != 6 {
		t.Errorf("%d keys, %v; want the six that were shown", len(keys), err)
	}
}

// ready queries a node's listener.
func ready(addr string) (status int, body string, err error) {
	response, err := http.Get("http://" + addr + "/readyz")
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// gate is an output that accepts nothing before it is opened.
type gate struct {
	open chan struct{}
	io.Writer
}

func (g gate) Write(p []byte) (int, error) { <-g.open; return g.Writer.Write(p) }

// TestANodeIsNotReadyBeforeItsSecretsWereShown checks readiness before they are shown.
func TestANodeIsNotReadyBeforeItsSecretsWereShown(t *testing.T) {
	addr := freeAddress(t)
	shown := gate{make(chan struct{}), io.Discard}
	release := sync.OnceFunc(func() { close(shown.open) })
	defer release()
	ended := background(t, t.TempDir(), map[string]string{"SVC_ADMIN_ADDR": addr}, shown)
	eventually(t, "everything but the first start is over", func() error {
		status, body, err := ready(addr)
		if err != nil || status != 503 || !strings.Contains(body, `"membership":"ok"`) || !strings.Contains(body, "first start") {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	release()
	eventually(t, "the node is ready", func() error {
		if status, body, err := ready(addr); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
	ended()
}

// background runs a node until the returned function is called.
func background(t *testing.T, dir string, env map[string]string, stdout io.Writer) (stop func()) {
	t.Helper()
	config := configured(t, dir, env)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, newNode(config, slog.New(slog.DiscardHandler)), stdout) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the node ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// TestAStartWaitsForTheStore starts a node that has never seen its store while the store is unavailable. The node
// reports it, and serves when the store returns. A node that is stopped while it waits ends in order.
func TestAStartWaitsForTheStore(t *testing.T) {
	library, err := chdb.FindLibrary("")
	if err != nil {
		t.Fatal(err)
	}
	engine, err := chdb.Open(context.Background(), chdb.Config{Library: library, Dir: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	store := newCable(t, func() (net.Conn, error) { return engine.DialContext(context.Background(), "") })
	store.pull()
	addr, dir := freeAddress(t), t.TempDir()
	env := map[string]string{"SVC_ADMIN_ADDR": addr, "SVC_CLICKHOUSE_DSN": "http://" + store.listener.Addr().String() + "/"}
	waits := func() {
		t.Helper()
		eventually(t, "the node says what it waits for", func() error {
			status, body, err := ready(addr)
			if err != nil || status != 503 || !strings.Contains(body, "looking at whose data this is, again") {
				return fmt.Errorf("%d %s %w", status, body, err)
			}
			return nil
		})
	}
	stop := background(t, dir, env, io.Discard)
	waits()
	stop()
	background(t, dir, env, io.Discard)
	waits()
	store.plug()
	eventually(t, "the node is ready", func() error {
		if status, body, err := ready(addr); err != nil || status != 200 {
			return fmt.Errorf("%d %s %w", status, body, err)
		}
		return nil
	})
}
