package main

import (
	"context"
	"errors"
	"time"

	"svc"
	"svc/actors/apps"
	"svc/cluster"
	"svc/storage/kafka"
)

// changesTopic carries the names of what changed to every node.
const changesTopic = "changes"

// changesKeep is how long announcements are kept: longer than any node that is
// not dead can lag.
const changesKeep = time.Hour

// clustered holds what only a node with peers needs; all of it is nil in a node alone.
type clustered struct {
	wire      *cluster.Remote
	directory *kafka.Directory
	announcer *kafka.Producer
	follower  *kafka.Follower
}

// openWire listens for other nodes. Until the actors are there, the answer to
// their calls is to ask elsewhere.
func (n *node) openWire(context.Context) (err error) {
	if n.config.NodeAddr == "" {
		return nil
	}
	n.clustered.wire, err = cluster.OpenRemote(cluster.RemoteConfig{
		Addr: n.config.NodeAddr, Secret: n.config.ClusterSecret.Reveal(), Logger: n.logger,
	})
	return err
}

// openChanges prepares the announcements of changes to other nodes.
func (n *node) openChanges(ctx context.Context, brokers []string) error {
	if n.clustered.wire == nil {
		return nil
	}
	n.clustered.directory = kafka.NewDirectory(n.consumer)
	topic, err := kafka.NewTopic(kafka.TopicConfig{Brokers: brokers, Topic: changesTopic, Partitions: 1, Keep: changesKeep})
	if err != nil {
		return err
	}
	defer topic.Close()
	if err := topic.Ensure(ctx); err != nil {
		return err
	}
	n.clustered.announcer, err = kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: changesTopic, Partitions: 1, Logger: n.logger})
	if err != nil {
		return err
	}
	n.clustered.follower = kafka.NewFollower(kafka.FollowerConfig{
		Brokers: brokers, Topic: changesTopic, Logger: n.logger,
		Handle: func(ctx context.Context, records []kafka.Record) { n.snapshots.Apply(ctx, records) },
		Lost:   func(ctx context.Context) { n.snapshots.Resync(ctx) },
	})
	return n.clustered.follower.Begin(ctx)
}

// loadSnapshots loads the snapshots. The place from which announcements are followed is known by
// then, so no change is missed.
func (n *node) loadSnapshots(ctx context.Context) error { return n.snapshots.LoadAll(ctx, n.db) }

// syncSnapshot applies a change that another node's actor made to this node's snapshots.
func (n *node) syncSnapshot(ctx context.Context, kind, identity string) error {
	if n.cluster.Owns(kind, identity) {
		return nil
	}
	return n.snapshots.Refresh(ctx, kind+"/"+identity)
}

// fence asks the coordinator whether a generation is the present one.
func (n *node) fence(ctx context.Context, generation uint32) error {
	err := n.consumer.Confirm(ctx, int32(generation))
	if errors.Is(err, svc.ErrFenced) {
		return cluster.ErrMoved
	}
	return err
}

// unsettled reports whether a generation may end at any time.
func (n *node) unsettled(generation uint32) bool {
	return n.clustered.wire != nil && !n.consumer.Settled(int32(generation))
}

// membership returns why this node has no part in the cluster, nil where it has one.
func (n *node) membership(context.Context) error {
	if err := n.consumer.Foreign(); err != nil {
		return err
	}
	if _, member := n.ownership.Generation(); !member {
		return errors.New("this node has no part in the group that reads the log, or lost touch with its coordinator")
	}
	return nil
}

// join completes the configuration of the actors' host.
func (c *clustered) join(config cluster.Config) cluster.Config {
	if c.wire != nil {
		return c.wire.Join(config, c.directory)
	}
	return config
}

// announcements returns the way to the other nodes' snapshots, if there is one.
func (c *clustered) announcements() apps.Announcements {
	if c.announcer == nil {
		return nil
	}
	return announcements{c.announcer}
}

type announcements struct{ producer *kafka.Producer }

func (a announcements) Announce(ctx context.Context, text []byte) error {
	return a.producer.Produce(ctx, []svc.Part{{Payload: text}})
}

// announce, keepWire and follow are parts of the node; alone they do nothing.
func (c *clustered) announce(ctx context.Context) error {
	if c.announcer == nil {
		return nil
	}
	return c.announcer.Run(ctx)
}

func (c *clustered) keepWire(ctx context.Context) error {
	if c.wire == nil {
		return nil
	}
	return c.wire.Run(ctx)
}

func (c *clustered) follow(ctx context.Context) error {
	if c.follower == nil {
		return nil
	}
	return c.follower.Run(ctx)
}

func (c *clustered) close() {
	if c.wire != nil {
		c.wire.Close()
	}
}

// nodeAddr names this node to the group: its address, or its folder where it has none and
// no other node can call it.
func (n *node) nodeAddr() string {
	if n.clustered.wire != nil {
		return n.clustered.wire.Self()
	}
	return kafka.LoneNode(n.dir.Join("") + "#" + n.dir.ID())
}
