package main

import (
	"context"
	"slices"
)

// part is a component that runs until its context ends.
type part struct {
	name string
	// why is the reason for the place of the part in the list.
	why string
	run func(ctx context.Context) error
}

// parts lists what runs. Parts start in this order, so each finds what it needs, and stop in the
// reverse order, each after the one below it has ended.
func (n *node) parts() []part {
	modules := n.modules()
	first := []part{
		{"disk", "Everything below writes to the disk: its state is known before the first write and watched until after the last.", n.disk.Run},
		{"producer", "Requests, the spool and replayed dead letters produce until they have ended.", n.producer.Run},
		{"spool", "It hands to the producer what waits on disk. What is put there while it stops waits for the next start.", n.drainSpool},
	}
	node := []part{
		{"wire", "It carries calls of other nodes, and tells them to ask elsewhere until the actors are there and after they have stopped.", n.clustered.keepWire},
		{"stream", "It waits for what the last generation of the consumer began.", n.stream.Run},
		{"consumer", "It leaves the group when the actors have stopped, so that the others take over at once.", n.consumer.Run},
		{"claims", "Actors save under them until they have stopped; the consumer, which names the claims, ends after them.", n.claims.Run},
		{"workers", "They run what actors do beside their mailboxes, and end when the actors have stopped.", func(ctx context.Context) error { return n.grains.Workers.Run(ctx) }},
		{"actors", "The sink's last block notifies actors, and their last writes are confirmed in the generation that the consumer still holds.", n.cluster.Run},
		{"sink", "Its last block is committed after the last record was folded and before the group is left.", n.sinks.Run},
		{"reading", "No record is read any more when the sink takes its last block; the node keeps its place in the group meanwhile, so nobody takes its partitions over.", func(ctx context.Context) error { <-ctx.Done(); n.consumer.Quiesce(); return nil }},
		{"backlog", "It asks the consumer how old the oldest record is that is not stored; readiness asks it.", n.backlog.Run},
		{"retention of the log", "It trims what the consumer has committed, and adds no work for what is below.", n.retention.Run},
		{"sweeper", "It wakes actors, so it stops before them.", n.sweeper.Run},
		{"outbox", "It calls actors, so it stops before them.", n.outbox.Run},
	}
	last := []part{
		{"progress", "It notes how far the log is stored, for the last time while the consumer still answers.", n.keepProgress},
		{"parts of the store", "It notes which parts the tables have; what the last block adds is no loss if it is not noted.", n.keepParts},
		{"operator's listener", "Readiness and metrics are answered for as long as clients are.", n.operator.run},
		{"public listener", "It stops first: no new request is accepted while those under way are answered by everything above.", n.public.Run},
	}
	return slices.Concat(
		first, each(modules, func(m module) func() []part { return m.below }),
		node, each(modules, func(m module) func() []part { return m.parts }), last,
	)
}
