package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// script defines the model's answers: the number of fragments and the pause between them.
type script struct {
	count int
	gap   time.Duration
}

// scripted is the model: every fragment of its answers contains the instant of its sending.
type scripted struct {
	url    string
	server *http.Server
	script atomic.Pointer[script]
}

func (s *scripted) close() { _ = s.server.Close() } // its requests end with it

// plays sets the model's script from the next request on.
func (s *scripted) plays(next script) { s.script.Store(&next) }

func serveModel(ctx context.Context) (*scripted, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the model: %w", err)
	}
	s := &scripted{url: "http://" + listener.Addr().String()}
	s.plays(script{count: 1})
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

const (
	fragmentFormat = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"s","choices":[{"index":0,"delta":{"content":"%d "},"finish_reason":null}]}` + "\n\n"
	lastFragment   = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"s","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
)

// ServeHTTP answers a round.
func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the question does not matter
	w.Header().Set("Content-Type", "text/event-stream")
	flusher, now := http.NewResponseController(w), s.script.Load()
	next := time.Now()
	for range now.count {
		fmt.Fprintf(w, fragmentFormat, time.Now().UnixNano())
		if flusher.Flush() != nil {
			return
		}
		if now.gap > 0 {
			next = next.Add(now.gap)
			time.Sleep(time.Until(next))
		}
	}
	fmt.Fprint(w, lastFragment)
}
