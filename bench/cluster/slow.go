package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"svc/bench/harness"
)

const (
	// slowDelay is the delay of the requests to one of two stores.
	slowDelay = 200 * time.Millisecond
	// slowRounds is the number of times that the store is fast and slow in turn, slowProbes the number of probed events
	// in each.
	slowRounds, slowProbes = 2, 20
)

// slowShard measures the time until events are in the feed of an application on the first of two stores. It compares a
// second store that is as fast as the first with one that receives everything 200 ms later. Both accept events all the
// time.
func slowShard(ctx context.Context, o *options, dir string, result *harness.Result) error {
	c, slow, err := openShards(ctx, o, dir)
	if c != nil {
		defer c.kill()
	}
	if err != nil {
		return err
	}
	n := c.all[0]
	l := newLoad(c, nil, 1)
	other, err := l.otherApp(ctx, n)
	if err != nil {
		return err
	}
	loading, end := context.WithCancel(ctx)
	defer func() { end(); l.wg.Wait() }()
	for _, secret := range []string{n.Keys["production"].Secret, other} {
		l.wg.Go(func() {
			for loading.Err() == nil {
				l.call(loading, n, http.MethodPost, "/batch", secret, []byte(`{"items":[{"type":"event","name":"load","distinctId":"u"}]}`))
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
	spread := [2]harness.Latency{}
	for round := range 2 * slowRounds {
		late, began := round%2, time.Now()
		slow.delay.Store(int64(late) * int64(slowDelay))
		for probe := range slowProbes {
			if err := l.probeFeed(ctx, n, fmt.Sprintf("probe-%d-%d", round, probe), &spread[late]); err != nil {
				return err
			}
		}
		fmt.Printf("%d events looked for in %s, the other store late by %s\n", slowProbes, time.Since(began).Round(time.Millisecond), time.Duration(slow.delay.Load()))
	}
	for late, name := range []string{"both stores fast", "the other store 200 ms slow"} {
		one := spread[late].Spread()
		result.Rows = append(result.Rows, harness.Measurement{Name: "visible in the feed, " + name, Kind: harness.KindService, Latency: &one, Extra: map[string]float64{"p50Ms": one.P50, "p99Ms": one.P99}})
		fmt.Println("visible in the feed,", name, "p50", one.P50, "p99", one.P99)
	}
	return l.failed()
}

// openShards starts two stores and a node over them. The requests to the second go through a proxy.
func openShards(ctx context.Context, o *options, dir string) (*nodes, *proxy, error) {
	c := &nodes{}
	var stores [2]*harness.Store
	for shard := range stores {
		addr, err := harness.FreeAddress(ctx)
		if err != nil {
			return c, nil, err
		}
		stores[shard] = &harness.Store{Program: o.storeProgram, Dir: filepath.Join(dir, fmt.Sprint("store", shard)), Address: addr}
		if err := stores[shard].Open(ctx); err != nil {
			return c, nil, err
		}
	}
	c.apart, c.second = stores[0], stores[1]
	slow, err := newProxy(ctx, stores[1].Address, false)
	if err != nil {
		return c, nil, err
	}
	server, err := harness.NewServer(ctx, harness.Settings{
		Binary: o.binary, Dir: filepath.Join(dir, "node"), Sync: o.sync, Flush: "200ms", CPU: harness.Unpinned,
		Environment: []string{"SVC_CLICKHOUSE_DSN=http://" + stores[0].Address + "/ http://" + slow.addr() + "/"},
	})
	if err != nil {
		return c, nil, err
	}
	c.all = []*node{{Server: server, name: "node"}}
	_, err = server.Open(ctx)
	return c, slow, err
}

// otherApp creates an application on the second store, and returns one of its keys.
func (l *load) otherApp(ctx context.Context, n *node) (secret string, err error) {
	if status, answer := l.call(ctx, n, http.MethodPost, "/orgs/acme/apps", n.Token, []byte(`{"name":"Other","slug":"other","platform":"web"}`)); status/100 != 2 {
		return "", fmt.Errorf("making an application: %d %.200s", status, answer)
	}
	status, answer := l.call(ctx, n, http.MethodPost, "/apps/acme/other/keys", n.Token, []byte(`{"kind":"secret","environment":"production","label":"load"}`))
	var made struct{ Key string }
	if err := json.Unmarshal(answer, &made); err != nil || status/100 != 2 || made.Key == "" {
		return "", fmt.Errorf("making a key: %d %.200s", status, answer)
	}
	return made.Key, nil
}

// probeFeed sends an event and waits until the feed shows it.
func (l *load) probeFeed(ctx context.Context, n *node, id string, latency *harness.Latency) error {
	body := fmt.Appendf(nil, `{"items":[{"type":"event","name":"probe","id":%q,"distinctId":"u"}]}`, id)
	if status, answer := l.call(ctx, n, http.MethodPost, "/batch", n.Keys["production"].Secret, body); status != http.StatusAccepted {
		return fmt.Errorf("sending a probe: %d %.200s", status, answer)
	}
	began := time.Now()
	err := harness.Poll(ctx, id+" in the feed", time.Minute, 20*time.Millisecond, func(ctx context.Context) (bool, string) {
		page, err := n.Feed(ctx, url.Values{"env": {"production"}, "id": {id}})
		return err == nil && len(page.Data) > 0, fmt.Sprint(err)
	})
	latency.Record(time.Since(began))
	return err
}
