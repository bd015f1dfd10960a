package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc/bench/bare"
	"svc/bench/harness"
)

// target is the checked server, and the hook that receives notices.
type target struct {
	address string
	server  *http.Server
	body    []byte

	mu sync.Mutex
	// last is when each path was last checked. gaps is the deviation of the time between two checks of a path from a
	// second, checks their number.
	last   map[string]time.Time
	gaps   harness.Latency
	checks uint64
	// bad are the paths that fail, failed is when each one first failed.
	bad    map[string]bool
	failed map[string]time.Time
	// told is when the hook received the notice of a rule.
	told map[string]time.Time
}

func newTarget(ctx context.Context) (*target, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	body := append(bytes.Repeat([]byte("."), bodyBytes-len(bare.CheckText)), bare.CheckText...)
	t := &target{address: "http://" + listener.Addr().String(), body: body, last: map[string]time.Time{}, bad: map[string]bool{}, failed: map[string]time.Time{}, told: map[string]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook", t.hear)
	mux.HandleFunc("GET /", t.answer)
	t.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		if err := t.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Println("the target ended:", err)
		}
	}()
	return t, nil
}

func (t *target) close() { _ = t.server.Close() }

// answer is the target of checks.
func (t *target) answer(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	t.mu.Lock()
	if last, known := t.last[r.URL.Path]; known {
		t.gaps.Record((now.Sub(last) - time.Second).Abs())
	}
	t.last[r.URL.Path] = now
	t.checks++
	bad := t.bad[r.URL.Path]
	if bad && t.failed[r.URL.Path].IsZero() {
		t.failed[r.URL.Path] = now
	}
	t.mu.Unlock()
	if bad {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(t.body) // a client that has gone needs no answer
}

// bodyBytes is the length of the target's answers.
const bodyBytes = 240

// hear is the webhook.
func (t *target) hear(_ http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var body struct {
		Event    string `json:"event"`
		Incident struct {
			RuleName string `json:"ruleName"`
		} `json:"incident"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Event != "open" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told[body.Incident.RuleName].IsZero() {
		t.told[body.Incident.RuleName] = now
	}
}

func (t *target) fail(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bad[path] = true
}

// heard waits for the notice of a rule and returns the time of its arrival.
func (t *target) heard(ctx context.Context, rule string) (at time.Time, err error) {
	err = harness.Poll(ctx, "the notice of "+rule, time.Minute, time.Millisecond, func(context.Context) (bool, string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		at = t.told[rule]
		return !at.IsZero(), "none"
	})
	return at, err
}

// forget resets all counts to zero.
func (t *target) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.gaps, t.checks = map[string]time.Time{}, harness.Latency{}, 0
}

// seen returns the number of checks since forget, and their deviation from the interval.
func (t *target) seen() (checks uint64, gaps harness.Spread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.checks, t.gaps.Spread()
}

// asked returns the number of the many monitors' paths that were checked since forget.
func (t *target) asked() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for path := range t.last {
		if strings.HasPrefix(path, "/many/") {
			n++
		}
	}
	return n
}
