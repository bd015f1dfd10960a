// Command cluster runs several nodes and their store as separate processes. Clients send events and change state
// through all of them. Meanwhile it kills, pauses, cuts off and restarts nodes at random, and kills the store and keeps
// it down for a while. Afterwards it checks the results. Every acknowledged event is stored once. Every acknowledged
// change is present and in order, and no read missed an acknowledged write. Unique resources were acknowledged once.
// Every acknowledged conversion was forwarded, under one delivery id. Every device belongs to its member. Through every
// node, the revenue equals the sums of the stored billing items and of an account that a connector reads.
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
	binary, results, sync   string
	storeProgram            string
	nodes, writers, senders int
	rate, batch             int
	duration                time.Duration
	seed                    uint64
	only, kafka             string
	keep, figures           bool
}

func main() { harness.Main("cluster", start) }

func start(ctx context.Context) error {
	var o options
	flag.StringVar(&o.binary, "server", "bin/svc", "the server's program")
	flag.StringVar(&o.storeProgram, "store", "bin/svc-store", "the program of the store: storage/chdb/serve")
	flag.StringVar(&o.results, "results", "bench/results", "folder of results")
	flag.StringVar(&o.sync, "sync", "os", "SVC_LOG_SYNC of the first node: os or always")
	flag.IntVar(&o.nodes, "nodes", 3, "number of nodes")
	flag.IntVar(&o.writers, "writers", 4, "clients that change state, an application each")
	flag.IntVar(&o.senders, "senders", 4, "clients that send events")
	flag.IntVar(&o.rate, "rate", 1000, "events a second")
	flag.IntVar(&o.batch, "batch", 10, "events a request")
	flag.DurationVar(&o.duration, "duration", time.Minute, "how long faults are made")
	flag.Uint64Var(&o.seed, "seed", 0, "seed of the faults, chosen where it is 0")
	flag.StringVar(&o.only, "only", "", "faults of these kinds only, comma-separated: kill, pause, cut, restart, broker, store, and those that are made where they are named only: away (the log, for a minute), rolling (restarts of all nodes in order); with -figures, these parts only: cost, remote, changes, keys, interruptions, shards")
	flag.StringVar(&o.kafka, "kafka", "", "host:port of an Apache Kafka without topics; empty has the first node serve its embedded broker")
	flag.BoolVar(&o.keep, "keep", false, "keep the data after a clean run")
	flag.BoolVar(&o.figures, "figures", false, "make no random faults; measure the cost of events on 1 to -nodes nodes, calls to actors, changes and keys in force, interruptions, and a slow shard")
	flag.Parse()
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000_007
	}
	if o.figures {
		return figures(ctx, &o)
	}
	return run(ctx, &o)
}

func run(ctx context.Context, o *options) (err error) {
	dir, err := os.MkdirTemp("", "svc-cluster-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	fmt.Printf("seed %d, %d nodes, %s, data in %s\n", o.seed, o.nodes, o.duration, dir)
	scenario := "cluster"
	if o.only != "" {
		// A run of selected faults stands next to the last run with all faults, and replaces none in the table.
		scenario = "cluster-only." + strings.ReplaceAll(o.only, ",", ".")
	}
	result := harness.NewResult(ctx, scenario, o.binary, false)
	result.Seed = o.seed
	m := newModel()
	defer m.server.CloseClientConnections()
	a := newAccount()
	defer a.server.CloseClientConnections()
	c, err := openNodes(ctx, o, dir, o.nodes, slices.Concat(watchSettings(), m.settings(), a.settings())...)
	defer c.kill()
	if err != nil {
		return err
	}
	l := newLoad(c, m, o.seed)
	l.account = a
	loading, end := context.WithCancel(ctx)
	defer end()
	if err := l.start(loading, o.seed, o); err != nil {
		return err
	}
	f := &faults{nodes: c, load: l, random: rand.New(rand.NewPCG(o.seed, 1)), count: map[string]int{}, slowest: map[string]time.Duration{}, absence: min(o.duration/10, time.Minute)}
	if err := f.run(ctx, o); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	end()
	l.wg.Wait()
	if err := l.check(ctx); err != nil {
		return err
	}
	f.report(result)
	name, err := result.Write(o.results)
	fmt.Println("written to", name)
	if len(l.problems) > 0 {
		for _, problem := range l.problems {
			fmt.Println("  violation:", problem)
		}
		return errors.Join(err, fmt.Errorf("seed %d: %d violations; data in %s", o.seed, len(l.problems), dir))
	}
	if err = errors.Join(err, c.stop()); err == nil && !o.keep {
		err = os.RemoveAll(dir)
	}
	return err
}
