package main

import (
	"context"
	"fmt"
	"path/filepath"

	"svc/bench/harness"
)

// pair is a server that provides log and store, and a second node, which takes over half of the partitions and loses
// them again.
type pair struct {
	first, second *harness.Server
	up            bool // whether the second node is up
	turns         int
	barriers      int
}

// newPair returns two nodes with common settings; neither runs yet.
func newPair(ctx context.Context, settings harness.Settings) (*pair, error) {
	var addresses [4]string
	for i := range addresses {
		address, err := harness.FreeAddress(ctx)
		if err != nil {
			return nil, err
		}
		addresses[i] = address
	}
	log, store := addresses[0], addresses[1]
	node := func(name, peer string, environment ...string) (*harness.Server, error) {
		own := settings
		own.Dir = filepath.Join(settings.Dir, name)
		own.Environment = append(append([]string{
			"SVC_CLUSTER_SECRET=the secret of the recount", "SVC_MASTER_KEY=the master key of the recount", "SVC_NODE_ADDR=" + peer,
		}, settings.Environment...), environment...)
		return harness.NewServer(ctx, own)
	}
	first, err := node("first", addresses[2], "SVC_KAFKA_LISTEN="+log, "SVC_CLICKHOUSE_LISTEN="+store)
	if err != nil {
		return nil, err
	}
	second, err := node("second", addresses[3], "SVC_KAFKA_BROKERS="+log, "SVC_CLICKHOUSE_DSN=http://"+store+"/svc")
	return &pair{first: first, second: second}, err
}

// open starts the first node, which creates the organization, and then the second, which receives its keys.
func (p *pair) open(ctx context.Context) error {
	if _, err := p.first.Open(ctx); err != nil {
		return err
	}
	if err := p.second.Join(p.first); err != nil {
		return err
	}
	_, err := p.second.Open(ctx)
	p.up = err == nil
	return err
}

// drained moves partitions while the sent items are being stored, and waits until all of them are. The second node is
// killed, starts, is stopped in order, and starts again, in turns. A node that has started has taken over partitions
// before this ends.
func (p *pair) drained(ctx context.Context) error {
	p.turns++
	if err := p.move(ctx); err != nil {
		return fmt.Errorf("the second node: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, drainTime, fmt.Errorf("the second node took no partition over within %s", drainTime))
	defer cancel()
	for {
		p.barriers++
		if err := p.first.Barrier(ctx, p.barriers, drainTime); err != nil || !p.up {
			return err
		}
		metrics, err := p.second.Scrape(ctx)
		if err != nil || metrics[harness.MetricFolded] > 0 {
			return err
		}
	}
}

// move starts or ends the second node.
func (p *pair) move(ctx context.Context) (err error) {
	switch {
	case !p.up:
		_, err = p.second.Open(ctx)
	case p.turns%4 == 1:
		p.second.Kill()
	default:
		err = p.second.Stop()
	}
	p.up = !p.up
	return err
}

// stop ends both, the first one last.
func (p *pair) stop() error {
	if p.up {
		if err := p.second.Stop(); err != nil {
			return err
		}
	}
	return p.first.Stop()
}

// kill kills the nodes that still run.
func (p *pair) kill() {
	p.second.Kill()
	p.first.Kill()
}
