// Command recount sends thousands of random queries to a server and recomputes every answer from the rows that the
// server was sent, with code that shares nothing with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc/bench/harness"
	"svc/bench/recount/suite"
	"svc/bench/recount/traffic"
)

// drainTime limits the wait until everything is stored.
const drainTime = 5 * time.Minute

// shownFailures limits the failures that are printed in full.
const shownFailures = 25

// options are the flags.
type options struct {
	suite.Settings

	binary string
	moves  bool
	limit  time.Duration
}

func main() { harness.Main("recount", start) }

func start(ctx context.Context) error {
	var o options
	flag.StringVar(&o.binary, "server", "bin/svc", "the server's program")
	flag.Uint64Var(&o.Seed, "seed", 0, "seed of traffic and questions, chosen where it is 0")
	flag.IntVar(&o.Combinations, "combinations", 10_000, "number of questions")
	flag.IntVar(&o.Visitors, "visitors", 1500, "visitors of each of the three applications")
	flag.IntVar(&o.Families, "families", 120, "families whose members identify themselves on shared devices")
	flag.IntVar(&o.Rounds, "rounds", 4, "rounds in which they send; the server starts again after each")
	flag.IntVar(&o.Erasures, "erasures", 4, "people who are erased after each round")
	flag.IntVar(&o.Workers, "workers", 2, "questions under way at a time")
	flag.IntVar(&o.Only, "only", 0, "ask this one combination")
	flag.BoolVar(&o.moves, "moves", false, "have a second node take partitions over and lose them while items are stored")
	flag.DurationVar(&o.limit, "limit", 40*time.Minute, "the run ends with an error after this time")
	flag.Parse()
	if o.Seed == 0 {
		o.Seed = uint64(time.Now().UnixNano()) % 1_000_000_007
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, fmt.Errorf("the run took longer than %s", o.limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "svc-recount-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	fmt.Printf("seed %d\n", o.Seed)
	o.Tell = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	began := time.Now()
	report, err := run(ctx, &o, dir)
	if err != nil {
		return fmt.Errorf("seed %d, data in %s: %w", o.Seed, dir, err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // data of a run that can be repeated
	fmt.Printf("%s in %s\n", summary(report), time.Since(began).Round(time.Second))
	return verdict(report, o.Seed)
}

// run starts a server in dir, asks, and stops it.
func run(ctx context.Context, o *options, dir string) (*suite.Report, error) {
	places := filepath.Join(dir, "cities.mmdb")
	if err := os.WriteFile(places, traffic.CityDatabase(), 0o600); err != nil {
		return nil, fmt.Errorf("writing the database of cities: %w", err)
	}
	common := harness.Settings{
		Binary: o.binary, Dir: dir, Sync: "os", Flush: "100ms", CPU: harness.Unpinned,
		Environment: []string{"SVC_PARTITIONS=4", "SVC_GEO_DB=" + places, "SVC_ERASURE_DELAY=300ms"},
	}
	if o.moves {
		return runPair(ctx, o, common)
	}
	server, err := harness.NewServer(ctx, common)
	if err != nil {
		return nil, err
	}
	defer server.Kill()
	if _, err := server.Open(ctx); err != nil {
		return nil, err
	}
	report, err := ask(ctx, o, server, func(ctx context.Context) error { return server.AwaitDrained(ctx, drainTime) })
	return report, errors.Join(err, server.Stop())
}

// runPair is run with a second node.
func runPair(ctx context.Context, o *options, common harness.Settings) (*suite.Report, error) {
	nodes, err := newPair(ctx, common)
	if err != nil {
		return nil, err
	}
	defer nodes.kill()
	if err := nodes.open(ctx); err != nil {
		return nil, err
	}
	report, err := ask(ctx, o, nodes.first, nodes.drained)
	return report, errors.Join(err, nodes.stop())
}

// ask sends items to a server and runs the questions.
func ask(ctx context.Context, o *options, server *harness.Server, drained func(context.Context) error) (*suite.Report, error) {
	settings := o.Settings
	settings.Now, settings.Drained = time.Now(), drained
	settings.Restart = func(ctx context.Context, round int) error { return restart(ctx, server, round) }
	return suite.New(suite.NewServer(server.Address, server.Organization, server.Token), settings).Run(ctx)
}

// restart ends the server, alternately in order and like a crash, and starts it again.
func restart(ctx context.Context, server *harness.Server, round int) error {
	if round%2 == 0 {
		server.Kill()
	} else if err := server.Stop(); err != nil {
		return err
	}
	_, err := server.Open(ctx)
	return err
}

func summary(report *suite.Report) string {
	asked, words := 0, make([]string, 0, len(report.Asked))
	for _, path := range slices.Sorted(maps.Keys(report.Asked)) {
		asked += report.Asked[path]
		words = append(words, fmt.Sprintf("%s %d", path, report.Asked[path]))
	}
	return fmt.Sprintf("%d events, %d combinations (%s), %d differ", report.Events, asked, strings.Join(words, ", "), len(report.Failures))
}

// verdict is the error of a run with findings.
func verdict(report *suite.Report, seed uint64) error {
	var problems []error
	if len(report.Missing) > 0 {
		problems = append(problems, fmt.Errorf("the server lacks %s", strings.Join(report.Missing, ", ")))
	}
	for i := range report.Failures {
		if i == shownFailures {
			problems = append(problems, fmt.Errorf("… and %d more", len(report.Failures)-i))
			break
		}
		problems = append(problems, errors.New(report.Failures[i].String()))
	}
	if len(report.Failures) > 0 {
		problems = append(problems, fmt.Errorf("repeat with -seed %d, one of them with -only N", seed))
	}
	return errors.Join(problems...)
}
