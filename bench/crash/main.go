// Command crash kills the server at the worst moments while clients send, and checks afterwards that every acknowledged
// event is stored exactly once. Nothing unsent is stored, and the aggregates and the revenue agree with the rows.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"svc/bench/harness"
)

// options are the flags.
type options struct {
	binary  string
	results string
	seed    uint64
	kills   int
	events  int
	sync    string
	limit   time.Duration
	keep    bool
	logFull bool
	only    string
	memory  int64
}

func main() { harness.Main("crash", start) }

// start parses the flags and runs the scenario that they name.
func start(ctx context.Context) error {
	var o options
	flag.StringVar(&o.binary, "server", "bin/svc", "the server's program")
	flag.StringVar(&o.results, "results", "bench/results", "folder of results")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the kills, chosen where it is 0")
	flag.IntVar(&o.kills, "kills", 20, "number of kills")
	flag.IntVar(&o.events, "events", 10_000, "new events for each kill")
	flag.StringVar(&o.sync, "sync", "os", "SVC_LOG_SYNC of the server: os or always")
	flag.DurationVar(&o.limit, "limit", 20*time.Minute, "the run ends with an error after this time")
	flag.BoolVar(&o.keep, "keep", false, "keep the data after a clean run")
	flag.BoolVar(&o.logFull, "log-full", false, "fill the disk instead of killing (root only: mounts a tmpfs)")
	flag.StringVar(&o.only, "only", "", "kill at these moments only, comma-separated: load, ack, flush, drain, start, double, stop, poison")
	flag.Int64Var(&o.memory, "memory", 0, "limit the server's memory to so many MiB instead of killing it at moments")
	flag.Parse()
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000_007
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, fmt.Errorf("the run took longer than %s", o.limit))
	defer cancel()
	if o.memory > 0 {
		return runMemory(ctx, &o)
	}
	if o.logFull {
		return runLogFull(ctx, &o)
	}
	return runKills(ctx, &o)
}

// runKills is the scenario of kills.
func runKills(ctx context.Context, o *options) (err error) {
	dir, err := os.MkdirTemp("", "svc-crash-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	fmt.Printf("seed %d, %d kills, data in %s\n", o.seed, o.kills, dir)
	defer func() {
		if err == nil && !o.keep {
			err = os.RemoveAll(dir)
		}
	}()
	store, err := harness.FreeAddress(ctx)
	if err != nil {
		return fmt.Errorf("finding an address of the store: %w", err)
	}
	server, err := harness.NewServer(ctx, harness.Settings{
		Binary: o.binary, Dir: dir, Sync: o.sync, Flush: flushInterval.String(), CPU: harness.Unpinned,
		Environment: []string{"SVC_CLICKHOUSE_LISTEN=" + store},
	})
	if err != nil {
		return err
	}
	defer server.Kill()
	result := harness.NewResult(ctx, "crash", o.binary, false)
	result.Seed = o.seed
	first, err := server.Open(ctx)
	if err != nil {
		return err
	}
	run := newRun(o, server, first)
	run.store, run.poison = store, &poison{server: server, store: store}
	run.flags, run.billing = &evaluations{server: server}, newBilling(server, store, o.seed)
	if err := errors.Join(run.poison.prepare(ctx), run.flags.prepare(ctx), run.billing.prepare(ctx)); err != nil {
		return err
	}
	if err := run.attack(ctx); err != nil {
		return fmt.Errorf("seed %d: %w", o.seed, err)
	}
	found, err := run.settle(ctx)
	if err != nil {
		return fmt.Errorf("seed %d: %w", o.seed, err)
	}
	return errors.Join(run.publish(o, result, found), server.Stop())
}

// run is one run of kills.
type run struct {
	killer
	store  string // the address of the store
	ledger *ledger
	kinds  []moment
	seed   uint64
	read   time.Duration
}

func newRun(o *options, server *harness.Server, first time.Duration) *run {
	random := rand.New(rand.NewPCG(o.seed, 1<<32))
	r := &run{ledger: newLedger(o.seed), seed: o.seed}
	for len(r.kinds) < o.kills {
		kinds := o.moments()
		random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		r.kinds = append(r.kinds, kinds...)
	}
	r.kinds = slices.Clip(r.kinds[:o.kills])
	r.killer = killer{server: server, load: newLoad(r.ledger, server), random: random, budget: o.events, kills: map[moment]int{}, usual: first}
	return r
}

// moments returns the kinds of kills that the flags allow, all if they name none.
func (o *options) moments() []moment {
	named := strings.Split(o.only, ",")
	chosen := slices.DeleteFunc(moments(), func(at moment) bool { return !slices.Contains(named, string(at)) })
	if len(chosen) == 0 {
		return moments()
	}
	return chosen
}

// attack kills at every moment and lets the clients finish.
func (r *run) attack(ctx context.Context) error {
	r.load.start(ctx, r.seed)
	r.billing.start(ctx)
	for n, at := range r.kinds {
		if err := r.strike(ctx, at); err != nil {
			return fmt.Errorf("kill %d of %d: %w", n+1, len(r.kinds), err)
		}
		fmt.Printf("%3d/%d %-6s acknowledged %d, ready again after %s\n", n+1, len(r.kinds), at, r.load.acked.Load(), r.last.Round(time.Millisecond))
	}
	return errors.Join(r.load.finish(ctx, ackTime), r.billing.finish(ctx))
}

// settleTime limits the wait for the backlog after the last kill.
const settleTime = 3 * time.Minute

// settle waits until everything is stored, sends old events again, and reads
// everything back.
func (r *run) settle(ctx context.Context) (*findings, error) {
	if err := r.server.Barrier(ctx, 1, settleTime); err != nil {
		return nil, err
	}
	last := newLoad(r.ledger, r.server)
	conn := harness.NewConn(r.server.Address, "/api/v1/batch", r.server.Keys["production"].Secret, harness.UserAgents()[0])
	defer conn.Close()
	for range 10 {
		numbers := r.ledger.again(nil, 200, r.random)
		last.deliver(ctx, conn, r.ledger.body(nil, numbers), numbers, r.random)
	}
	r.load.problems = append(r.load.problems, last.problems...)
	if err := r.server.Barrier(ctx, 2, settleTime); err != nil {
		return nil, err
	}
	began := time.Now()
	found, err := check(ctx, r.server, r.ledger)
	r.read = time.Since(began)
	if err != nil {
		return nil, err
	}
	if r.poison != nil {
		if err := errors.Join(r.poison.check(ctx, found), r.flags.check(ctx, found)); err != nil {
			return nil, err
		}
	}
	wrong, err := harness.WrongAggregates(ctx, r.store)
	for _, difference := range wrong {
		found.violate(miscount, "%s", difference)
	}
	if err == nil && r.billing != nil {
		err = r.billing.check(ctx, found) // the last check, because it restarts the server
	}
	return found, err
}
