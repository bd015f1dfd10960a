// Package process sets and shares the resources of the process: threads, processors for long work, open
// files, and randomness.
package process

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"syscall"

	"github.com/oklog/ulid/v2"

	"svc/actors/grain"
)

const (
	// usualGarbage and mostGarbage are the allocation between two collections, in percent of the live heap: the
	// runtime's default, and the setting for a small heap.
	usualGarbage, mostGarbage = 100, 400
	// smallGarbage limits, in bytes, the allocation of a small heap between two collections.
	smallGarbage = 256 << 20
)

// SpareCollections makes the runtime collect a small heap less often, unless the operator set GOGC. Collections take
// processor time from requests in slices of up to ten milliseconds. With the runtime's default, a busy node of a few
// dozen megabytes needs several per second. A heap of more than smallGarbage is collected as usual.
func SpareCollections() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(garbagePercent(live[0].Value.Uint64()))
	// The finalizer of an unreferenced object runs after the next collection.
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { SpareCollections() })
}

// garbagePercent returns the setting for a heap with a number of live bytes.
func garbagePercent(live uint64) int {
	return int(min(max(smallGarbage*100/max(live, 1), usualGarbage), mostGarbage))
}

// leastDescriptors is the number of files that a process with the embedded engine must be allowed to open. Idle it
// holds some 200. It needs three more for each thread of the engine, and one for each file of the log and each
// connection.
const leastDescriptors = 1024

// clientShare divides the process's file descriptors: the quotient is the limit for client connections. The log, the
// store and the calls of nodes continue when clients use up theirs.
const clientShare = 2

// Descriptors returns the number of files that the process may open. It returns an error if an embedded store needs
// more: such a node would fail later, in the middle of its work.
func Descriptors(embedded bool) (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("reading the limit of open files: %w", err)
	}
	if limit.Cur < leastDescriptors && embedded {
		return 0, fmt.Errorf("the process may open %d files, and the embedded store needs %d; raise the limit (ulimit -n)", limit.Cur, leastDescriptors)
	}
	return limit.Cur, nil
}

// ClientConnections returns the limit of simultaneous client connections in a process with a number of descriptors.
func ClientConnections(descriptors uint64) int { return int(min(descriptors, 1<<30) / clientShare) }

// NewRandom returns the process's source of ids and secrets.
func NewRandom() grain.Random {
	return grain.Random{
		ID: func(prefix string) string { return prefix + ulid.Make().String() },
		Bytes: func(n int) []byte {
			random := make([]byte, n)
			_, _ = rand.Read(random) // never fails: the runtime ends the process instead
			return random
		},
	}
}
