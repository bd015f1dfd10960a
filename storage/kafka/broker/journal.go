package broker

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	// journalBytes is the size of one half of the journal.
	journalBytes = 32 << 20

	// journalBuffer is the largest buffer that is reused for the next round.
	journalBuffer = 4 << 20
)

// journal makes appends to many files durable by syncing one file. It holds a copy of the appended bytes, and it is
// replayed when the broker opens. When one half of the journal is full, the files themselves are synced in the
// background, and the other half takes the next entries.
//
// Entries repeat bytes at their position in a file. Replaying them twice, or replaying entries of files that are
// already synced, therefore changes nothing. Everything that is not in the journal must be on disk: a sync of files
// that bypasses the journal requires emptying the journal.
//
// Only one goroutine uses a journal.
type journal struct {
	dir    string
	limit  int64
	halves [2]*os.File

	current    int
	generation uint64
	end        int64
	touched    map[string]struct{} // files with entries in the current half

	// filled receives the result of syncing the files of the other half. It is nil if there is nothing to wait for.
	filled chan error

	buffer []byte
}

// errJournalFull reports a round that does not fit into the journal.
var errJournalFull = errors.New("round does not fit into the journal")

// An entry is its length and checksum, and then: generation, position in the file, flags, length of the name, name,
// data. The checksum covers everything after it.
const (
	entryHead    = 4 + 4 + 8 + 8 + 1 + 2
	entryCreated = 1
)

// openJournal creates an empty journal in a folder without one, see [replayJournal].
func openJournal(dir string) (*journal, error) {
	j := &journal{dir: dir, limit: journalBytes, generation: 1, touched: map[string]struct{}{}}
	for n := range j.halves {
		file, err := os.OpenFile(journalName(dir, n), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening the journal: %w", err), j.close(false))
		}
		reserve(file, j.limit)
		j.halves[n] = file
	}
	if err := force(dir); err != nil {
		return nil, errors.Join(err, j.close(false))
	}
	return j, nil
}

func journalName(dir string, half int) string {
	return filepath.Join(dir, fmt.Sprintf("journal-%d", half))
}

// append makes growths durable. If it returns errJournalFull, none of them is durable.
func (j *journal) append(growths []growth) error {
	if err := j.encode(growths); err != nil {
		return err
	}
	if j.end+int64(len(j.buffer)) > j.limit {
		if err := j.turn(); err != nil {
			return err
		}
		if err := j.encode(growths); err != nil { // with the new generation
			return err
		}
	}
	if int64(len(j.buffer)) > j.limit {
		return errJournalFull
	}
	half := j.halves[j.current]
	if _, err := half.WriteAt(j.buffer, j.end); err != nil {
		return fmt.Errorf("%w: %w", errJournalFull, err)
	}
	if err := forceData(half); err != nil {
		return fmt.Errorf("forcing the journal: %w", err)
	}
	j.end += int64(len(j.buffer))
	for _, g := range growths {
		j.touched[g.file.Name()] = struct{}{}
	}
	if cap(j.buffer) > journalBuffer {
		j.buffer = nil
	}
	return nil
}

// encode fills the buffer with the entries of growths.
func (j *journal) encode(growths []growth) error {
	le := binary.LittleEndian
	j.buffer = j.buffer[:0]
	for _, g := range growths {
		name, err := filepath.Rel(j.dir, g.file.Name())
		if err != nil {
			return err
		}
		begin, size := len(j.buffer), int(g.to-g.from)
		if int64(begin+size) > j.limit {
			return errJournalFull
		}
		j.buffer = append(j.buffer, make([]byte, 8)...)
		j.buffer = le.AppendUint64(j.buffer, j.generation)
		j.buffer = le.AppendUint64(j.buffer, uint64(g.from))
		flags := byte(0)
		if g.created {
			flags = entryCreated
		}
		j.buffer = append(j.buffer, flags)
		j.buffer = le.AppendUint16(j.buffer, uint16(len(name)))
		j.buffer = append(j.buffer, name...)
		data := len(j.buffer)
		j.buffer = slices.Grow(j.buffer, size)[:data+size]
		if _, err := g.file.ReadAt(j.buffer[data:], g.from); err != nil {
			return fmt.Errorf("%w: reading what was appended to %s: %w", errJournalFull, name, err)
		}
		entry := j.buffer[begin:]
		le.PutUint32(entry, uint32(len(entry)))
		le.PutUint32(entry[4:], crc32.Checksum(entry[8:], crc32.MakeTable(crc32.Castagnoli)))
	}
	return nil
}

// turn switches to the other half once the files of that half are synced. It syncs the files of the current half in the
// background.
func (j *journal) turn() error {
	if err := j.wait(); err != nil {
		return err
	}
	touched, filled := slices.Collect(maps.Keys(j.touched)), make(chan error, 1)
	go func() { filled <- forceFiles(touched) }()
	j.filled = filled
	clear(j.touched)
	j.current, j.end = 1-j.current, 0
	j.generation++
	return nil
}

// wait returns once the files of the other half are synced.
func (j *journal) wait() error {
	if j.filled == nil {
		return nil
	}
	err := <-j.filled
	j.filled = nil
	return err
}

