package broker

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// growth is the part of a file that was appended since the last round.
type growth struct {
	file     *os.File
	from, to int64

	// created reports that the file is new, and its name must be forced too.
	created bool
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
	_, modified, err := measure(l.handle)
	if err != nil {
		return nil, err
	}
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
	size, _, err := measure(l.active)
	if err != nil {
		return nil, err
	}
	return l.reach(files, size), nil
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
