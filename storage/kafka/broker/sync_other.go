//go:build !linux

package broker

import "os"

// forceData forces a file.
func forceData(file *os.File) error { return file.Sync() }

// reserve does nothing: space is taken as the file grows.
func reserve(*os.File, int64) {}
