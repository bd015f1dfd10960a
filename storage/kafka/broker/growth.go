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

	// created means that the file is new, so that its name must be synced too.
	created bool
}

// forcedLog tracks the files of one directory that are written at their end. Only the running round uses it.
//
// A round queries two things through open handles: whether the directory changed, and the size of the active file. It
// reads the names only after a change. A directory's time has the resolution of a clock tick. A directory that changed
// within the last second may therefore change again without a new time. It counts as changed until its time is older.
type forcedLog struct {
	dir    string
	pick   func(names []string, last string) []string
	handle *os.File

	// changed is the directory's time when its names were last read. It is zero while that time cannot be trusted yet.
	changed time.Time

	active *os.File
	info   os.FileInfo
	forced int64

	// retired files are complete. The round that retires them syncs them a last time.
	retired []*os.File
}

// settleTime is the minimum age of a directory's time. At that age the time differs from the time of any later change.
const settleTime = time.Second

// dirty appends the growth of the files since the previous round. It reads the sizes before the files are synced, so
// that the next round sees any growth during this one.
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
		return files, nil // no file exists yet
	}
	size, _, err := measure(l.active)
	if err != nil {
		return nil, err
	}
	return l.reach(files, size), nil
}

// reach appends the growth of the active file to a size. A file shrinks if the broker cuts off a failed write. Such a
// file is synced at its present size.
func (l *forcedLog) reach(files []growth, size int64) []growth {
	if size == l.forced {
		return files
	}
	from := min(l.forced, size)
	l.forced = size
	return append(files, growth{file: l.active, from: from, to: size})
}

// look reads the names and appends the growth of the active file and of all newer ones. The caller has read the
// directory's time before.
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

// follow makes the file with this name the active file and appends its growth.
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

// closeRetired closes the retired files. They were only read, so errors do not matter.
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

// pickSegments selects the last active segment and all later ones, in order of their first offset.
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

// segmentBase returns the first offset of a segment file, or -1 if the name is not that of a segment.
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
