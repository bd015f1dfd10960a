package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"

	"svc/bench/harness"
)

// node is one process of the cluster.
type node struct {
	*harness.Server
	name string
	// log and store stand between the node and the shared servers; nil if the node itself serves them.
	log, store *proxy
	// up is true while clients may expect answers.
	up bool
}

// nodes is the cluster: the first node serves the log to the others, and the store if that is not separate.
type nodes struct {
	all    []*node
	common []string
	store  string // the address of the store
	apart  *harness.Store
	second *harness.Store // for the measurement of two shards
}

// openNodes starts count nodes with additional settings, the first one first.
func openNodes(ctx context.Context, o *options, dir string, count int, settings ...string) (*nodes, error) {
	kafka, err := harness.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	if o.kafka != "" {
		kafka = o.kafka
	}
	store, err := harness.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	c := &nodes{store: store, common: append([]string{
		"SVC_CLUSTER_SECRET=the secret of the harness", "SVC_MASTER_KEY=the master key of the harness", "SVC_PARTITIONS=16",
	}, settings...)}
	if !o.figures {
		c.apart = &harness.Store{Program: o.storeProgram, Dir: filepath.Join(dir, "store"), Address: store}
		if err := c.apart.Open(ctx); err != nil {
			return c, err
		}
	}
	for i := range count {
		n, err := c.add(ctx, o, filepath.Join(dir, fmt.Sprintf("node%d", i+1)), kafka, store)
		if err != nil {
			return c, err
		}
		if _, err := n.Open(ctx); err != nil {
			return c, fmt.Errorf("%s: %w", n.name, err)
		}
		n.up = true
	}
	return c, nil
}

// add creates a node that is not started yet.
func (c *nodes) add(ctx context.Context, o *options, dir, kafka, store string) (*node, error) {
	peer, err := harness.FreeAddress(ctx)
	if err != nil {
		return nil, err
	}
	n := &node{name: filepath.Base(dir)}
	environment := append([]string{"SVC_NODE_ADDR=" + peer}, c.common...)
	if len(c.all) == 0 && o.kafka == "" {
		environment = append(environment, "SVC_KAFKA_LISTEN="+kafka)
	} else {
		if n.log, err = newProxy(ctx, kafka, true); err != nil {
			return nil, err
		}
		environment = append(environment, "SVC_KAFKA_BROKERS="+n.log.addr())
	}
	if len(c.all) == 0 && c.apart == nil {
		environment = append(environment, "SVC_CLICKHOUSE_LISTEN="+store)
	} else {
		if n.store, err = newProxy(ctx, store, false); err != nil {
			return nil, err
		}
		environment = append(environment, "SVC_CLICKHOUSE_DSN=http://"+n.store.addr()+"/svc")
	}
	n.Server, err = harness.NewServer(ctx, harness.Settings{
		Binary: o.binary, Dir: dir, Sync: o.sync, Flush: "200ms", CPU: harness.Unpinned, Environment: environment,
	})
	if err != nil {
		return nil, err
	}
	if len(c.all) > 0 {
		if err := n.Join(c.all[0].Server); err != nil {
			return nil, err
		}
	}
	c.all = append(c.all, n)
	return n, nil
}

// stop ends all nodes in order, the first one last, and then the store.
func (c *nodes) stop() error {
	for i := len(c.all) - 1; i >= 0; i-- {
		if err := c.all[i].Stop(); err != nil {
			return fmt.Errorf("%s: %w", c.all[i].name, err)
		}
	}
	return c.apart.Stop()
}

func (c *nodes) kill() {
	for _, n := range c.all {
		_ = syscall.Kill(n.PID(), syscall.SIGCONT)
		n.Kill()
	}
	c.apart.Kill()
	c.second.Kill()
}
