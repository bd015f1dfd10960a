package clickhouse

import (
	"context"
	"sync"
	"time"
)

const (
	// restTime limits how long a read waits for a running insert before it begins.
	restTime = 200 * time.Millisecond
	// quickTime is the maximum duration of a read that is repeated because an insert began meanwhile.
	quickTime = 100 * time.Millisecond
	// wholeTries limits the number of attempts of a read without an insert meanwhile.
	wholeTries = 3
)

// blocksUnderWay tracks the running inserts of this process. An insert becomes visible table by table. Reads of several
// tables therefore wait for it, and reads of rows omit its block until it has ended. The zero value has no inserts.
type blocksUnderWay struct {
	mu sync.Mutex
	// hidden has the incomplete blocks: the blocks of running inserts, and the block of a failed insert until it is
	// repeated or another block is stored instead.
	hidden map[uint64]bool
	// running is the number of running inserts. rest is closed when the last of them ends.
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

// wait returns when no insert is running, or after restTime.
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

// counts returns the number of inserts that have begun and ended.
func (u *blocksUnderWay) counts() (begun, ended uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.begun, u.ended
}

// blocks returns the incomplete blocks, and the number of inserts that have begun.
func (u *blocksUnderWay) blocks() (numbers []uint64, begun uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	numbers = make([]uint64, 0, len(u.hidden))
	for block := range u.hidden {
		numbers = append(numbers, block)
	}
	return numbers, u.begun
}

// Whole runs a read of several tables so that it finds each block of this process in all of them or in none. It begins
// while no insert runs. A quick read is repeated if an insert began meanwhile. A read that begins after the end of an
// insert always finds its block in all tables.
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

// Besides runs a read of rows that omits the given blocks, so that it finds no row of an incomplete block. If inserts
// keep beginning during the read, it returns after they end, but waits at most restTime.
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

// passed returns a function that returns true, once, after a time has passed.
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
