package main

import (
	"context"
	"fmt"
	"syscall"
)

// leastDescriptors is the number of files that a process with the embedded engine must be
// allowed to open: idle it holds some 200, three more for each thread of the engine, and one
// for each file of the log and each connection.
const leastDescriptors = 1024

// clientShare is the part of the process's file descriptors that connections of clients may
// take: the log, the store and the calls of nodes go on when clients use up theirs.
const clientShare = 2

// checkDescriptors refuses a start that would fail later, in the middle of its work.
func (n *node) checkDescriptors(context.Context) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	if limit.Cur < leastDescriptors && n.config.ClickHouseDSN == "" {
		return fmt.Errorf("the process may open %d files, and the embedded store needs %d; raise the limit (ulimit -n)", limit.Cur, leastDescriptors)
	}
	n.descriptors = limit.Cur
	return nil
}

// clientConnections is how many connections clients may have open at a time.
func (n *node) clientConnections() int { return int(min(n.descriptors, 1<<30) / clientShare) }
