package route

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// Time-outs and bounds of the listener. Streams lift the write time-out for themselves.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 60 * time.Second
	writeTimeout  = 90 * time.Second
	idleTimeout   = 120 * time.Second
	drainTimeout  = 15 * time.Second
	maxHeader     = 64 << 10
)

// Server serves one handler on one address.
type Server struct {
	server *http.Server
	addr   string
	bound  chan net.Addr
	most   int
}

// NewServer checks its arguments and does no I/O. If the handler has a method Drain, the server calls it when it begins
// to stop.
func NewServer(addr string, handler http.Handler, logger *slog.Logger) (*Server, error) {
	if handler == nil {
		return nil, errors.New("the server has no handler")
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("parsing the address: %w", err)
	}
	s := &Server{
		addr:  addr,
		bound: make(chan net.Addr, 1),
		server: &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
			IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		},
	}
	if streams, ok := handler.(interface{ Drain() }); ok {
		s.server.RegisterOnShutdown(streams.Drain)
	}
	return s, nil
}

// Limit bounds the open connections; further ones wait to be accepted. It must be called before Run.
func (s *Server) Limit(connections int) { s.most = connections }

// Bound delivers the address once the server listens. It shows the actual port of an address that ends in :0.
func (s *Server) Bound() <-chan net.Addr { return s.bound }

// Run listens and serves until the context ends, then lets running requests
// finish for up to 15 seconds. It returns nil after an orderly end.
func (s *Server) Run(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.addr)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	s.bound <- listener.Addr()
	if s.most > 0 {
		listener = netutil.LimitListener(listener, s.most)
	}
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := s.server.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("draining: %w", err), s.server.Close())
	}
	return nil
}
