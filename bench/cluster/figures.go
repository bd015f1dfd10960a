package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"svc/bench/harness"
)

// figures measures the cost of several nodes and the length of their interruptions. Each part begins with an empty
// folder.
func figures(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp("", "svc-cluster-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	scenario := "cluster-figures"
	if o.only != "" {
		scenario += "." + strings.ReplaceAll(o.only, ",", ".")
	}
	result := harness.NewResult(ctx, scenario, o.binary, false)
	wanted := func(part string) bool { return o.only == "" || slices.Contains(strings.Split(o.only, ","), part) }
	for count := range o.nodes {
		if !wanted("cost") {
			break
		}
		if err := measure(ctx, o, filepath.Join(dir, fmt.Sprintf("cost%d", count+1)), count+1, result, cost); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		name string
		run  func(context.Context, *options, *nodes, *harness.Result) error
	}{{"remote", remote}, {"changes", changesInForce}, {"keys", keysInForce}, {"interruptions", interruptions}} {
		if !wanted(part.name) {
			continue
		}
		if err := measure(ctx, o, filepath.Join(dir, part.name), o.nodes, result, part.run); err != nil {
			return err
		}
	}
	if wanted("shards") {
		if err := slowShard(ctx, o, filepath.Join(dir, "shards"), result); err != nil {
			return err
		}
	}
	name, err := result.Write(o.results)
	fmt.Println("written to", name)
	return errors.Join(err, os.RemoveAll(dir))
}

// measure runs one part on count nodes.
func measure(ctx context.Context, o *options, dir string, count int, result *harness.Result, part func(context.Context, *options, *nodes, *harness.Result) error) error {
	c, err := openNodes(ctx, o, dir, count)
	defer c.kill()
	if err != nil {
		return err
	}
	if err := part(ctx, o, c, result); err != nil {
		return err
	}
	for _, row := range result.Rows[len(result.Rows)-1:] {
		fmt.Println(row.Name, row.Extra)
	}
	return c.stop()
}

// figureEvents is the number of events from which the cost is computed.
const figureEvents = 300_000

// cost sends the same events to one, two or three nodes, and counts the processor time of all of them until the events
// are stored.
func cost(ctx context.Context, _ *options, c *nodes, result *harness.Result) error {
	before := map[string]time.Duration{}
	var err error
	for _, n := range c.all {
		if before[n.name], err = harness.ProcessCPU(n.PID()); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
	}
	began := time.Now()
	var sending sync.WaitGroup
	outcomes := make([]harness.Outcome, len(c.all))
	for i, n := range c.all {
		sending.Go(func() {
			outcomes[i] = harness.Load{
				Address: n.Address, Path: "/api/v1/batch", Key: n.Keys["production"].Secret, Connections: 2, Batch: 100,
				Duration: 10 * time.Minute, Events: figureEvents / len(c.all), Seed: uint64(i + 1),
			}.Run(ctx)
		})
	}
	sending.Wait()
	if err := c.all[0].Barrier(ctx, 1, 5*time.Minute); err != nil {
		return err
	}
	row := harness.Measurement{Name: fmt.Sprintf("cost on %d nodes", len(c.all)), Kind: harness.KindService, Seconds: time.Since(began).Seconds(), Extra: map[string]float64{}}
	for i, n := range c.all {
		row.Events += outcomes[i].Events
		row.Failures += outcomes[i].Failures
		after, err := harness.ProcessCPU(n.PID())
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		row.Extra["cpuSeconds_"+n.name] = (after - before[n.name]).Seconds()
		row.CPUPerEvent += (after - before[n.name]).Seconds() * 1e6
		metrics, err := n.Scrape(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		row.Extra["storedEvents_"+n.name] = metrics[harness.MetricStored]
	}
	row.CPUPerEvent /= float64(max(row.Events, 1))
	row.Extra["cpuSecondsPerMillionEvents"] = row.CPUPerEvent
	result.Rows = append(result.Rows, row)
	return nil
}

// remoteRate is the number of calls per second to one actor, remoteTime their duration.
const (
	remoteRate = 1000
	remoteTime = 15 * time.Second
)

// remote reads one application, whose actor is on one of the nodes, through each of them: the difference is the way to
// another node.
func remote(ctx context.Context, _ *options, c *nodes, result *harness.Result) error {
	l := newLoad(c, nil, 1)
	for _, n := range c.all {
		var latency harness.Latency
		var mu sync.Mutex
		var asking sync.WaitGroup
		pace := time.NewTicker(time.Second / remoteRate)
		for end := time.Now().Add(remoteTime); time.Now().Before(end) && ctx.Err() == nil; {
			due := <-pace.C
			asking.Go(func() {
				status, _ := l.call(ctx, n, http.MethodGet, "/apps/acme/web", n.Token, nil)
				mu.Lock()
				defer mu.Unlock()
				if status == http.StatusOK {
					latency.Record(time.Since(due))
				}
			})
		}
		pace.Stop()
		asking.Wait()
		spread := latency.Spread()
		result.Rows = append(result.Rows, harness.Measurement{
			Name: "reading one actor through " + n.name, Kind: harness.KindService, Latency: &spread,
			Extra: map[string]float64{"calls": float64(latency.Count()), "p99Ms": float64(latency.Percentile(0.99).Microseconds()) / 1000},
		})
		fmt.Println(n.name, "p50", latency.Percentile(0.5), "p99", latency.Percentile(0.99))
	}
	return errors.Join(ctx.Err(), l.failed())
}

func (l *load) failed() error {
	if len(l.problems) > 0 {
		return errors.New(l.problems[0])
	}
	return nil
}

// moves is the number of times that a node leaves and joins.
const moves = 12

// probes is the number of applications that are changed without a pause; their actors are spread over the partitions.
const probes = 8

// gaps are the longest pauses between two acknowledged changes of one application.
type gaps struct {
	mu      sync.Mutex
	longest time.Duration
}

func (g *gaps) note(pause time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.longest = max(g.longest, pause)
}

func (g *gaps) take() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	longest := g.longest
	g.longest = 0
	return longest
}

// probe changes an application through the first node, one change after the other.
func (l *load) probe(ctx context.Context, app string, g *gaps) {
	first := l.nodes.all[0]
	last := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		status, _ := l.call(ctx, first, http.MethodPatch, "/apps/acme/"+app, first.Token, fmt.Appendf(nil, `{"name":"w%d"}`, n))
		if status/100 == 2 {
			g.note(time.Since(last))
			last = time.Now()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// interruptions lets the last node leave and join, and die, under load.
func interruptions(ctx context.Context, _ *options, c *nodes, result *harness.Result) error {
	l, g := newLoad(c, nil, 1), &gaps{}
	first := c.all[0]
	probing, stop := context.WithCancel(ctx)
	defer func() { stop(); l.wg.Wait() }()
	for n := range probes {
		app := fmt.Sprintf("probe-%d", n)
		if status, answer := l.call(ctx, first, http.MethodPost, "/orgs/acme/apps", first.Token, fmt.Appendf(nil, `{"name":"w","slug":%q,"platform":"web"}`, app)); status/100 != 2 {
			return fmt.Errorf("making an application: %d %s", status, answer)
		}
		l.wg.Go(func() { l.probe(probing, app, g) })
	}
	paused := map[string]*harness.Latency{}
	if err := errors.Join(l.move(ctx, g, paused), l.die(ctx, g, paused)); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(paused)) {
		spread := paused[kind].Spread()
		result.Rows = append(result.Rows, harness.Measurement{
			Name: "longest pause of acknowledged changes: " + kind, Kind: harness.KindService, Latency: &spread,
			Extra: map[string]float64{"times": float64(paused[kind].Count()), "p99Ms": float64(paused[kind].Percentile(0.99).Milliseconds()), "maxMs": float64(paused[kind].Max().Milliseconds())},
		})
		fmt.Println(kind, "p99", paused[kind].Percentile(0.99), "max", paused[kind].Max())
	}
	return l.failed()
}

// move lets the last node leave and join, and records the longest pauses.
func (l *load) move(ctx context.Context, g *gaps, paused map[string]*harness.Latency) error {
	last := l.nodes.all[len(l.nodes.all)-1]
	leave, join := &harness.Latency{}, &harness.Latency{}
	paused["leave"], paused["join"] = leave, join
	for range moves {
		g.take()
		if err := last.Stop(); err != nil {
			return err
		}
		time.Sleep(settleTime)
		leave.Record(g.take())
		if _, err := last.Open(ctx); err != nil {
			return err
		}
		time.Sleep(settleTime)
		join.Record(g.take())
	}
	return nil
}

// settleTime is longer than a rebalance without faults, deathTime longer than one after a death.
const (
	settleTime = 3 * time.Second
	deathTime  = 10 * time.Second
)

// deaths is the number of times that a node is killed.
const deaths = 5

// die kills the last node. It records the time until every partition stored something again, and the longest pause of
// changes.
func (l *load) die(ctx context.Context, g *gaps, paused map[string]*harness.Latency) error {
	first, last := l.nodes.all[0], l.nodes.all[len(l.nodes.all)-1]
	changes, storing := &harness.Latency{}, &harness.Latency{}
	paused["death"], paused["storing in all partitions after a death"] = changes, storing
	for n := range deaths {
		g.take()
		died := time.Now()
		last.Kill()
		if err := first.Barrier(ctx, n+1, time.Minute); err != nil {
			return err
		}
		storing.Record(time.Since(died))
		time.Sleep(deathTime)
		changes.Record(g.take())
		if _, err := last.Open(ctx); err != nil {
			return err
		}
		time.Sleep(settleTime)
	}
	return nil
}
