package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

// receiver is a webhook's receiver on this machine.
type receiver struct {
	server *http.Server
	url    string
	taken  atomic.Int64
	// held counts the requests that were held.
	held atomic.Int64

	mu sync.Mutex
	// sent is when events were acknowledged, latency is the delay of their arrivals. An arrival before the
	// acknowledgement counts as zero.
	sent    map[string]time.Time
	early   map[string]time.Time
	latency harness.Latency
	// latencies are the individual values of latency.
	latencies []time.Duration
}

// newReceiver returns a receiver that holds each request for a time.
func newReceiver(ctx context.Context, hold time.Duration) (*receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	r := &receiver{url: "http://" + listener.Addr().String(), sent: map[string]time.Time{}, early: map[string]time.Time{}}
	r.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // the id is in the header
		r.arrive(request.Header.Get("Webhook-Id"), time.Now())
		if hold > 0 {
			r.held.Add(1)
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

// arrive records the arrival of an event.
func (r *receiver) arrive(id string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sent, known := r.sent[id]; known {
		r.record(at.Sub(sent))
		delete(r.sent, id)
		r.taken.Add(1)
		return
	}
	r.early[id] = at
}

// record records a latency; the caller holds the lock.
func (r *receiver) record(latency time.Duration) {
	r.latency.Record(latency)
	r.latencies = append(r.latencies, latency)
}

// exact returns the latencies since the measurement began.
func (r *receiver) exact() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.latencies)
}

// acknowledged records when events were acknowledged.
func (r *receiver) acknowledged(ids []string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if _, arrived := r.early[id]; arrived {
			r.record(0)
			delete(r.early, id)
			r.taken.Add(1)
			continue
		}
		r.sent[id] = at
	}
}

// begin resets the measurements.
func (r *receiver) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latency, r.latencies = harness.Latency{}, nil
	r.taken.Store(0)
}

// destinations is the path of the destinations of the application.
const destinations = "/apps/acme/web/destinations"

// destination creates a destination for an event and returns its id.
func (b *bench) destination(ctx context.Context, name string, to *receiver, event string) (id string, err error) {
	body, err := json.Marshal(map[string]any{"kind": "webhook", "name": name, "mapping": []map[string]string{{"event": event}}, "config": map[string]string{"url": to.url}})
	if err != nil {
		return "", fmt.Errorf("encoding a destination: %w", err)
	}
	answer, err := b.server.Console(ctx, b.session, http.MethodPost, destinations, body, http.StatusCreated)
	if err != nil {
		return "", fmt.Errorf("making a destination: %w", err)
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(answer, &made); err != nil || made.ID == "" {
		return "", errors.Join(err, fmt.Errorf("reading a destination: %.300s", answer))
	}
	return made.ID, nil
}

// remove deletes a destination.
func (b *bench) remove(ctx context.Context, id string) error {
	if _, err := b.server.Console(ctx, b.session, http.MethodDelete, destinations+"/"+id, nil, http.StatusNoContent); err != nil {
		return fmt.Errorf("deleting a destination: %w", err)
	}
	return nil
}
