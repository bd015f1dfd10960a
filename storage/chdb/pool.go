package chdb

import (
	"context"
	"fmt"
)

// pool lends a fixed number of engine connections. A connection whose session may have
// been changed is closed when it comes back, which also ends whatever the engine still
// keeps for its last statement, and its slot is filled again at the next use. Opening
// one takes a tenth of a millisecond.
//
// Reads may take all slots but writePlaces, however many there are and however long they
// last. So a write waits for writes only.
type pool struct {
	slots chan slot
	reads chan struct{} // holds one element for each slot that a read has or waits for
	open  func(name string) (*conn, error)
}

// writePlaces is the number of slots that reads leave free.
const writePlaces = 2

// purpose is the use of a connection.
type purpose int

const (
	forWriting purpose = iota // also for reads that writes wait for
	forReading
)

// slot is the place of one connection. It is empty until its first use and after its
// connection was closed.
type slot struct {
	name string
	conn *conn
}

// newPool makes a pool of size connections named svc-1, svc-2 and so on. None is open.
func newPool(size int, open func(name string) (*conn, error)) *pool {
	p := &pool{slots: make(chan slot, size), reads: make(chan struct{}, max(1, size-writePlaces)), open: open}
	for i := range size {
		p.slots <- slot{name: fmt.Sprintf("svc-%d", i+1)}
	}
	return p
}

// acquire waits for a free connection. Requests of one purpose are served in their order.
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

// take waits for a free slot and opens its connection where there is none.
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

// release gives back a connection that was acquired for a purpose.
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
