package chdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultConnections is the number of concurrent statements. writePlaces of them are reserved for writes.
	defaultConnections = 8

	// drainTime is how long Close waits for running statements to end, and again for the cancelled ones.
	drainTime = 10 * time.Second

	// maxHeader limits the size of a request's URL, which carries the bound values.
	maxHeader = 16 << 20
)

// Config configures an engine.
type Config struct {
	Library     string            // path of libchdb, from FindLibrary
	Dir         string            // data folder; created if missing
	Connections int               // concurrent statements, of which all but two may be reads; 0 means 8
	Logger      *slog.Logger      // nil drops the engine's messages
	Listen      string            // host:port for other processes; empty opens no port
	Settings    map[string]string // overrides serverSettings and querySettings
	// Memory limits the engine's allocations, in bytes. Zero means half of the machine's memory.
	Memory int64
	// Durable syncs the token of an insert to disk before the insert is answered. The settings of a table determine
	// whether its rows are synced.
	Durable bool
}

// Engine is a running ClickHouse engine. Its methods may be called concurrently.
type Engine struct {
	dir      string
	lib      *library
	args     []string          // arguments of the first connection
	base     map[string]string // settings that every statement starts with
	pool     *pool
	listener *listener
	server   *http.Server
	cancel   context.CancelFunc // ends the context of every request
	addr     net.Addr           // address for other processes
	served   chan struct{}      // closed when the server no longer accepts

	held    atomic.Bool // inserts are refused
	mu      sync.Mutex
	control *conn // keeps the engine alive and cancels statements; guarded by mu

	closing  sync.Once
	closeErr error
}

// Open loads the library, opens the data folder and starts to serve. It fails if another process or this one uses the
// folder, and if this process has another folder open. The context covers only Open; Close ends the engine.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("opening the engine: %w", err)
	}
	if cfg.Dir == "" {
		return nil, errors.New("opening the engine: no data folder is named")
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the engine: %w", err)
	}
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if err := prepareFolder(dir, logger); err != nil {
		return nil, fmt.Errorf("opening the engine: %w", err)
	}
	lib, err := loadLibrary(cfg.Library)
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir, lib: lib, args: arguments(dir, cfg.Memory, cfg.Settings), listener: newListener(), served: make(chan struct{})}
	if err := e.start(cfg, logger); err != nil { //nolint:contextcheck // the engine outlives the context of its opening
		return nil, fmt.Errorf("opening the engine on %s: %w", dir, err)
	}
	return e, nil
}

// prepareFolder creates the data folder. If the folder exists, it checks that it is unused and repairs the traces of a
// killed process.
func prepareFolder(dir string, logger *slog.Logger) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	if err := checkUnused(dir); err != nil {
		return err
	}
	if err := CheckParts(dir); err != nil {
		return err
	}
	recovered, err := recoverTokens(dir)
	if recovered > 0 {
		logger.Info("insert tokens without rows were taken back", "tokens", recovered)
	}
	return err
}

// TableDir returns the folder with the files of a table, from the table's UUID as the engine prints it.
func (e *Engine) TableDir(uuid string) string { return tableDir(e.dir, uuid) }

func tableDir(dir, uuid string) string {
	const shard = 3 // number of digits by which the engine divides its folder
	return filepath.Join(dir, "store", uuid[:shard], uuid)
}

// start opens the connections and begins to serve.
func (e *Engine) start(cfg Config, logger *slog.Logger) error {
	e.lib.setSignalHandlersEnabled(0)
	control, err := connect(e.lib, e.args, "svc-control", nil)
	if err != nil {
		return fmt.Errorf("%w: either this process has another data folder open, of which libchdb allows one, or the folder's content does not load", err)
	}
	e.control = control
	handler, err := e.prepare(cfg)
	if err != nil {
		control.close()
		return err
	}
	base, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.server = &http.Server{
		Handler:        handler,
		BaseContext:    func(net.Listener) context.Context { return base },
		MaxHeaderBytes: maxHeader,
		// The clients are this process and trusted ones, and a statement may wait for a connection.
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	if err := e.listen(cfg.Listen); err != nil {
		err = errors.Join(err, e.pool.close(base))
		cancel()
		control.close()
		return err
	}
	go func() {
		defer close(e.served)
		_ = e.server.Serve(e.listener) // returns http.ErrServerClosed after Close
	}()
	return nil
}

// listen serves other processes. It asks for no credentials: the address must be local to the machine or belong to a
// private network.
func (e *Engine) listen(addr string) error {
	if addr == "" {
		return nil
	}
	outer, err := new(net.ListenConfig).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("listening for other processes: %w", err)
	}
	e.addr = outer.Addr()
	go func() { _ = e.server.Serve(outer) }() // returns http.ErrServerClosed after Close
	return nil
}

// Addr returns the address for other processes, or nil without one.
func (e *Engine) Addr() net.Addr { return e.addr }

// prepare creates the pool and the handler, after it has read the settings that depend on the machine.
func (e *Engine) prepare(cfg Config) (*handler, error) {
	base, err := baseSettings(e.control, cfg.Settings)
	if err != nil {
		return nil, err
	}
	e.base = base
	size := cfg.Connections
	if size <= 0 {
		size = defaultConnections
	}
	e.pool = newPool(size, e.connect)
	hello, err := newHello(e.pool)
	if err != nil {
		return nil, errors.Join(err, e.pool.close(context.Background()))
	}
	h := newHandler(e.pool, hello, e.held.Load)
	if cfg.Durable {
		h.tokens = newTokenLogs(e.dir)
	}
	return h, nil
}

// connect opens a connection for the pool.
func (e *Engine) connect(name string) (*conn, error) {
	c, err := connect(e.lib, e.args, name, e.base)
	if err != nil {
		return nil, err
	}
	c.kill, c.scratch = e.kill, e.dir
	return c, nil
}

// kill asks the engine to cancel the statement on the connection with that name. It does not wait for the end of the
// statement. It is no error if no statement runs.
func (e *Engine) kill(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, _ = e.control.execute("KILL QUERY WHERE Settings['log_comment'] = "+quoteString(name)+" ASYNC", "Null")
}

// DialContext returns a new connection to the engine. It has the type of DialContext in clickhouse.Options; the address
// is ignored. After Close it returns net.ErrClosed.
func (e *Engine) DialContext(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := e.listener.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("dialing the embedded engine: %w", err)
	}
	return conn, nil
}

// Close refuses new connections, waits up to ten seconds for running statements, cancels the rest, and shuts the engine
// down. After it returns nil, the data folder is free and may be opened again. Further calls return the first result.
func (e *Engine) Close() error {
	e.closing.Do(func() { e.closeErr = e.shutdown() })
	return e.closeErr
}

func (e *Engine) shutdown() error {
	defer e.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := e.server.Shutdown(ctx); err != nil {
		e.cancel()
	}
	<-e.served
	last, cancelLast := context.WithTimeout(context.Background(), drainTime)
	defer cancelLast()
	if err := e.pool.close(last); err != nil {
		return errors.Join(fmt.Errorf("closing the engine: %w", err), e.server.Close())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.control.close()
	if err := e.server.Close(); err != nil {
		return fmt.Errorf("closing the engine's server: %w", err)
	}
	return nil
}
