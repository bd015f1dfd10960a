package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"svc/bench/recount/suite"
)

// TestTheServerCountsRight is the short form of the program: it builds the server, fills it, and asks some hundred
// random questions.
func TestTheServerCountsRight(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	binary := filepath.Join(dir, "svc")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "svc/cmd/svc")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	combinations, families, rounds, erasures := 400, 20, 2, 1
	if testing.Short() {
		combinations, families, rounds, erasures = 120, 8, 1, 0
	}
	for _, moves := range []bool{false, true} {
		if testing.Short() && !moves {
			continue // without restarts, one node counts like two
		}
		t.Run(fmt.Sprint("moves=", moves), func(t *testing.T) {
			o := options{binary: binary, moves: moves, Settings: suite.Settings{
				Seed: 20261120, Combinations: combinations, Visitors: 220, Families: families, Rounds: rounds, Erasures: erasures, Workers: 2, Tell: t.Logf,
			}}
			report, err := run(ctx, &o, t.TempDir())
			if err != nil {
				t.Fatalf("seed %d: %v", o.Seed, err)
			}
			t.Log(summary(report))
			if err := verdict(report, o.Seed); err != nil {
				t.Error(err)
			}
		})
	}
}
