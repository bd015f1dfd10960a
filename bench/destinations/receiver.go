package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

// receiver is a webhook's other end on this machine.
type receiver struct {
	server *http.Server
	url    string
	taken  atomic.Int64

	mu sync.Mutex
	// sent is when events were acknowledged, latency that of their arrivals. An arrival before the acknowledgement
	// counts as none.
	sent    map[string]time.Time
	early   map[string]time.Time
	latency harness.Latency
}

// newReceiver returns a receiver that holds each request for a time.
func newReceiver(ctx context.Context, hold time.Duration) (*receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	r := &receiver{url: "http://" + listener.Addr().String(), sent: map[string]time.Time{}, early: map[string]time.Time{}}
	r.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // its id is in the header
		r.arrive(request.Header.Get("Webhook-Id"), time.Now())
		if hold > 0 {
			select {
			case <-time.After(hold):
			case <-request.Context().Done():
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = r.server.Serve(listener) }() // it ends with close
	return r, nil
}

func (r *receiver) close() { _ = r.server.Close() } // it has nothing to save

// arrive notes the arrival of an event.
func (r *receiver) arrive(id string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sent, known := r.sent[id]; known {
		r.latency.Record(at.Sub(sent))
		delete(r.sent, id)
		r.taken.Add(1)
		return
	}
	r.early[id] = at
}

// acknowledged notes when events were acknowledged.
func (r *receiver) acknowledged(ids []string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if _, arrived := r.early[id]; arrived {
			r.latency.Record(0)
			delete(r.early, id)
			r.taken.Add(1)
			continue
		}
		r.sent[id] = at
	}
}

// begin forgets what was measured.
func (r *receiver) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latency = harness.Latency{}
	r.taken.Store(0)
}

// destination makes a destination for some events.
func (b *bench) destination(ctx context.Context, name string, to *receiver, events ...string) error {
	mapping := make([]map[string]string, len(events))
	for i, event := range events {
		mapping[i] = map[string]string{"event": event}
	}
	body, err := json.Marshal(map[string]any{"kind": "webhook", "name": name, "mapping": mapping, "config": map[string]string{"url": to.url}})
	if err != nil {
		return fmt.Errorf("encoding a destination: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.server.Address+"/console/api/v1/apps/acme/web/destinations", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making a request: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+b.session)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{}).Do(request) // the context bounds it
	if err != nil {
		return fmt.Errorf("making a destination: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if answer, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusCreated {
		return fmt.Errorf("making a destination: %d %s", response.StatusCode, answer)
	}
	return nil
}
