package broker

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// forcer syncs the files of the broker to disk for all its connections. Callers that arrive while a round runs share
// the next round, so that many answers share the cost of one round.
//
// The first failure is final: the operating system may have dropped the pages that it could not write, and a later
// success would prove nothing.
type forcer struct {
	// notes are broker files that are synced directly. logs are the partition files; the journal makes them durable.
	notes   []*forcedLog
	logs    []*forcedLog
	journal *journal

	// direct is the Unix time in nanoseconds until which rounds sync the partition files and bypass the journal.
	direct atomic.Int64

	// erase makes the next round erase the journal.
	erase atomic.Bool

	mu      sync.Mutex
	current *round // nil if none runs
	next    *round // nil if no caller waits for it
	failed  error
	broken  chan struct{} // closed after the first failure
}

const (
	// directTime is how long rounds bypass the journal after a failed write.
	directTime = time.Second

	// untilForced is the value of direct before the first round.
	untilForced = math.MaxInt64
)

// errForcerClosed is the error after the broker has stopped.
var errForcerClosed = errors.New("broker has stopped")

// round is one pass over the files. err is set before done is closed.
type round struct {
	done chan struct{}
	err  error
}

// newForcer opens the journal and creates the folders of the partitions. A round therefore only queries open handles
// and never looks for a missing folder. The first round syncs all existing data.
func newForcer(dir string, topics []string, partitions func(topic string) int) (*forcer, error) {
	f := &forcer{broken: make(chan struct{}), notes: []*forcedLog{{dir: dir, pick: pickNamed("groups.log")}, {dir: dir, pick: pickNamed("pids.log")}}}
	f.direct.Store(untilForced)
	for _, topic := range topics {
		for p := range partitions(topic) {
			folder := partitionDir(dir, topic, p)
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return nil, fmt.Errorf("making the folder of partition %d of %s: %w", p, topic, err)
			}
			f.logs = append(f.logs, &forcedLog{dir: folder, pick: pickSegments})
		}
	}
	if err := force(filepath.Join(dir, "partitions")); err != nil {
		return nil, err
	}
	var err error
	f.journal, err = openJournal(dir)
	return f, err
}

// distrust is called when the broker failed to write to a file. The broker cuts off the failed write and writes other
// data in its place. The journal must not undo that.
func (f *forcer) distrust() { f.direct.Store(time.Now().Add(directTime).UnixNano()) }

// force returns once everything that was written before the call is on disk.
func (f *forcer) force() error {
	f.mu.Lock()
	if f.failed != nil {
		defer f.mu.Unlock()
		return f.failed
	}
	if f.next == nil {
		f.next = &round{done: make(chan struct{})}
	}
	r := f.next
	lead := f.current == nil
	if lead {
		f.current, f.next = r, nil
	}
	f.mu.Unlock()
	if lead {
		f.pass(r)
	}
	<-r.done
	return r.err
}

// pass runs one round. If callers have arrived meanwhile, it starts the next round.
func (f *forcer) pass(r *round) {
	r.err = f.sync()
	close(r.done)

	f.mu.Lock()
	defer f.mu.Unlock()
	if r.err != nil && f.failed == nil {
		f.failed = r.err
		close(f.broken)
	}
	f.current, f.next = f.next, nil
	if f.current == nil {
		return
	}
	if f.failed == nil {
		go f.pass(f.current)
		return
	}
	f.current.err = f.failed
	close(f.current.done)
	f.current = nil
}

// sync makes all writes since the last round durable.
func (f *forcer) sync() error {
	direct := time.Now().UnixNano() < f.direct.Load()
	notes, err := grown(f.notes)
	if err != nil {
		return err
	}
	logs, err := grown(f.logs)
	if err != nil {
		return err
	}
	if direct {
		logs = f.active(logs)
	}
	var noted error
	var wg sync.WaitGroup
	if len(notes) > 0 {
		wg.Go(func() { noted = forceGrowths(notes) })
	}
	if len(logs) > 0 {
		err = f.forceLogs(logs, direct)
	}
	wg.Wait()
	if err == nil && f.erase.Swap(false) {
		err = f.journal.erase()
	}
	if err := errors.Join(noted, err); err != nil {
		return fmt.Errorf("forcing the log to disk: %w", err)
	}
	f.direct.CompareAndSwap(untilForced, 0)
	return nil
}

