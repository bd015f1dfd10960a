package state

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc/storage/datadir"
)

// forcedFile is the write-ahead log of the journal's engine, which appends to a file of the
// highest number and now and then begins the next. The engine leaves it to the operating
// system; a force from outside covers what it has written, since both write to one file.
type forcedFile struct {
	dir  string
	last string // the newest file that was forced
}

// force returns once everything that the engine appended before is on disk. Its callers come
// one after another; nil forces nothing.
func (f *forcedFile) force() error {
	if f == nil {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(f.dir, "*.log"))
	if err != nil {
		return err
	}
	slices.SortFunc(files, byNumber)
	newer, _ := slices.BinarySearchFunc(files, f.last, byNumber)
	if newer == len(files) {
		return fmt.Errorf("there is no log in %s", filepath.Base(f.dir))
	}
	for _, file := range files[newer:] {
		// The engine removes a file once its content is in forced ones.
		if err := datadir.Force(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	newest := files[len(files)-1]
	if newest == f.last {
		return nil
	}
	if err := datadir.Force(f.dir); err != nil { // the name of the newest
		return err
	}
	f.last = newest
	return nil
}

// byNumber orders files whose names are numbers with leading zeros.
func byNumber(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
