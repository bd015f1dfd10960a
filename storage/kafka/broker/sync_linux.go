package broker

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// forceData syncs the content of a file, and its size if that changed.
func forceData(file *os.File) error { return unix.Fdatasync(int(file.Fd())) }

// reserve allocates disk space for a file. If that fails, a later write may fail.
func reserve(file *os.File, size int64) { _ = unix.Fallocate(int(file.Fd()), 0, 0, size) }

// measure returns the size of a file or folder and the time of its last change.
func measure(file *os.File) (size int64, modified time.Time, err error) {
	var at unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &at); err != nil {
		return 0, time.Time{}, os.NewSyscallError("fstat", err)
	}
	return at.Size, time.Unix(at.Mtim.Unix()), nil
}
