package harness

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Processors of a pinned run.
const (
	GeneratorCPU = 0
	ServerCPU    = 1
)

// pinnedVariable marks a process that already runs on its processor.
const pinnedVariable = "SVC_BENCH_PINNED"

// PinSelf puts the whole process on a processor: it replaces itself by the same program with the same arguments there.
// It returns nil in the replacement.
func PinSelf(cpu int) error {
	if os.Getenv(pinnedVariable) != "" {
		return os.Unsetenv(pinnedVariable)
	}
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program: %w", err)
	}
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to processor %d: %w", cpu, err)
	}
	err = syscall.Exec(path, os.Args, append(os.Environ(), pinnedVariable+"=1"))
	return fmt.Errorf("starting over on processor %d: %w", cpu, err)
}
