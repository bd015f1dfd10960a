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

// forcer forces the files of the broker to disk for all its connections. Callers
// that arrive while a round runs share the next round, so that many answers share
// the cost of one.
//
// The first failure is final: the operating system may have dropped the pages that
// it could not write, and a later success would prove nothing.
type forcer struct {
	// notes are files of the broker that are forced by themselves, logs those of the
	// partitions, which the journal makes durable.
	notes   []*forcedLog
	logs    []*forcedLog
	journal *journal

	// direct is until when rounds force the files of the partitions and use no
	// journal, in nanoseconds.
	direct atomic.Int64

	// erase has the next round erase the journal.
	erase atomic.Bool

	mu      sync.Mutex
	current *round // nil when none runs
	next    *round // nil when nobody waits for it
	failed  error
	broken  chan struct{} // closed after the first failure
}

const (
	// directTime is how long no journal is used after a failed write.
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

// newForcer creates the folders of the partitions, so that a round only asks open handles and
// never looks for a missing folder, and opens the journal. The first round forces everything
// that is there.
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

// distrust is called when the broker failed to write to a file. It cuts off what it
// wrote and writes something else there, which the journal must not undo.
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

// pass runs one round, then hands the turn to the callers that arrived since.
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

// sync makes durable what was written since the last round.
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

// eraseJournal forces the files of the partitions, and returns once the journal has no copy of what
// was appended before the call.
func (f *forcer) eraseJournal() error {
	f.erase.Store(true)
	return f.force()
}

// forceLogs makes growths of the partitions durable, by the journal unless it cannot
// take them or must not be used.
func (f *forcer) forceLogs(logs []growth, direct bool) error {
	if !direct {
		if err := f.journal.append(logs); !errors.Is(err, errJournalFull) {
			return err
		}
	}
	return errors.Join(forceGrowths(logs), f.journal.settle())
}

// active appends the active file of every partition: a failed write that was cut off
// and written over may have left its size as it was.
func (f *forcer) active(logs []growth) []growth {
	for _, l := range f.logs {
		if l.active != nil {
			logs = append(logs, growth{file: l.active, from: l.forced, to: l.forced})
		}
	}
	return logs
}

// grown returns what was appended to files since the last look.
func grown(logs []*forcedLog) (found []growth, err error) {
	for _, l := range logs {
		if found, err = l.dirty(found); err != nil {
			return nil, fmt.Errorf("looking for written files: %w", err)
		}
	}
	return found, nil
}

// forceGrowths forces files, many at once: the file system then serves them with few
// writes of its own journal.
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

// failure returns the first failure to force, nil before it and after an orderly stop.
func (f *forcer) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.failed, errForcerClosed) {
		return nil
	}
	return f.failed
}

// close forces what is left, refuses later callers and releases the files.
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

// forcedConn holds each answer of the broker back until what it reflects is on
// disk: an acknowledged record, a committed position, a generation number, and
// a record that a reader is about to see. The broker goes on with the connection's next request
// meanwhile, so that many answers share a round.
type forcedConn struct {
	net.Conn
	forcer *forcer

	mu      sync.Mutex
	room    sync.Cond // signals that waiting became shorter
	waiting []byte    // answers, whole and in order
	sending bool
	failed  error
}

// maxWaiting bounds the bytes of answers that wait on one connection; one answer may exceed it.
const maxWaiting = 1 << 20

// Write takes an answer. The error of sending it is that of a later call.
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

// send sends what waits until nothing does.
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

// fail ends the connection, on which an answer is missing.
func (c *forcedConn) fail(err error) {
	c.mu.Lock()
	c.failed = err
	c.room.Broadcast()
	c.mu.Unlock()
	_ = c.Close()
}
