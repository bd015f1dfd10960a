package broker

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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

	mu      sync.Mutex
	current *round // nil when none runs
	next    *round // nil when nobody waits for it
	failed  error
}

const (
	// directTime is how long no journal is used after a failed write.
	directTime = time.Second

	// untilForced is the value of direct before the first round.
	untilForced = math.MaxInt64
)

// errForcerClosed is what callers get once the broker has stopped.
var errForcerClosed = errors.New("broker has stopped")

// round is one pass over the files. err is set before done is closed.
type round struct {
	done chan struct{}
	err  error
}

// newForcer creates the folders of the partitions, so that a round only asks open handles and
// never looks for a missing folder, and opens the journal. The first round forces everything
// that is there.
func newForcer(dir, topic string, partitions int) (*forcer, error) {
	f := &forcer{notes: []*forcedLog{{dir: dir, pick: pickNamed("groups.log")}, {dir: dir, pick: pickNamed("pids.log")}}}
	f.direct.Store(untilForced)
	for p := range partitions {
		folder := partitionDir(dir, topic, p)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, fmt.Errorf("making the folder of partition %d: %w", p, err)
		}
		f.logs = append(f.logs, &forcedLog{dir: folder, pick: pickSegments})
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
	if err := errors.Join(noted, err); err != nil {
		return fmt.Errorf("forcing the log to disk: %w", err)
	}
	f.direct.CompareAndSwap(untilForced, 0)
	return nil
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

// forceGrowths forces files, all at once: the file system then serves them with few
// writes of its own journal.
func forceGrowths(growths []growth) error {
	errs := make([]error, len(growths))
	var wg sync.WaitGroup
	for i, g := range growths {
		wg.Go(func() {
			errs[i] = g.file.Sync()
			if g.created {
				errs[i] = errors.Join(errs[i], force(filepath.Dir(g.file.Name())))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
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

// forcedLog follows the files of one directory that are written at their end.
// Only the running round uses it.
//
// A round asks the kernel for two things by open handles: whether the directory
// changed, and how long the active file is. The names are read only after a
// change. A directory's time has the resolution of a clock tick, so that one
// which changed within the last second may change again without showing it: it
// counts as changed until its time is that old.
type forcedLog struct {
	dir    string
	pick   func(names []string, last string) []string
	handle *os.File

	// changed is the directory's time at the last look at its names, zero while
	// that time cannot be trusted yet.
	changed time.Time

	active *os.File
	info   os.FileInfo
	forced int64

	// retired files are complete. The round that retires them forces them
	// a last time.
	retired []*os.File
}

// settleTime is how long ago a directory must have changed for its time to tell
// it from any later change.
const settleTime = time.Second

// dirty appends how files grew since the previous round. The sizes are taken before
// the files are forced, so that growth during the round is seen by the next one.
func (l *forcedLog) dirty(files []growth) ([]growth, error) {
	l.closeRetired()
	if l.handle == nil {
		handle, err := os.Open(l.dir)
		if errors.Is(err, os.ErrNotExist) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		l.handle = handle
	}
	at, err := l.handle.Stat()
	if err != nil {
		return nil, err
	}
	modified := at.ModTime()
	if !l.changed.IsZero() && modified.Equal(l.changed) {
		return l.grown(files)
	}
	l.changed = time.Time{}
	if time.Since(modified) > settleTime {
		l.changed = modified
	}
	return l.look(files)
}

// grown appends the growth of the active file, if any.
func (l *forcedLog) grown(files []growth) ([]growth, error) {
	if l.active == nil {
		return files, nil // there is no file yet
	}
	at, err := l.active.Stat()
	if err != nil {
		return nil, err
	}
	return l.reach(files, at.Size()), nil
}

// reach appends the growth of the active file to a size. A file that shrank, since
// the broker cut a failed write off, is forced as it is.
func (l *forcedLog) reach(files []growth, size int64) []growth {
	if size == l.forced {
		return files
	}
	from := min(l.forced, size)
	l.forced = size
	return append(files, growth{file: l.active, from: from, to: size})
}

// look reads the names and appends the growth of each file that is active or
// newer. The directory's time was taken before.
func (l *forcedLog) look(files []growth) ([]growth, error) {
	names, err := l.names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if files, err = l.follow(files, name); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (l *forcedLog) names() ([]string, error) {
	if _, err := l.handle.Seek(0, 0); err != nil {
		return nil, err
	}
	names, err := l.handle.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	last := ""
	if l.active != nil {
		last = filepath.Base(l.active.Name())
	}
	return l.pick(names, last), nil
}

// follow makes name the active file and appends its growth.
func (l *forcedLog) follow(files []growth, name string) ([]growth, error) {
	path := filepath.Join(l.dir, name)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return files, nil
	}
	if err != nil {
		return nil, err
	}
	if l.active != nil && os.SameFile(info, l.info) {
		return l.reach(files, info.Size()), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if l.active != nil {
		l.retired = append(l.retired, l.active)
	}
	l.active, l.info, l.forced = file, info, info.Size()
	return append(files, growth{file: file, to: info.Size(), created: true}), nil
}

func (l *forcedLog) close() {
	for _, f := range []*os.File{l.active, l.handle} {
		if f != nil {
			l.retired = append(l.retired, f)
		}
	}
	l.active, l.handle = nil, nil
	l.closeRetired()
}

// closeRetired closes the retired files. They were only read, so that no error matters.
func (l *forcedLog) closeRetired() {
	for _, f := range l.retired {
		_ = f.Close()
	}
	l.retired = l.retired[:0]
}

// pickNamed selects one file.
func pickNamed(name string) func([]string, string) []string {
	return func([]string, string) []string { return []string{name} }
}

// pickSegments selects the segment that was active last and all later ones, in
// order of their first offset.
func pickSegments(names []string, last string) []string {
	after := segmentBase(last)
	var newest []string
	for _, name := range names {
		if base := segmentBase(name); base >= 0 && base >= after {
			newest = append(newest, name)
		}
	}
	slices.SortFunc(newest, func(a, b string) int {
		return cmp.Compare(segmentBase(a), segmentBase(b))
	})
	return newest
}

// segmentBase returns the first offset of a segment file, or -1 for a file
// with another name.
func segmentBase(name string) int64 {
	digits, ok := strings.CutSuffix(name, ".dat")
	if !ok {
		return -1
	}
	base, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return base
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
	return forcedConn{conn, l.forcer}, nil
}

// forcedConn holds each answer of the broker back until what it reflects is on
// disk: an acknowledged record, a committed position, a generation number, and
// and a record that a reader is about to see.
type forcedConn struct {
	net.Conn
	forcer *forcer
}

func (c forcedConn) Write(answer []byte) (int, error) {
	if err := c.forcer.force(); err != nil {
		return 0, err
	}
	return c.Conn.Write(answer)
}