// settle syncs all files with entries and empties the journal.
func (j *journal) settle() error {
	if err := errors.Join(j.wait(), forceFiles(slices.Collect(maps.Keys(j.touched)))); err != nil {
		return err
	}
	return j.empty()
}

// empty invalidates all entries, the older half first. Without the newer entries, the older ones would undo newer data.
func (j *journal) empty() error {
	clear(j.touched)
	j.generation, j.end = j.generation+1, 0
	for _, half := range []*os.File{j.halves[1-j.current], j.halves[j.current]} {
		info, err := half.Stat()
		if err != nil {
			return fmt.Errorf("emptying the journal: %w", err)
		}
		if info.Size() == 0 {
			continue // the disk may have no space for the write
		}
		if _, err := half.WriteAt(make([]byte, entryHead), 0); err != nil {
			return fmt.Errorf("emptying the journal: %w", err)
		}
		if err := forceData(half); err != nil {
			return fmt.Errorf("emptying the journal: %w", err)
		}
	}
	return nil
}

// erase does the same as settle, and also leaves no byte of an entry on the disk.
func (j *journal) erase() error {
	if err := j.settle(); err != nil {
		return err
	}
	for _, half := range j.halves {
		if err := errors.Join(half.Truncate(0), forceData(half)); err != nil {
			return fmt.Errorf("erasing the journal: %w", err)
		}
		reserve(half, j.limit)
	}
	return nil
}

// close closes the journal. If there is nothing to replay, the caller sets remove to delete it.
func (j *journal) close(remove bool) error {
	var failed []error
	for n, half := range j.halves {
		if half == nil {
			continue
		}
		failed = append(failed, half.Close())
		if remove {
			failed = append(failed, os.Remove(journalName(j.dir, n)))
		}
	}
	return errors.Join(failed...)
}

// forceAtOnce limits the number of files that are synced in parallel. Each takes a thread, and may take a file
// descriptor.
const forceAtOnce = 32

// forceFiles syncs files and the names in their folders. It ignores deleted files.
func forceFiles(paths []string) error {
	folders := map[string]struct{}{}
	for _, path := range paths {
		folders[filepath.Dir(path)] = struct{}{}
	}
	for _, names := range [][]string{paths, slices.Collect(maps.Keys(folders))} {
		var group errgroup.Group
		group.SetLimit(forceAtOnce)
		for _, name := range names {
			group.Go(func() error {
				if err := force(name); !errors.Is(err, os.ErrNotExist) {
					return err
				}
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// force syncs a file, or the names in a folder.
func force(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// replayJournal writes the entries of a folder's journal to the files, syncs the files and removes the journal. If the
// process is killed at any point, the replay can begin again.
func replayJournal(dir string) error {
	type half struct {
		path    string
		entries []entry
	}
	var halves []half
	for n := range 2 {
		path := journalName(dir, n)
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading the journal: %w", err)
		}
		halves = append(halves, half{path, entriesIn(content)})
	}
	slices.SortFunc(halves, func(a, b half) int { return cmp.Compare(generationOf(a.entries), generationOf(b.entries)) })
	var touched []string
	for _, h := range halves {
		for _, e := range h.entries {
			path := filepath.Join(dir, e.name)
			if err := e.apply(path); err != nil {
				return fmt.Errorf("replaying the journal: %w", err)
			}
			touched = append(touched, path)
		}
	}
	slices.Sort(touched)
	if err := forceFiles(slices.Compact(touched)); err != nil {
		return fmt.Errorf("replaying the journal: %w", err)
	}
	for _, h := range halves { // the older half first, see empty
		if err := errors.Join(os.Remove(h.path), force(dir)); err != nil {
			return fmt.Errorf("removing the journal: %w", err)
		}
	}
	return nil
}

// generationOf returns the generation of entries, or 0 without entries.
func generationOf(entries []entry) uint64 {
	if len(entries) == 0 {
		return 0
	}
	return entries[0].generation
}

// entry is a copy of a part of a file.
type entry struct {
	generation uint64
	offset     int64
	created    bool
	name       string
	data       []byte
}

// entriesIn returns the entries of one generation, up to the first incomplete entry.
func entriesIn(content []byte) (entries []entry) {
	le := binary.LittleEndian
	for len(content) >= entryHead {
		length := int64(le.Uint32(content))
		if length < entryHead || length > int64(len(content)) {
			return entries
		}
		raw := content[:length]
		content = content[length:]
		name := entryHead + int64(le.Uint16(raw[entryHead-2:]))
		if name > length || crc32.Checksum(raw[8:], crc32.MakeTable(crc32.Castagnoli)) != le.Uint32(raw[4:]) {
			return entries
		}
		e := entry{
			generation: le.Uint64(raw[8:]), offset: int64(le.Uint64(raw[16:])), created: raw[24] == entryCreated,
			name: string(raw[entryHead:name]), data: raw[name:],
		}
		if len(entries) > 0 && e.generation != entries[0].generation || !filepath.IsLocal(e.name) {
			return entries
		}
		entries = append(entries, e)
	}
	return entries
}

// apply writes the entry to its file. If the file is missing, it was deleted, unless the entry creates it. If the
// folder is missing, it was deleted with its topic.
func (e *entry) apply(path string) error {
	flags := os.O_WRONLY
	if e.created {
		flags |= os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.WriteAt(e.data, e.offset)
	return errors.Join(err, file.Close())
}
