package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/process"
	"svc/cmd/svc/settings"
)

// runServe runs the server until ctx ends.
func runServe(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	usage := func(w io.Writer) {
		fmt.Fprint(w, "Usage: svc serve\n\nRuns the server. It is configured by environment variables only; `svc config --help`\nlists them. With none set it runs on this machine alone, with an embedded log and an\nembedded store in ./data.\n")
	}
	if err := cli.ParseFlags(flag.NewFlagSet("serve", flag.ContinueOnError), args, usage, stdout, stderr); err != nil {
		return err
	}
	config, err := settings.Read(stderr)
	if err != nil {
		return err
	}
	process.SpareCollections()
	logger := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: config.LogLevel}))
	n := newNode(config, logger)
	n.processors.SpareThreads()
	n.memory.LimitHeap()
	logger.Info("memory", "total", n.memory.Total, "heap", n.memory.Heap, "engine", n.memory.Engine, "block", n.memory.Block)
	if n.memory.Engine > 0 && n.memory.Total < process.LeastMemory {
		logger.Warn("the process may take less memory than a node with the embedded engine needs; allow 512 MiB", "bytes", n.memory.Total)
	}
	return serve(ctx, n, stdout)
}

// serve opens a node, runs it, prints the secrets of the first start, and closes it.
func serve(ctx context.Context, n *node, stdout io.Writer) (err error) {
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.open(ctx); err != nil {
		if ctx.Err() != nil { // stopped while it waited
			n.logger.Info("stopped before the start was over", "error", err)
			return nil
		}
		return err
	}
	return n.run(ctx, stdout)
}

// part is a component that runs until its context ends.
type part struct {
	name string
	// why is the reason for the position of the part in the list.
	why string
	run func(ctx context.Context) error
}

// parts lists the parts. They start in this order, so that each finds its dependencies. They stop in the reverse order,
// each after the next one has ended.
func (n *node) parts() []part {
	modules := n.modules()
	first := []part{
		{"disk", "Everything below writes to the disk: its state is known before the first write and watched until after the last.", n.disk.Run},
		{"disk of the log", "A log that cannot be forced to disk acknowledges nothing more: the process ends, and a new start reads what the disk holds.", n.watchLog},
		{"producer", "Requests, the spool and replayed dead letters produce until they have ended.", n.producer.Run},
		{"stores that were away", "What waits for one of them goes on by itself once it is let in.", n.admitStores},
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

// run starts the parts and stops them again once ctx ends.
func (n *node) run(ctx context.Context, stdout io.Writer) error {
	greeting := part{
		"greeting", "It makes the first start's token and keys by calling everything above, and then says that the node serves.",
		func(ctx context.Context) error { return n.greet(ctx, stdout) },
	}
	return runParts(ctx, append(n.parts(), greeting), n.logger)
}

// runParts runs parts until ctx ends or one fails, then stops them in reverse order.
func runParts(ctx context.Context, parts []part, logger *slog.Logger) error {
	failed := make(chan error, len(parts))
	stops := make([]func(), 0, len(parts))
	for _, p := range parts {
		partCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		var done sync.WaitGroup
		done.Go(func() {
			if err := p.run(partCtx); err != nil && partCtx.Err() == nil {
				failed <- fmt.Errorf("%s: %w", p.name, err)
			} else if err != nil {
				logger.Warn("part ended with an error", "part", p.name, "error", err)
			}
		})
		stops = append(stops, func() { cancel(); done.Wait() })
	}
	var cause error
	select {
	case <-ctx.Done():
		logger.Info("stopping")
	case cause = <-failed:
		logger.Error("stopping after a failure", "error", cause)
	}
	for i := len(stops) - 1; i >= 0; i-- {
		stops[i]()
	}
	return cause
}
