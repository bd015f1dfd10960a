//go:build !linux

package broker

import (
	"os"
	"time"
)

// forceData syncs a file.
func forceData(file *os.File) error { return file.Sync() }

// reserve does nothing: the file takes space as it grows.
func reserve(*os.File, int64) {}

// measure returns the size of a file or folder and the time of its last change.
func measure(file *os.File) (size int64, modified time.Time, err error) {
	at, err := file.Stat()
	if err != nil {
		return 0, time.Time{}, err
	}
	return at.Size(), at.ModTime(), nil
}
