package broker

import (
	"os"

	"golang.org/x/sys/unix"
)

// forceData forces the content of a file, and its size if that changed.
func forceData(file *os.File) error { return unix.Fdatasync(int(file.Fd())) }

// reserve asks for disk space for a file. Without it, writing may fail later.
func reserve(file *os.File, size int64) { _ = unix.Fallocate(int(file.Fd()), 0, 0, size) }
