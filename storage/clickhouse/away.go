package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
)

// lookTime limits the check whether a store answers.
const lookTime = 5 * time.Second

// gate is the driver of a shard with a store that was unavailable when the connection was opened. While the gate is
// closed, all statements fail as if the store did not answer: its tables may lack migrations, and its owner has not
// been checked.
type gate struct {
	driver.Conn
	queries Queries
	// admitting is held while the store is opened.
	admitting sync.Mutex
	// closed has the reason why the gate is closed. It is nil once the gate is open.
	closed atomic.Pointer[error]
}

// admission is the context key of statements that pass a closed gate.
type admission struct{}

// errAway is the initial reason of a closed gate.
var errAway = errors.New("the store was away at the start and has not been opened yet")

// pass returns the reason why a statement may not pass, or nil.
func (g *gate) pass(ctx context.Context) error {
	reason := g.closed.Load()
	if reason == nil || ctx.Value(admission{}) != nil {
		return nil
	}
	return *reason
}

// Query implements driver.Conn.
func (g *gate) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.Conn.Query(ctx, query, args...)
}

// QueryFormat implements driver.Conn.
func (g *gate) QueryFormat(ctx context.Context, format, query string, args ...any) (io.ReadCloser, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.Conn.QueryFormat(ctx, format, query, args...)
}

// Exec implements driver.Conn.
func (g *gate) Exec(ctx context.Context, query string, args ...any) error {
	if err := g.pass(ctx); err != nil {
		return err
	}
	return g.Conn.Exec(ctx, query, args...)
}

// InsertFormat implements driver.Conn.
func (g *gate) InsertFormat(ctx context.Context, format, query string, rows io.Reader) error {
	if err := g.pass(ctx); err != nil {
		return err
	}
	return g.Conn.InsertFormat(ctx, format, query, rows)
}

// PrepareBatch implements driver.Conn.
func (g *gate) PrepareBatch(ctx context.Context, query string, options ...driver.PrepareBatchOption) (driver.Batch, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return g.Conn.PrepareBatch(ctx, query, options...)
}

// Ping implements driver.Conn.
func (g *gate) Ping(ctx context.Context) error {
	if err := g.pass(ctx); err != nil {
		return err
	}
	return g.Conn.Ping(ctx)
}

// answers returns domain.CodeUnavailable if a store does not answer within lookTime.
func answers(ctx context.Context, cfg Config) error {
	cfg.Database = "default"
	conn, err := Connect(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return errors.Join(conn.Ping(ctx), conn.Close())
}

// watch monitors a read. A server that is stopped or paused accepts connections but does not answer, and the read gets
// no error before its time is over. Therefore watch pings the server every lookTime over a separate connection, and
// ends the read if the server does not answer. ended takes the error of the read. It returns that error, or that the
// store is unavailable.
func (l *link) watch(ctx context.Context, what string) (watched context.Context, ended func(error) error) {
	watched, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(lookTime)
		defer ticker.Stop()
		for {
			select {
			case <-watched.Done():
				return
			case <-ticker.C:
			}
			if err := answers(watched, l.config); domain.CodeOf(err) == domain.CodeUnavailable {
				cancel(err) // no effect if the read has ended
				return
			}
		}
	}()
	return watched, func(err error) error {
		cause := context.Cause(watched)
		cancel(nil)
		<-done
		if err != nil && domain.CodeOf(cause) == domain.CodeUnavailable {
			return fmt.Errorf("%s: %w", what, cause)
		}
		return err
	}
}

// openLate opens the store of one shard. If the store may be unavailable and is, it opens the store behind a closed
// gate.
func openLate(ctx context.Context, cfg Config, queries Queries) (*Conn, error) {
	if !cfg.Late || cfg.Engine != nil || domain.CodeOf(answers(ctx, cfg)) != domain.CodeUnavailable || ctx.Err() != nil {
		return openOne(ctx, cfg, queries) // its error names the reason why a store refuses
	}
	conn, err := Connect(cfg)
	if err != nil {
		return nil, err
	}
	g := &gate{Conn: conn.driver, queries: queries}
	g.closed.Store(new(errAway))
	conn.driver = g
	return conn, nil
}

// Away reports whether the store of a shard was unavailable at the opening and has not been admitted since.
func (c *Conn) Away(shard int) bool {
	g, late := c.Shards()[shard].driver.(*gate)
	return late && g.closed.Load() != nil
}

// Admit opens the store of a shard that was unavailable. Statements pass once look has returned nil; statements with
// the context of look pass before. If the store was available, or was already admitted, Admit does nothing.
func (c *Conn) Admit(ctx context.Context, shard int, look func(ctx context.Context) error) error {
	one := c.Shards()[shard]
	g, late := one.driver.(*gate)
	if !late {
		return nil
	}
	g.admitting.Lock()
	defer g.admitting.Unlock()
	if g.closed.Load() == nil {
		return nil
	}
	if err := one.admit(ctx, g, look); err != nil {
		err = fmt.Errorf("shard %d: %w", shard, err)
		g.closed.Store(&err)
		return err
	}
	g.closed.Store(nil)
	return nil
}

// admit opens the store behind a gate and calls look.
func (c *Conn) admit(ctx context.Context, g *gate, look func(ctx context.Context) error) error {
	if err := answers(ctx, c.config); err != nil {
		return err
	}
	opened, err := openOne(ctx, c.config, g.queries)
	if err != nil {
		return err
	}
	return errors.Join(look(context.WithValue(ctx, admission{}, true)), opened.Close())
}
