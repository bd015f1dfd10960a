package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/actors/grain"
	"svc/actors/pipeline"
)

// spareThreads is how many threads run Go code beyond the number of processors. The scheduler of
// the runtime lets a goroutine run for ten milliseconds and looks at the network only when it finds
// nothing else to do; with a thread to spare, the operating system decides which thread runs,
// and prefers one that has slept.
const spareThreads = 2

// addSpareThreads adds them unless the operator set a number of threads.
func addSpareThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareThreads)
	}
}

// processors are shared by what keeps one busy for milliseconds: reading long requests and folding records.
// There is one fewer than the machine has, but one at least, so that short work does not wait for them,
// however many they are. Waiting work is served in the order of arrival, so folding, which waits once for
// every partition, goes before taking in more.
type processors chan struct{}

// newProcessors returns the processors of the threads that are not spare, without one.
func newProcessors() processors {
	return make(processors, max(1, runtime.GOMAXPROCS(0)-spareThreads-1))
}

// Take waits for a processor.
func (p processors) Take(ctx context.Context) error {
	select {
	case p <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give gives it back.
func (p processors) Give() { <-p }

// leastDescriptors is how many files a process with the embedded engine must be
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

// newRandom returns the process's source of ids and secrets.
func newRandom() grain.Random {
	return grain.Random{
		ID: func(prefix string) string { return prefix + ulid.Make().String() },
		Bytes: func(n int) []byte {
			random := make([]byte, n)
			_, _ = rand.Read(random) // never fails: the runtime ends the process instead
			return random
		},
	}
}

// newBlockID returns a number for a block.
func (n *node) newBlockID(now time.Time) uint64 {
	return pipeline.NewBlockNumber(now, binary.LittleEndian.Uint32(n.random.Bytes(4)))
}
