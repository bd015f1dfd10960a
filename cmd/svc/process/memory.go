package process

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// LeastMemory is the memory that a node with an embedded store needs, in bytes. 512 MiB are recommended.
const LeastMemory = 400 << 20

// Memory divides the memory of the process among the parts that may take much of it. All sizes are in bytes.
type Memory struct {
	// Total is the least of the machine's memory, the limits of the control groups around the process, and SVC_MEMORY.
	Total int64
	// Heap is the limit of the Go runtime. Engine is the limit of the embedded store, which has a separate allocator.
	Heap, Engine int64
	// Fetched limits the records that are read from the log and not folded yet. Block limits the records of the open
	// block. The block that is being stored may hold as many again. Rows and the texts of an insert take several times
	// the size of their records.
	Fetched, Block int64
	// Ingest limits the bodies that are being read and decoded. Maps limits the parsed source maps in memory.
	Ingest, Maps int64
}

// These are the parts of the memory, and their limits if there is plenty of memory.
const (
	blockPart, mostBlock     = 128, 128 << 20
	fetchedPart, mostFetched = 32, 64 << 20
	mapsPart, mostMaps       = 16, 256 << 20
	ingestPart, leastIngest  = 5, 128 << 20 // the largest body fits
)

// DivideMemory returns the parts of the given memory. stated is SVC_INGEST_MEMORY.
func DivideMemory(total, stated int64, embedded bool) Memory {
	m := Memory{
		Total: total, Block: min(total/blockPart, mostBlock), Fetched: min(total/fetchedPart, mostFetched), Maps: min(total/mapsPart, mostMaps),
		Ingest: min(max(total/ingestPart, leastIngest), stated),
	}
	if m.Heap = total * 5 / 6; embedded { // stacks, threads and the pages of the program take the rest
		m.Heap, m.Engine = total*2/5, total*13/20 // together slightly more than all, since they peak at different times
	}
	return m
}

// LimitHeap makes the runtime collect more often before the heap exceeds its limit. It does nothing if the operator set
// GOMEMLIMIT.
func (m Memory) LimitHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(m.Heap)
	}
}

// FetchBytes returns the size of one answer of the log. partitions is the number of partitions that are read at the
// same time.
func (m Memory) FetchBytes(partitions int) int {
	const least = 64 << 10
	return int(max(m.Fetched/int64(max(partitions, 1)), least))
}

// FindMemory returns the memory that the process may use: the memory of the machine, or a lower limit of a control
// group, or stated if that is lower. If stated is 0, it sets no limit. root is /.
func FindMemory(root string, stated int64) int64 {
	total := int64(math.MaxInt64)
	if stated > 0 {
		total = stated
	}
	for _, text := range fields(filepath.Join(root, "proc/meminfo"), "MemTotal:") {
		if kilobytes, err := strconv.ParseInt(text, 10, 64); err == nil && kilobytes > 0 {
			total = min(total, kilobytes<<10)
		}
	}
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return total
	}
	for line := range strings.Lines(string(groups)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, named := strings.Cut(rest, ":")
		switch {
		case !named:
		case number == "0" && controllers == "": // version 2, alone or next to version 1
			total = min(total, groupLimit(root, "sys/fs/cgroup", group, "memory.max", "memory.high"), groupLimit(root, "sys/fs/cgroup/unified", group, "memory.max", "memory.high"))
		case slices.Contains(strings.Split(controllers, ","), "memory"):
			total = min(total, groupLimit(root, "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"))
		}
	}
	return total
}

// groupLimit returns the least limit of a control group and its parents. In a container the path may be the path on the
// host. Missing files are skipped. The root of the mount is the container's own group.
func groupLimit(root, mount, group string, files ...string) int64 {
	least := int64(math.MaxInt64)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(root, mount, group, file))
			if limit, wrong := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && wrong == nil && limit > 0 { // not "max"
				least = min(least, limit)
			}
		}
		if group == "/" {
			return least
		}
	}
}

// fields returns the first word after a name in each line of a file that begins with it.
func fields(file, name string) (words []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if found := strings.Fields(lines.Text()); len(found) > 1 && found[0] == name {
			words = append(words, found[1])
		}
	}
	return words
}
