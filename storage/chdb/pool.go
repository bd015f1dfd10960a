package chdb

import (
	"context"
	"fmt"
)

// pool lends a fixed number of engine connections. A connection whose session may have
// been changed is closed when it comes back, which also ends whatever the engine still
// keeps for its last statement, and its slot is filled again at the next use. Opening
// one takes a tenth of a millisecond.
type pool struct {
	slots chan slot
	open  func(name string) (*conn, error)
}

// slot is the place of one connection. It is empty until its first use and after its
// connection was closed.
type slot struct {
	name string
	conn *conn
}

// newPool makes a pool of size connections named svc-1, svc-2 and so on. None is open.
func newPool(size int, open func(name string) (*conn, error)) *pool {
	p := &pool{slots: make(chan slot, size), open: open}
	for i := range size {
		p.slots <- slot{name: fmt.Sprintf("svc-%d", i+1)}
	}
	return p
}

// acquire waits for a free connection. Waiting requests are served in their order.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case s := <-p.slots:
		if s.conn != nil {
			return s.conn, nil
		}
		c, err := p.open(s.name)
		if err != nil {
			p.slots <- s
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a free engine connection: %w", context.Cause(ctx))
	}
}

// release gives a connection back.
func (p *pool) release(c *conn) {
	if c.spoiled {
		c.close()
		p.slots <- slot{name: c.name}
		return
	}
	p.slots <- slot{name: c.name, conn: c}
}

// close waits for every connection to come back and closes it. After that acquire waits
// for the end of its context.
func (p *pool) close(ctx context.Context) error {
	for range cap(p.slots) {
		select {
		case s := <-p.slots:
			if s.conn != nil {
				s.conn.close()
			}
		case <-ctx.Done():
			return fmt.Errorf("waiting for the statements to end: %w", context.Cause(ctx))
		}
	}
	return nil
}
