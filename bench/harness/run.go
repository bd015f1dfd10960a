package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// Run holds the values of the flags that most programs share.
type Run struct {
	// Binary is the server's program.
	Binary string
	// Results is the folder of results; empty writes none.
	Results string
	// Pin gives the server and this process one processor each.
	Pin bool
	// Limit is the time after which the run fails.
	Limit time.Duration
}

// Flags registers the flags, with a default limit.
func (r *Run) Flags(limit time.Duration) {
	flag.StringVar(&r.Binary, "server", "bin/svc", "the server's program")
	flag.StringVar(&r.Results, "results", "bench/results", "folder of results; empty writes none")
	flag.BoolVar(&r.Pin, "pin", false, "server on processor 1, generator on processor 0")
	flag.DurationVar(&r.Limit, "limit", limit, "the run ends with an error after this time")
}

// CPU is the processor of the server.
func (r *Run) CPU() int {
	if r.Pin {
		return ServerCPU
	}
	return Unpinned
}

// Within runs work until the limit, on the generator's processor if the run is pinned. It gives work a folder that is
// removed afterwards.
func (r *Run) Within(ctx context.Context, program string, work func(ctx context.Context, dir string) error) (err error) {
	if r.Pin {
		if err := PinSelf(GeneratorCPU); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Limit, fmt.Errorf("the run took longer than %s", r.Limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "svc-"+program+"-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return work(ctx, dir)
}

// Keep writes a result into the folder of results. It returns the violations as errors.
func (r *Run) Keep(result *Result) error {
	var err error
	for _, violation := range result.Violations {
		err = errors.Join(err, errors.New(violation))
	}
	if r.Results == "" {
		return err
	}
	name, writing := result.Write(r.Results)
	if writing == nil {
		fmt.Println("written:", name)
	}
	return errors.Join(err, writing)
}
