package bare

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"svc/bench/harness"
)

// Variables by which a parent configures its child.
const (
	roleVariable    = "SVC_BENCH_ROLE"
	addressVariable = "SVC_BENCH_ADDRESS"
)

// Main runs the bare program for which the process was started, and reports whether there was one. It must be called
// before the flags are parsed.
func Main() (ran bool, err error) {
	role := os.Getenv(roleVariable)
	switch role {
	case "":
		return false, nil
	case roleProduce:
		return true, report(measureProduce())
	case roleColumns:
		return true, report(measureColumns())
	case roleKept, roleFresh, rolePaced:
		return true, report(measureChecks(role))
	case roleStreams:
		return true, serveStreams(os.Getenv(addressVariable))
	case roleRelay:
		return true, serveRelay(os.Getenv(addressVariable))
	case Flags:
		return true, serveFlags(os.Getenv(addressVariable))
	default:
		return true, serve(role, os.Getenv(addressVariable))
	}
}

func report(rows []harness.Measurement, err error) error {
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(rows)
}

// batchTime limits a bare program that measures itself.
const batchTime = 3 * time.Minute

// run executes a bare program that measures itself on a processor, with variables in addition to its role.
func run(ctx context.Context, role string, cpu int, variables ...string) ([]harness.Measurement, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	if cpu != harness.Unpinned {
		cmd = exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(cpu), self)
	}
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), variables...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("measuring %s: %w", role, errors.Join(err, errors.New(problems.String())))
	}
	var rows []harness.Measurement
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		return nil, fmt.Errorf("reading the figures of %s: %w", role, err)
	}
	return rows, nil
}

// Produce measures blocks that are produced to the same kind of embedded broker, with client and broker on one
// processor.
func Produce(ctx context.Context, cpu int) ([]harness.Measurement, error) {
	return run(ctx, roleProduce, cpu)
}

// Columns measures rows appended to columns and encoded.
func Columns(ctx context.Context, cpu int) ([]harness.Measurement, error) {
	return run(ctx, roleColumns, cpu)
}

// Roles of children.
const (
	roleProduce = "produce"
	roleColumns = "columns"
)
