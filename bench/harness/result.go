package harness

import (
	"bufio"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Result is the result of one run of a program of bench.
type Result struct {
	Scenario string    `json:"scenario"`
	Date     time.Time `json:"date"`
	Commit   string    `json:"commit"`
	Machine  Machine   `json:"machine"`
	// Pinned is true if the server had processor 1 and the generator processor 0.
	Pinned bool   `json:"pinned"`
	Seed   uint64 `json:"seed,omitempty"`
	// Bottleneck describes in one sentence the limiting factor of the figures.
	Bottleneck string        `json:"bottleneck"`
	Seconds    float64       `json:"seconds"`
	Rows       []Measurement `json:"rows"`
	Ratios     []Ratio       `json:"ratios,omitempty"`
	Violations []string      `json:"violations,omitempty"`
	Notes      []string      `json:"notes,omitempty"`
}

// Machine is the class of a machine.
type Machine struct {
	Processor string `json:"processor"`
	Cores     int    `json:"cores"`
	MemoryGiB int    `json:"memoryGiB"`
	Kernel    string `json:"kernel"`
	Go        string `json:"go"`
}

// Measurement is one row of a result. Zero figures were not measured.
type Measurement struct {
	Name string `json:"name"`
	// Kind is limit for the machine's capacity, service for the server's results.
	Kind            string  `json:"kind"`
	Round           int     `json:"round,omitempty"`
	Events          uint64  `json:"events,omitempty"`
	Seconds         float64 `json:"seconds,omitempty"`
	EventsPerSecond float64 `json:"eventsPerSecond,omitempty"`
	CPUPerEvent     float64 `json:"cpuMicrosPerEvent,omitempty"`
	// Latency is per request.
	Latency *Spread `json:"latency,omitempty"`
	// Late is the generator's own delay in an open loop.
	Late     *Spread `json:"late,omitempty"`
	Failures uint64  `json:"failures,omitempty"`
	Failure  string  `json:"failure,omitempty"`
	// Foreign is the share of a core that neither side used.
	Foreign  float64            `json:"foreign"`
	RSSBytes int64              `json:"rssBytes,omitempty"`
	Extra    map[string]float64 `json:"extra,omitempty"`
}

// Ratio compares a figure with its denominator of the same run.
type Ratio struct {
	Goal  string  `json:"goal"`
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Bound is the goal: a lower bound, or an upper bound if AtMost is set.
	Bound  float64 `json:"bound"`
	AtMost bool    `json:"atMost,omitempty"`
	Met    bool    `json:"met"`
}

// shortHash is the length of a commit's name in results.
const shortHash = 7

// Kinds of measurements.
const (
	KindLimit   = "limit"
	KindService = "service"
)

// AtLeast returns a ratio whose goal is a lower bound.
func AtLeast(goal, name string, value, bound float64) Ratio {
	return Ratio{Goal: goal, Name: name, Value: finite(value), Bound: bound, Met: value >= bound}
}

// AtMost returns a ratio whose goal is an upper bound.
func AtMost(goal, name string, value, bound float64) Ratio {
	return Ratio{Goal: goal, Name: name, Value: finite(value), Bound: bound, AtMost: true, Met: value <= bound}
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}

// Fill returns the row of a load with its cost.
func (o *Outcome) Fill(name, kind string, usage Usage) Measurement {
	spread := o.Latency.Spread()
	row := Measurement{
		Name: name, Kind: kind, Events: o.Events, Seconds: o.Elapsed.Seconds(), EventsPerSecond: math.Round(o.EventsPerSecond()),
		Latency: &spread, Failures: o.Failures, Failure: o.FirstFailure, Foreign: round3(usage.Foreign),
	}
	if o.Events > 0 {
		row.CPUPerEvent = round3(float64(usage.Server.Microseconds()) / float64(o.Events))
	}
	if o.Late.Count() > 0 {
		late := o.Late.Spread()
		row.Late = &late
	}
	return row
}

func round3(x float64) float64 { return math.Round(x*1000) / 1000 }

// Median returns the median of a figure over the rows of a name, zero without rows.
func (r *Result) Median(name string, figure func(*Measurement) float64) float64 {
	var values []float64
	for n := range r.Rows {
		if r.Rows[n].Name == name {
			values = append(values, figure(&r.Rows[n]))
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// NewResult begins a result on this machine. binary is the server's program. It is empty if no server is measured.
func NewResult(ctx context.Context, scenario, binary string, pinned bool) *Result {
	return &Result{Scenario: scenario, Date: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx, binary), Machine: ThisMachine(), Pinned: pinned}
}

// Write writes the result to a folder and returns the file's name.
func (r *Result) Write(folder string) (string, error) {
	r.Seconds = math.Round(time.Since(r.Date).Seconds())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("making the folder of results: %w", err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encoding the result: %w", err)
	}
	name := filepath.Join(folder, r.Scenario+"-"+r.Date.Format("20060102T150405Z")+"-"+r.Commit+".json")
	if err := os.WriteFile(name, append(text, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("writing the result: %w", err)
	}
	return name, nil
}

// ReadResults reads all results of a folder, oldest first.
func ReadResults(folder string) ([]Result, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("listing results: %w", err)
	}
	results := make([]Result, 0, len(names))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading a result: %w", err)
		}
		var result Result
		if err := json.Unmarshal(text, &result); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		results = append(results, result)
	}
	slices.SortStableFunc(results, func(a, b Result) int { return a.Date.Compare(b.Date) })
	return results, nil
}

// commit names the source: the commit that the program reports, marked if files were changed, or else the one of the
// working tree.
func commit(ctx context.Context, binary string) string {
	if info, err := buildinfo.ReadFile(binary); err == nil {
		stamp := map[string]string{}
		for _, setting := range info.Settings {
			stamp[setting.Key] = setting.Value
		}
		if revision := stamp["vcs.revision"]; len(revision) > shortHash {
			if stamp["vcs.modified"] == "true" {
				return revision[:shortHash] + "-modified"
			}
			return revision[:shortHash]
		}
	}
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "uncommitted"
	}
	return strings.TrimSpace(string(out))
}

// ThisMachine describes where the program runs.
func ThisMachine() Machine {
	machine := Machine{Cores: onlineCount(), Go: runtime.Version()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		machine.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		machine.MemoryGiB = int(math.Round(float64(info.Totalram) * float64(info.Unit) / (1 << 30)))
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		lines := bufio.NewScanner(strings.NewReader(string(text)))
		for lines.Scan() {
			if key, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(key) == "model name" {
				machine.Processor = strings.TrimSpace(value)
				break
			}
		}
	}
	return machine
}

// onlineCount counts the machine's processors, including those that this process may not use.
func onlineCount() int {
	cpus, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err != nil || len(cpus) == 0 {
		return runtime.NumCPU()
	}
	return len(cpus)
}

// Keys returns the names of extra figures in order.
func Keys(extra map[string]float64) []string { return slices.Sorted(maps.Keys(extra)) }
