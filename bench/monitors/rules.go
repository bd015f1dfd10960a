package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

// rulesOfApp is the number of rules of an application, without the rules about failures.
const rulesOfApp = 250

// rulesAtOnce is the number of rules that are created concurrently.
const rulesAtOnce = 64

// restTime is how long rules are watched at rest.
const restTime = 10 * time.Second

// ruleApps creates the applications over which the rules are spread.
func (b *bench) ruleApps(ctx context.Context) ([]string, error) {
	apps := []string{b.server.App}
	for n := 1; n*rulesOfApp < b.rules; n++ {
		slug := fmt.Sprintf("app-%d", n)
		err := b.call(ctx, "http://"+b.server.Address+"/api/v1/orgs/"+b.server.Organization+"/apps", b.server.Token, map[string]any{"name": slug, "slug": slug}, nil)
		if err != nil {
			return nil, err
		}
		apps = append(apps, slug)
	}
	return apps, nil
}

// streamed returns the name and the condition of the i-th rule: half of them count events, the others observations of
// metrics, every other one by a percentile.
func streamed(i int) (name, kind string, condition map[string]string) {
	name = fmt.Sprintf("rush-%d", i)
	switch i % 4 {
	case 1:
		return name, "metric", map[string]string{"name": name, "agg": "sum"}
	case 3:
		return name, "metric", map[string]string{"name": name, "agg": "p95"}
	}
	return name, "event_volume", map[string]string{"name": name}
}

// makeRules creates the rules and prints the progress. It creates the rules of one application one after another, and
// those of several applications concurrently.
func (b *bench) makeRules(ctx context.Context, apps []string) error {
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	var made atomic.Int64
	ended := make(chan struct{})
	go func() {
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				fmt.Printf("  %d of %d rules\n", made.Load(), b.rules)
			}
		}
	}()
	err = eachOf(ctx, b.rules, rulesAtOnce, func(ctx context.Context, i int) error {
		var channels []string
		if i%len(apps) == 0 {
			channels = []string{b.channel}
		}
		name, kind, condition := streamed(i / len(apps))
		err := b.rule(ctx, apps[i%len(apps)], name, kind, channels, condition)
		made.Add(1)
		return err
	})
	close(ended)
	if err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	b.add(harness.Measurement{
		Name: fmt.Sprintf("making %d rules", b.rules), Kind: harness.KindService, Events: uint64(b.rules), Seconds: usage.Elapsed.Seconds(),
		EventsPerSecond: float64(b.rules) / usage.Elapsed.Seconds(), CPUPerEvent: float64(usage.Server.Microseconds()) / float64(b.rules), Foreign: usage.Foreign,
	})
	return nil
}

// rest measures the cost of rules while nothing happens.
func (b *bench) rest(ctx context.Context) error {
	if err := b.wait(ctx, restTime); err != nil { // the work of creating them is over
		return err
	}
	meter, err := harness.StartMeter(b.server.PID())
	if err != nil {
		return err
	}
	if err := b.wait(ctx, restTime); err != nil {
		return err
	}
	usage, err := meter.Read()
	if err != nil {
		return err
	}
	b.add(harness.Measurement{
		Name: fmt.Sprintf("%d rules at rest", b.rules), Kind: harness.KindService, Seconds: usage.Elapsed.Seconds(), Foreign: usage.Foreign,
		Extra: map[string]float64{"cpuMsPerSecond": float64(usage.Server.Microseconds()) / 1000 / usage.Elapsed.Seconds()},
	})
	return nil
}

// streams measures the time from the acceptance of events and observations to the webhook, with many rules.
func (b *bench) streams(ctx context.Context) error {
	apps, err := b.ruleApps(ctx)
	if err != nil {
		return err
	}
	if err := b.makeRules(ctx, apps); err != nil {
		return err
	}
	if err := b.rest(ctx); err != nil {
		return err
	}
	latencies := map[string]*harness.Latency{"event_volume": {}, "metric": {}}
	for i := range min(b.rounds, b.rules/len(apps)) {
		name, kind, _ := streamed(i)
		item := map[string]any{"type": "event", "name": name, "distinctId": name}
		if kind == "metric" {
			item = map[string]any{"type": "metric", "name": name, "kind": "gauge", "value": 2}
		}
		if err := b.call(ctx, "http://"+b.server.Address+"/api/v1/batch", b.server.Keys["production"].Secret, map[string]any{"items": []any{item}}, nil); err != nil {
			return err
		}
		accepted := time.Now()
		at, err := b.target.heard(ctx, name)
		if err != nil {
			return err
		}
		latencies[kind].Record(at.Sub(accepted))
	}
	for _, of := range [][2]string{{"event_volume", "an event's"}, {"metric", "an observation's"}} {
		spread := latencies[of[0]].Spread()
		b.add(harness.Measurement{
			Name: "from " + of[1] + " acceptance to the webhook", Kind: harness.KindService, Latency: &spread, Extra: map[string]float64{"rules": float64(b.rules), "flushIntervalMs": 500},
		})
		b.compare(harness.AtMost("G17", fmt.Sprintf("%s acceptance to webhook with %d rules, p99 ms", of[1], b.rules), spread.P99, 1000))
	}
	return nil
}
