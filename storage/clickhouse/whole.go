package clickhouse

import (
	"context"
	"sync"
	"time"
)

const (
	// restTime bounds how long a read waits for a running insert before it begins.
	restTime = 200 * time.Millisecond
	// quickTime bounds the duration of a read that is repeated because an insert began meanwhile.
	quickTime = 100 * time.Millisecond
	// wholeTries bounds how often a read is done until no insert began meanwhile.
	wholeTries = 3
)

// blocksUnderWay tracks the running inserts of this process. An insert becomes visible table by
// table, so reads of several tables wait for it, and reads of rows leave its block out until it has
// ended. The zero value has none.
type blocksUnderWay struct {
	mu sync.Mutex
	// hidden holds the blocks that are not complete: those of running inserts, and of one that
	// failed until it is repeated or another block is stored in its place.
	hidden map[uint64]bool
	// running counts inserts; rest is closed when the last of them ends.
	running int
	rest    chan struct{}
	// begun and ended count inserts.
	begun, ended uint64
}

// insert runs the insert of a block.
func (u *blocksUnderWay) insert(block uint64, insert func() error) error {
	u.begin(block)
	err := insert()
	u.end(block, err == nil)
	return err
}

func (u *blocksUnderWay) begin(block uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.hidden == nil {
		u.hidden = map[uint64]bool{}
	}
	u.hidden[block] = true
	if u.running++; u.running == 1 {
		u.rest = make(chan struct{})
	}
	u.begun++
}

func (u *blocksUnderWay) end(block uint64, stored bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running--; u.running == 0 {
		close(u.rest)
		if stored {
			clear(u.hidden)
		}
	}
	if stored {
		delete(u.hidden, block)
	}
	u.ended++
}

// wait returns when no insert runs, after restTime at the latest.
func (u *blocksUnderWay) wait(ctx context.Context) {
	u.mu.Lock()
	running, rest := u.running, u.rest
	u.mu.Unlock()
	if running == 0 {
		return
	}
	timer := time.NewTimer(restTime)
	defer timer.Stop()
	select {
	case <-rest:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// counts returns how many inserts have begun and ended.
func (u *blocksUnderWay) counts() (begun, ended uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.begun, u.ended
}

// blocks returns the blocks that are not complete, and how many inserts have begun.
func (u *blocksUnderWay) blocks() (numbers []uint64, begun uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	numbers = make([]uint64, 0, len(u.hidden))
	for block := range u.hidden {
		numbers = append(numbers, block)
	}
	return numbers, u.begun
}

// Whole runs a read of several tables so that it finds each block of this process in all of them or
// in none: it begins while no insert runs, and a quick one is repeated if an insert began
// meanwhile. A read that begins after the end of an insert finds its block in all tables in any
// case.
func Whole[T any](ctx context.Context, c *Conn, read func(context.Context) (T, error)) (value T, err error) {
	for range wholeTries {
		c.inserts.wait(ctx)
		before, _ := c.inserts.counts()
		slow := passed(quickTime)
		value, err = read(ctx)
		began, _ := c.inserts.counts()
		if slow() || err != nil || began == before {
			return value, err
		}
	}
	return value, err
}

// Besides runs a read of rows that leaves some blocks out, so that it finds no row of an incomplete
// block. If inserts keep beginning during the read, it continues after they end, within restTime.
func Besides(ctx context.Context, c *Conn, read func(hidden []uint64) error) error {
	// Reads of sums see the first tables of a running insert, so the rows wait for its end.
	c.inserts.wait(ctx)
	for try := 1; ; try++ {
		hidden, before := c.inserts.blocks()
		slow := passed(quickTime)
		err := read(hidden)
		began, _ := c.inserts.counts()
		late := slow()
		switch {
		case err != nil, began == before:
			return err
		case late, try == wholeTries:
			c.inserts.wait(ctx)
			return err
		}
	}
}

// passed returns a function that reports true, once, after a time has passed.
func passed(after time.Duration) func() bool {
	timer := time.NewTimer(after)
	return func() bool {
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		default:
			return false
		}
	}
}
