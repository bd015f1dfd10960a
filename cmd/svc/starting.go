package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"svc/actors/identity"
	"svc/cmd/svc/firststart"
	"svc/domain"
	"svc/http/admin"
	"svc/http/route"
)

// Pauses between two attempts of a step of the start.
const (
	startPause     = 250 * time.Millisecond
	startLongPause = 5 * time.Second
)

// slowStart is the interval at which the log names a slow step of the start.
const slowStart = 10 * time.Second

// step performs a step of the start, and retries it while its dependency is unavailable.
func (n *node) step(ctx context.Context, doing string, open func(ctx context.Context) error) error {
	n.start.Note(doing, nil)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	go n.logSlowStart(watching, doing)
	for pause := startPause; ; pause = min(2*pause, startLongPause) {
		err := open(ctx)
		if err == nil {
			return nil
		}
		if domain.CodeOf(err) != domain.CodeUnavailable || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		n.start.Note(doing, err)
		n.logger.Warn("the start waits and tries again", "doing", doing, "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", doing, err)
		}
	}
}

// logSlowStart logs the step that a start waits for, until ctx ends.
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

// greetPause and greetLongPause limit the time between two attempts of the first start.
const (
	greetPause     = 500 * time.Millisecond
	greetLongPause = 10 * time.Second
)

// greet waits for the listener, performs the first start if this is one, and prints the next steps. The node is ready
// afterwards.
func (n *node) greet(ctx context.Context, stdout io.Writer) error {
	select {
	case n.publicAddr = <-n.public.Bound():
	case <-ctx.Done():
		return nil
	}
	made, err := n.firstStart(ctx, stdout)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a stop is no failure
	}
	if err != nil {
		return fmt.Errorf("preparing the first start: %w", err)
	}
	n.logger.Info("serving", "url", n.url(), "admin", "http://"+n.operatorAddr.String())
	if !made {
		fmt.Fprintf(stdout, "svc serves %s (operator: http://%s)\n", n.url(), n.operatorAddr)
	}
	n.start.Finish()
	return nil
}

// firstStart creates and prints the results of a first start. It retries while the store is unavailable or partitions
// have no owner.
func (n *node) firstStart(ctx context.Context, stdout io.Writer) (made bool, err error) {
	if n.belongs.FirstStarted() {
		return false, nil
	}
	const doing = "looking whether this is the first start"
	first := &firststart.FirstStart{
		Store: n.db, Identity: n.identity, Applications: n.apps, Replays: &identity.Replays{Actors: n.cluster}, Ledger: n.ledgers(), SetupLink: n.setupLink,
		URL: n.url(), Operator: n.operatorAddr.String(), File: n.config.BootstrapFile, Now: n.now,
	}
	n.start.Note(doing, nil)
	for pause := greetPause; ; pause = min(2*pause, greetLongPause) {
		made, err = first.Run(ctx, stdout)
		if err == nil {
			return made, n.belongs.NoteFirstStart()
		}
		if domain.CodeOf(err) != domain.CodeUnavailable {
			return made, err
		}
		n.start.Note(doing, err)
		n.logger.Warn("trying the first start again", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, err
		}
	}
}

// url returns the base URL of the service for clients.
func (n *node) url() string {
	return n.config.URLAt(n.publicAddr.String())
}

// front is the operator's listener. It is bound before its handler is complete, so that a waiting start can report its
// state at /readyz.
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
	f.show(admin.Starting(admin.Config{Checks: []admin.Check{{Name: "start", Ready: n.start.Ready}}, Hosts: n.adminHosts()}))
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

// run keeps the listener open until ctx ends.
func (f *front) run(ctx context.Context) error {
	select {
	case err := <-f.ended:
		f.ended <- nil
		return err
	case <-ctx.Done():
		return f.close()
	}
}

// close closes the listener; further calls do nothing.
func (f *front) close() error {
	f.stop()
	err := <-f.ended
	f.ended <- nil
	return err
}
