package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc"
	"svc/http/admin"
	"svc/http/route"
)

// Pauses between two attempts of a step of the start.
const (
	startPause     = 250 * time.Millisecond
	startLongPause = 5 * time.Second
)

// slowStart is how often the log names a step of the start that takes long.
const slowStart = 10 * time.Second

// start is the progress of a node that does not serve yet.
type start struct {
	mu      sync.Mutex
	doing   string
	problem error
	done    bool
}

// note sets what the start is doing, and the problem for which it tries again.
func (s *start) note(doing string, problem error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing, s.problem = doing, problem
}

// finish marks the start as over: the node serves, and the secrets of a first start were shown.
func (s *start) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
}

// ready is the check of readiness: nil once the start is over.
func (s *start) ready(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.done:
		return nil
	case s.problem != nil:
		return fmt.Errorf("%s, again: %w", s.doing, s.problem)
	}
	return errors.New(s.doing)
}

// step performs a step of the start, again while what it needs is away.
func (n *node) step(ctx context.Context, doing string, open func(ctx context.Context) error) error {
	n.start.note(doing, nil)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go n.logSlowStart(watching, doing)
	for pause := startPause; ; pause = min(2*pause, startLongPause) {
		err := open(ctx)
		if err == nil {
			return nil
		}
		if svc.CodeOf(err) != svc.CodeUnavailable || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		n.start.note(doing, err)
		n.logger.Warn("the start waits and tries again", "doing", doing, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
}

// logSlowStart notes in the log what a start is waiting for until ctx ends.
func (n *node) logSlowStart(ctx context.Context, doing string) {
	ticker := time.NewTicker(slowStart)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			n.logger.Warn("the start goes on", "doing", doing)
		case <-ctx.Done():
			return
		}
	}
}

// front is the operator's listener. It is bound before its handler is complete, so that a start that
// waits can say so at /readyz.
type front struct {
	handler atomic.Pointer[http.Handler]
	server  *route.Server
	stop    context.CancelFunc
	ended   chan error
}

// ServeHTTP implements net/http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*f.handler.Load()).ServeHTTP(w, r)
}

func (f *front) show(handler http.Handler) { f.handler.Store(&handler) }

// openFront binds the operator's listener.
func (n *node) openFront(ctx context.Context) (err error) {
	f := &front{ended: make(chan error, 1)}
	f.show(admin.Starting(admin.Config{Checks: []admin.Check{{Name: "start", Ready: n.start.ready}}, Hosts: n.adminHosts()}))
	if f.server, err = route.NewServer(n.config.AdminAddr, f, n.logger); err != nil {
		return err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	f.stop = stop
	go func() { f.ended <- f.server.Run(running) }()
	select {
	case n.operatorAddr = <-f.server.Bound():
		n.operator = f
		return nil
	case err := <-f.ended:
		stop()
		return err
	}
}

// run keeps the listener until ctx ends.
func (f *front) run(ctx context.Context) error {
	select {
	case err := <-f.ended:
		f.ended <- nil
		return err
	case <-ctx.Done():
		return f.close()
	}
}

// close ends the listener; further calls do nothing.
func (f *front) close() error {
	f.stop()
	err := <-f.ended
	f.ended <- nil
	return err
}
