package main

import (
	"context"
	"errors"
	"time"

	"svc"
	"svc/actors"
	"svc/cluster"
	"svc/storage/kafka"
)

// changesTopic carries the names of what changed to every node.
const changesTopic = "changes"

// changesKeep is how long announcements are kept: longer than any node that is
// not dead is behind.
const changesKeep = time.Hour

// several is what a node has that is not alone; empty in one that is.
type several struct {
	wire      *cluster.Remote
	directory *kafka.Directory
	announcer *kafka.Producer
	follower  *kafka.Follower
}

// openWire listens for other nodes. Their calls are told to go elsewhere until
// the actors are there.
func (n *node) openWire(context.Context) (err error) {
	if n.config.NodeAddr == "" {
		return nil
	}
	n.several.wire, err = cluster.OpenRemote(cluster.RemoteConfig{
		Addr: n.config.NodeAddr, Secret: n.config.ClusterSecret.Reveal(), Logger: n.logger,
	})
	return err
}

// openChanges prepares what tells the nodes of changes.
func (n *node) openChanges(ctx context.Context, brokers []string) error {
	if n.several.wire == nil {
		return nil
	}
	n.several.directory = kafka.NewDirectory(n.consumer)
	topic, err := kafka.NewTopic(kafka.TopicConfig{Brokers: brokers, Topic: changesTopic, Partitions: 1, Keep: changesKeep})
	if err != nil {
		return err
	}
	defer topic.Close()
	if err := topic.Ensure(ctx); err != nil {
		return err
	}
	n.several.announcer, err = kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: changesTopic, Partitions: 1, Logger: n.logger})
	if err != nil {
		return err
	}
	n.several.follower = kafka.NewFollower(kafka.FollowerConfig{
		Brokers: brokers, Topic: changesTopic, Logger: n.logger,
		Handle: func(ctx context.Context, records []kafka.Record) { n.changes.Heard(ctx, records) },
		Lost:   func(ctx context.Context) { n.changes.Lost(ctx) },
	})
	return n.several.follower.Begin(ctx)
}

// loadSnapshots loads what changes are announced of, after the place is known from
// which announcements are followed.
func (n *node) loadSnapshots(ctx context.Context) error { return n.changes.Begin(ctx, n.db) }

// syncSnapshot makes a change that another node's actor made known here.
func (n *node) syncSnapshot(ctx context.Context, kind, identity string) error {
	if n.cluster.Owns(kind, identity) {
		return nil
	}
	return n.changes.Refresh(ctx, kind+"/"+identity)
}

// fence asks the coordinator whether a generation is the present one.
func (n *node) fence(ctx context.Context, generation uint32) error {
	err := n.consumer.Confirm(ctx, int32(generation))
	if errors.Is(err, svc.ErrFenced) {
		return cluster.ErrMoved
	}
	return err
}

// unsettled says whether a generation may end at any time.
func (n *node) unsettled(generation uint32) bool {
	return n.several.wire != nil && !n.consumer.Settled(int32(generation))
}

// membership says why this node takes no part in the cluster, if so.
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
func (s *several) join(config cluster.Config) cluster.Config {
	if s.wire != nil {
		return s.wire.Join(config, s.directory)
	}
	return config
}

// announcements returns the way to the other nodes' snapshots, if there is one.
func (s *several) announcements() actors.Announcements {
	if s.announcer == nil {
		return nil
	}
	return announcements{s.announcer}
}

type announcements struct{ producer *kafka.Producer }

func (a announcements) Announce(ctx context.Context, text []byte) error {
	return a.producer.Produce(ctx, []svc.Part{{Payload: text}})
}

// announce, keepWire and follow are parts of the node; alone they do nothing.
func (s *several) announce(ctx context.Context) error {
	if s.announcer == nil {
		return nil
	}
	return s.announcer.Run(ctx)
}

func (s *several) keepWire(ctx context.Context) error {
	if s.wire == nil {
		return nil
	}
	return s.wire.Run(ctx)
}

func (s *several) follow(ctx context.Context) error {
	if s.follower == nil {
		return nil
	}
	return s.follower.Run(ctx)
}

func (s *several) close() {
	if s.wire != nil {
		s.wire.Close()
	}
}

// nodeAddr names this node to the group: its address, or its folder where it has none and
// nobody can call it.
func (n *node) nodeAddr() string {
	if n.several.wire != nil {
		return n.several.wire.Self()
	}
	return kafka.LoneNode(n.dir.Join("") + "#" + n.dir.ID())
}
