package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Process is a child of the benchmark. It dies with its parent.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	log    *os.File
	once   sync.Once
}

// Unpinned is the processor of a process that may run anywhere.
const Unpinned = -1

// StartProcess starts a program on a processor or anywhere. Its output is appended to a file.
func StartProcess(cpu int, environment []string, logFile, program string, args ...string) (*Process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if cpu != Unpinned {
		args = append([]string{"-c", strconv.Itoa(cpu), program}, args...)
		program = "taskset"
	} else if online := onlineCPUs(); online != "" {
		args = append([]string{"-c", online, program}, args...)
		program = "taskset"
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p := &Process{cmd: cmd, exited: make(chan struct{}), log: log}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", program, err), log.Close())
	}
	go func() {
		_ = cmd.Wait() // a failure shows in the missing results
		close(p.exited)
	}()
	return p, nil
}

// onlineCPUs returns all processors, to undo the generator's own pinning for a child.
func onlineCPUs() string {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return ""
	}
	return string(text[:max(0, len(text)-1)])
}

// PID returns the number of the process; taskset replaces itself by the program.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed once the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the process at once, as kill -9 does, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	p.reap()
}

// Stop asks the process to end and kills it if it does not within limit.
func (p *Process) Stop(limit time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		p.reap()
		return nil
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("stopping: still running after %s, killed", limit)
	}
}

func (p *Process) reap() {
	<-p.exited
	p.once.Do(func() { _ = p.log.Close() })
}

// Ports of [FreeAddress]: below the range from which the kernel assigns ports to outgoing connections, which could take
// an address before its server listens.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// FreeAddress returns an unused loopback address.
func FreeAddress(ctx context.Context) (string, error) {
	var last error
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(lastPort-firstPort)))
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err == nil {
			return address, listener.Close()
		}
		last = err
	}
	return "", fmt.Errorf("finding a free port: %w", last)
}
