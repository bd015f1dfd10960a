package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// GoBenchmark is one line of the output of go test -bench.
type GoBenchmark struct {
	// Name omits the word Benchmark and the number of processors.
	Name string
	Runs int
	// Metrics are the figures by their units, for example ns/op.
	Metrics map[string]float64
}

// RunGoBenchmarks runs the benchmarks of a package with names that match a pattern, each for a number of runs, with
// additions to the environment. It prints the output of go test.
func RunGoBenchmarks(ctx context.Context, folder, pattern string, runs int, environment ...string) ([]GoBenchmark, error) {
	command := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", strconv.Itoa(runs)+"x", "-timeout", "0", folder)
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("running the benchmarks of %s: %w", folder, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("running the benchmarks of %s: %w", folder, err)
	}
	found, reading := ParseGoBenchmarks(io.TeeReader(output, os.Stdout))
	if err := command.Wait(); err != nil {
		return nil, fmt.Errorf("running the benchmarks of %s: %w", folder, err)
	}
	if reading == nil && len(found) == 0 {
		return nil, fmt.Errorf("%s has no benchmark that matches %q", folder, pattern)
	}
	return found, reading
}

// ParseGoBenchmarks parses the benchmark lines in the output of go test.
func ParseGoBenchmarks(output io.Reader) ([]GoBenchmark, error) {
	var found []GoBenchmark
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if one, isBenchmark := parseGoBenchmark(lines.Text()); isBenchmark {
			found = append(found, one)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading benchmarks: %w", err)
	}
	return found, nil
}

// parseGoBenchmark parses a line such as "BenchmarkX/y-2 30 12.5 p50-ms 3.1 ratio".
func parseGoBenchmark(line string) (one GoBenchmark, isBenchmark bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 {
		return one, false
	}
	name, isBenchmark := strings.CutPrefix(fields[0], "Benchmark")
	runs, err := strconv.Atoi(fields[1])
	if !isBenchmark || err != nil {
		return one, false
	}
	if at := strings.LastIndexByte(name, '-'); at > 0 {
		if _, err := strconv.Atoi(name[at+1:]); err == nil {
			name = name[:at]
		}
	}
	one = GoBenchmark{Name: name, Runs: runs, Metrics: map[string]float64{}}
	for n := 2; n < len(fields); n += 2 {
		value, err := strconv.ParseFloat(fields[n], 64)
		if err != nil {
			return one, false
		}
		one.Metrics[fields[n+1]] = value
	}
	return one, true
}
