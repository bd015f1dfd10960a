package harness

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the kernel's accounting in /proc.
const tick = 10 * time.Millisecond

// ProcessCPU returns the user and system time of a process, including its ended threads.
func ProcessCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the accounting: %w", err)
	}
	// The name of the command, in brackets, may contain anything.
	end := bytes.LastIndexByte(text, ')')
	fields := strings.Fields(string(text[end+1:]))
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("reading the accounting: %q", text)
	}
	user, errUser := strconv.ParseInt(fields[11], 10, 64)
	system, errSystem := strconv.ParseInt(fields[12], 10, 64)
	if errUser != nil || errSystem != nil {
		return 0, fmt.Errorf("reading the accounting: %q", text)
	}
	return time.Duration(user+system) * tick, nil
}

// ProcessRSS returns the resident bytes of a process, and the part without pages of mapped files.
func ProcessRSS(pid int) (total, anonymous int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, fmt.Errorf("reading the memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			total = kilobytes << 10
		case "RssAnon":
			anonymous = kilobytes << 10
		}
	}
	return total, anonymous, nil
}

// machineCPU returns the busy time of all processors, including stolen time.
func machineCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("reading the machine's accounting: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var busy int64
	for n, word := range strings.Fields(line) {
		// The columns are: cpu user nice system idle iowait irq softirq steal guest …
		if n == 0 || n == 4 || n == 5 || n > 8 {
			continue
		}
		ticks, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the machine's accounting: %w", err)
		}
		busy += ticks
	}
	return time.Duration(busy) * tick, nil
}

// Meter measures a server over a span of time.
type Meter struct {
	pid                   int
	began                 time.Time
	server, self, machine time.Duration
}

// StartMeter begins to measure a process.
func StartMeter(pid int) (*Meter, error) {
	m := &Meter{pid: pid, began: time.Now()}
	var err error
	m.server, m.self, m.machine, err = m.read()
	return m, err
}

func (m *Meter) read() (server, self, machine time.Duration, err error) {
	if server, err = ProcessCPU(m.pid); err != nil {
		return 0, 0, 0, err
	}
	if self, err = ProcessCPU(os.Getpid()); err != nil {
		return 0, 0, 0, err
	}
	machine, err = machineCPU()
	return server, self, machine, err
}

// Usage is the cost of a span of time.
type Usage struct {
	Elapsed time.Duration
	// Server is the CPU time of the server, Generator that of this process.
	Server, Generator time.Duration
	// Foreign is the share of one core that neither side used.
	Foreign float64
}

// Read returns the usage since the beginning.
func (m *Meter) Read() (Usage, error) {
	server, self, machine, err := m.read()
	if err != nil {
		return Usage{}, err
	}
	usage := Usage{Elapsed: time.Since(m.began), Server: server - m.server, Generator: self - m.self}
	if usage.Elapsed > 0 {
		usage.Foreign = float64(machine-m.machine-usage.Server-usage.Generator) / float64(usage.Elapsed)
	}
	return usage, nil
}