// eraseJournal syncs the partition files. It returns once the journal has no copy of the bytes that were appended
// before the call.
func (f *forcer) eraseJournal() error {
	f.erase.Store(true)
	return f.force()
}

// forceLogs makes growths of the partitions durable. It uses the journal unless the growths do not fit or direct is
// set.
func (f *forcer) forceLogs(logs []growth, direct bool) error {
	if !direct {
		if err := f.journal.append(logs); !errors.Is(err, errJournalFull) {
			return err
		}
	}
	return errors.Join(forceGrowths(logs), f.journal.settle())
}

// active appends the active file of every partition. A failed write that was cut off and overwritten may have left the
// size of the file unchanged.
func (f *forcer) active(logs []growth) []growth {
	for _, l := range f.logs {
		if l.active != nil {
			logs = append(logs, growth{file: l.active, from: l.forced, to: l.forced})
		}
	}
	return logs
}

// grown returns the bytes that were appended to files since the last round.
func grown(logs []*forcedLog) (found []growth, err error) {
	for _, l := range logs {
		if found, err = l.dirty(found); err != nil {
			return nil, fmt.Errorf("looking for written files: %w", err)
		}
	}
	return found, nil
}

// forceGrowths syncs many files in parallel: the file system then needs few writes of its own journal.
func forceGrowths(growths []growth) error {
	var group errgroup.Group
	group.SetLimit(forceAtOnce)
	for _, g := range growths {
		group.Go(func() error {
			if err := g.file.Sync(); err != nil || !g.created {
				return err
			}
			return force(filepath.Dir(g.file.Name()))
		})
	}
	return group.Wait()
}

// failure returns the first error of a sync. It returns nil before any error and after an orderly stop.
func (f *forcer) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.failed, errForcerClosed) {
		return nil
	}
	return f.failed
}

// close syncs the remaining data, refuses later callers and closes the files.
func (f *forcer) close() error {
	err := f.force()
	f.mu.Lock()
	if f.failed == nil {
		f.failed = errForcerClosed
	}
	last := f.current
	f.mu.Unlock()
	if last != nil {
		<-last.done
	}
	if err == nil {
		err = f.journal.settle()
	}
	for _, l := range slices.Concat(f.notes, f.logs) {
		l.close()
	}
	return errors.Join(err, f.journal.close(err == nil))
}

// forcedListener makes every connection wait for the forcer.
type forcedListener struct {
	net.Listener
	forcer *forcer
}

func (l forcedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &forcedConn{Conn: conn, forcer: l.forcer}
	c.room.L = &c.mu
	return c, nil
}

// forcedConn holds back each answer of the broker until the data behind it is on disk: an acknowledged record, a
// committed position, a generation number, or a record that a reader is about to see. Meanwhile the broker handles the
// connection's next request, so that many answers share a round.
type forcedConn struct {
	net.Conn
	forcer *forcer

	mu      sync.Mutex
	room    sync.Cond // signals that waiting became shorter
	waiting []byte    // complete answers, in order
	sending bool
	failed  error
}

// maxWaiting limits the bytes of answers that wait on one connection. One answer may exceed it.
const maxWaiting = 1 << 20

// Write queues an answer. If sending it fails, a later call returns the error.
func (c *forcedConn) Write(answer []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.failed == nil && len(c.waiting) > maxWaiting {
		c.room.Wait()
	}
	if c.failed != nil {
		return 0, c.failed
	}
	c.waiting = append(c.waiting, answer...)
	if !c.sending {
		c.sending = true
		go c.send()
	}
	return len(answer), nil
}

// send sends the waiting answers until none is left.
func (c *forcedConn) send() {
	for {
		c.mu.Lock()
		answers := c.waiting
		c.waiting = nil
		if c.sending = len(answers) > 0 && c.failed == nil; !c.sending {
			c.mu.Unlock()
			return
		}
		c.room.Broadcast()
		c.mu.Unlock()
		err := c.forcer.force()
		if err == nil {
			_, err = c.Conn.Write(answers)
		}
		if err != nil {
			c.fail(err)
		}
	}
}

// fail ends the connection, because an answer is missing on it.
func (c *forcedConn) fail(err error) {
	c.mu.Lock()
	c.failed = err
	c.room.Broadcast()
	c.mu.Unlock()
	_ = c.Close()
}
