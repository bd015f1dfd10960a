package datadir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Reserve is a file that occupies disk space until the space is needed. On a full disk even a removal can fail, because
// a record of it is written first. Only one goroutine at a time may use a Reserve.
type Reserve struct {
	path string
	size int64
	held bool // held by this process
}

// reserveName is the name of the file in the data folder.
const reserveName = "reserve"

// NewReserve returns the reserve of a data folder, with a size in bytes. It leaves the file as an earlier process left
// it.
func NewReserve(folder string, size int64) *Reserve {
	return &Reserve{path: filepath.Join(folder, reserveName), size: size}
}

// Size returns the number of bytes that the file occupies while it is held.
func (r *Reserve) Size() uint64 { return uint64(r.size) }

// Held reports whether the file occupies its space. It counts blocks, because a sparse file has a length but occupies
// nothing.
func (r *Reserve) Held() bool {
	if r.held {
		return true
	}
	info, err := os.Stat(r.path)
	if err != nil {
		return false
	}
	const block = 512 // the unit of Blocks on all systems
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Blocks*block >= r.size
}

// Hold occupies the space unless it is held. After an error no space is occupied.
func (r *Reserve) Hold() error {
	if r.Held() {
		return nil
	}
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("making the reserve: %w", err)
	}
	if err = errors.Join(r.fill(file), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("filling the reserve: %w", err), r.Release())
	}
	r.held = true
	return nil
}

// fill writes incompressible bytes, because some file systems store no zeros.
func (r *Reserve) fill(file *os.File) error {
	piece := make([]byte, 1<<20)
	_, _ = rand.Read(piece) // never fails
	for left := r.size; left > 0; left -= int64(len(piece)) {
		if _, err := file.Write(piece[:min(left, int64(len(piece)))]); err != nil {
			return err
		}
	}
	return nil
}

// Release frees the space if it is held.
func (r *Reserve) Release() error {
	r.held = false
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("giving up the reserve: %w", err)
	}
	return nil
}
