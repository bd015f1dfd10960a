package chdb

import (
	"context"
	"fmt"
)

// pool lends a fixed number of engine connections. If the session of a returned connection may have changed, the pool
// closes it, and opens a new one for the slot at the next use. Closing also releases everything that the engine retains
// for the last statement. Opening a connection takes a tenth of a millisecond.
//
// Reads may take all slots but writePlaces, regardless of their number and duration. So a write waits only for other
// writes.
type pool struct {
	slots chan slot
	reads chan struct{} // has one element for each slot that a read has or waits for
	open  func(name string) (*conn, error)
}

// writePlaces is the number of slots that reads leave free.
const writePlaces = 2

// purpose is the use of a connection.
type purpose int

const (
	forWriting purpose = iota // also for reads that a write waits for
	forReading
)

// slot holds one connection. It is empty until its first use and after its connection was closed.
type slot struct {
	name string
	conn *conn
}

// newPool returns a pool of size connections named svc-1, svc-2 and so on. It opens none of them.
func newPool(size int, open func(name string) (*conn, error)) *pool {
	p := &pool{slots: make(chan slot, size), reads: make(chan struct{}, max(1, size-writePlaces)), open: open}
	for i := range size {
		p.slots <- slot{name: fmt.Sprintf("svc-%d", i+1)}
	}
	return p
}

// acquire waits for a free connection. Requests of one purpose are served in order.
func (p *pool) acquire(ctx context.Context, why purpose) (*conn, error) {
	if why == forReading {
		select {
		case p.reads <- struct{}{}:
		case <-ctx.Done():
			return nil, waitingError(ctx)
		}
	}
	c, err := p.take(ctx)
	if err != nil && why == forReading {
		<-p.reads
	}
	return c, err
}

// take waits for a free slot and opens its connection if the slot is empty.
func (p *pool) take(ctx context.Context) (*conn, error) {
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
		return nil, waitingError(ctx)
	}
}

func waitingError(ctx context.Context) error {
	return fmt.Errorf("waiting for a free engine connection: %w", context.Cause(ctx))
}

// release returns a connection that was acquired for a purpose.
func (p *pool) release(c *conn, why purpose) {
	if why == forReading {
		defer func() { <-p.reads }()
	}
	if c.spoiled {
		c.close()
		p.slots <- slot{name: c.name}
		return
	}
	p.slots <- slot{name: c.name, conn: c}
}

// close waits until every connection is returned and closes it. After that acquire blocks until its context ends.
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
