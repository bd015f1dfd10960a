package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"svc/bench/harness"
)

// faults injects faults into nodes, one at a time.
type faults struct {
	nodes   *nodes
	load    *load
	random  *rand.Rand
	count   map[string]int
	slowest map[string]time.Duration
	// absence is how long the store is unavailable.
	absence time.Duration
}

// Kinds of faults.
const (
	faultKill    = "kill"
	faultPause   = "pause"
	faultCut     = "cut"
	faultRestart = "restart"
	faultBroker  = "broker"
	// faultStore kills the store and keeps it down for a tenth of the whole time, at most a minute.
	faultStore = "store"
	// faultAway cuts all nodes off from the log for a minute, faultRolling restarts one node after the other. They are
	// injected only if the flags name them.
	faultAway    = "away"
	faultRolling = "rolling"
)

func kinds(only string) []string {
	all := []string{faultKill, faultPause, faultCut, faultRestart, faultBroker, faultStore}
	named := strings.Split(only, ",")
	every := append(slices.Clone(all), faultAway, faultRolling)
	if chosen := slices.DeleteFunc(every, func(kind string) bool { return !slices.Contains(named, kind) }); len(chosen) > 0 {
		return chosen
	}
	return all
}

// run injects faults for the duration. Kinds alternate, in a random order.
func (f *faults) run(ctx context.Context, o *options) error {
	end := time.Now().Add(o.duration)
	chosen := kinds(o.only)
	for n := 0; time.Now().Before(end) && ctx.Err() == nil; n++ {
		if n%len(chosen) == 0 {
			f.random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		}
		kind := chosen[n%len(chosen)]
		victim := f.nodes.all[1+f.random.IntN(len(f.nodes.all)-1)]
		if kind == faultBroker || kind == faultAway || kind == faultRolling {
			victim = f.nodes.all[0]
		}
		f.load.listen()
		acked, changes := f.load.acked.Load(), f.load.changes.Load()
		gone, deaf := f.hit(kind, victim)
		f.load.flips.force.begin(kind, gone, deaf)
		if err := f.strike(ctx, kind, victim); err != nil {
			return fmt.Errorf("%s of %s: %w", kind, victim.name, err)
		}
		f.load.flips.force.end()
		f.linger(ctx, 2*time.Second)
		f.count[kind]++
		silence := f.load.silence()
		f.slowest[kind] = max(f.slowest[kind], silence)
		fmt.Printf("%3d %-8s %s: %d events and %d changes acknowledged, longest silence %s\n",
			n+1, kind, victim.name, f.load.acked.Load()-acked, f.load.changes.Load()-changes, silence.Round(time.Millisecond))
	}
	return ctx.Err()
}

// hit returns the nodes that give no answers during a fault, and the nodes that cannot receive changes because they are
// cut off from the log.
func (f *faults) hit(kind string, victim *node) (gone, deaf []*node) {
	switch {
	case kind == faultCut:
		return nil, []*node{victim}
	case kind == faultRolling:
		return f.nodes.all, nil
	case kind == faultAway && victim.log != nil:
		return nil, f.nodes.all
	case kind == faultAway, kind == faultBroker:
		return []*node{victim}, f.nodes.all
	}
	return []*node{victim}, nil
}

// strike injects one fault and repairs it.
func (f *faults) strike(ctx context.Context, kind string, n *node) error {
	switch kind {
	case faultKill, faultBroker:
		n.Kill()
		f.linger(ctx, time.Duration(f.random.Int64N(int64(4*time.Second))))
		_, err := n.Open(ctx)
		return err
	case faultAway:
		return f.away(ctx, n)
	case faultRolling:
		return f.roll(ctx)
	case faultStore:
		return f.takeStore(ctx, n)
	case faultRestart:
		if err := n.Stop(); err != nil {
			return err
		}
		_, err := n.Open(ctx)
		return err
	case faultPause:
		// Longer than the session and every time-out of the group.
		if err := syscall.Kill(n.PID(), syscall.SIGSTOP); err != nil {
			return fmt.Errorf("pausing: %w", err)
		}
		f.linger(ctx, 12*time.Second)
		if err := syscall.Kill(n.PID(), syscall.SIGCONT); err != nil {
			return fmt.Errorf("resuming: %w", err)
		}
	case faultCut:
		n.log.part()
		if f.random.IntN(2) == 0 {
			n.store.part()
		}
		f.linger(ctx, 12*time.Second)
		n.log.mend()
		n.store.mend()
	}
	return n.AwaitReady(ctx)
}

// away cuts all nodes off from the log for a minute: the first node dies with it, or all are cut off from the shared
// one.
func (f *faults) away(ctx context.Context, first *node) error {
	if first.log == nil {
		first.Kill()
		f.linger(ctx, time.Minute)
		if _, err := first.Open(ctx); err != nil {
			return err
		}
	} else {
		for _, n := range f.nodes.all {
			n.log.part()
		}
		f.linger(ctx, time.Minute)
		for _, n := range f.nodes.all {
			n.log.mend()
		}
	}
	return f.awaitAll(ctx)
}

// takeStore kills the store and starts it again after a while, during which changes are made. Before it returns, one
// node is lost and starts again without the store: the others take over its part, and it joins them.
func (f *faults) takeStore(ctx context.Context, lost *node) error {
	if err := f.load.warm(ctx); err != nil {
		return err
	}
	f.nodes.apart.Kill()
	f.load.changeAway(ctx, time.Now().Add(f.absence), f.random)
	lost.Kill()
	if err := lost.Start(); err != nil {
		return err
	}
	began := time.Now()
	if err := f.load.warm(ctx); err != nil {
		f.load.problem("without the store, and %s lost: %v", lost.name, err)
	}
	f.slowest["takeOverWithoutStore"] = max(f.slowest["takeOverWithoutStore"], time.Since(began))
	if err := f.nodes.apart.Open(ctx); err != nil {
		return err
	}
	return f.awaitAll(ctx)
}

// awaitAll waits until all nodes are ready.
func (f *faults) awaitAll(ctx context.Context) error {
	for _, n := range f.nodes.all {
		if err := n.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// roll restarts every node in order, each when the previous one is ready again. The first node, which serves the log
// and the store to the others, comes last.
func (f *faults) roll(ctx context.Context) error {
	all := f.nodes.all
	for _, n := range append(slices.Clone(all[1:]), all[0]) {
		if err := n.Stop(); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		if _, err := n.Open(ctx); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		f.linger(ctx, time.Second)
	}
	return nil
}

func (f *faults) linger(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// report adds the faults to the result.
func (f *faults) report(result *harness.Result) {
	row := harness.Measurement{
		Name: "faults under load", Kind: harness.KindService, Events: uint64(f.load.acked.Load()), Seconds: time.Since(result.Date).Seconds(),
		Extra: map[string]float64{
			"nodes": float64(len(f.nodes.all)), "acknowledgedChanges": float64(f.load.changes.Load()), "requestsWithoutAnswer": float64(f.load.broken),
		},
	}
	conversions, repeated := f.load.deliveries.repeated()
	row.Extra["conversions"], row.Extra["conversionsRepeated"] = float64(conversions), float64(repeated)
	bills := f.load.bills
	row.Extra["billingItems"], row.Extra["billingAsked"], row.Extra["billingMovements"] = float64(len(bills.fates)), float64(bills.asked), float64(bills.moved)
	if away := f.load.outage; away.latency.Count() > 0 {
		row.Extra["changesWithoutStore"], row.Extra["changesWithoutStoreRefused"] = float64(away.latency.Count()), float64(away.refused)
		row.Extra["changesWithoutStoreP50Ms"] = float64(away.latency.Percentile(0.5).Microseconds()) / 1000
		row.Extra["changesWithoutStoreP99Ms"] = float64(away.latency.Percentile(0.99).Microseconds()) / 1000
	}
	row.Extra["takeOverWithoutStoreMs"] = float64(f.slowest["takeOverWithoutStore"].Milliseconds())
	for kind, count := range f.count {
		row.Extra["faults_"+kind] = float64(count)
		row.Extra["longestSilenceMs_"+kind] = float64(f.slowest[kind].Milliseconds())
	}
	for status, count := range f.load.statuses {
		row.Extra[fmt.Sprintf("status_%d", status)] = float64(count)
	}
	result.Rows = append(result.Rows, row)
	f.load.flips.force.report(result)
	result.Violations = f.load.problems
	result.Bottleneck = "the session time-out of the log's consumer group, after which the partitions of a node that says nothing are given to others"
	for _, kind := range slices.Sorted(maps.Keys(f.count)) {
		result.Notes = append(result.Notes, fmt.Sprintf("%d × %s, longest silence between two acknowledgements %s", f.count[kind], kind, f.slowest[kind].Round(time.Millisecond)))
	}
}
