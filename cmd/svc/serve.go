package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"svc/cmd/svc/cli"
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
	addSpareThreads()
	logger := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: config.LogLevel}))
	return serve(ctx, config, logger, stdout)
}

// serve opens a node, runs it, prints the first start's secrets, and closes it.
func serve(ctx context.Context, config settings.Config, logger *slog.Logger, stdout io.Writer) (err error) {
	n := newNode(config, logger)
	defer func() { err = errors.Join(err, n.close()) }()
	if err := n.open(ctx); err != nil {
		if ctx.Err() != nil { // stopped while it waited
			logger.Info("stopped before the start was over", "error", err)
			return nil
		}
		return err
	}
	return n.run(ctx, stdout)
}

// part is a component that runs until its context ends.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// run starts the parts in an order in which each finds what it needs, and stops
// them in the reverse one, each after the one before has ended:
//
//   - the listeners first, so that no new request is accepted while those under
//     way are answered;
//   - the file of past days, which nothing depends on;
//   - the assistant, whose turns record their ends with the actors;
//   - the schedule, the sweeper, the outbox, the lookout and the retention, which only add work;
//   - the reading of the log, while the node keeps its place in the group: nobody
//     takes its partitions over before everything below has happened;
//   - the sink, whose last block is committed in the generation still held;
//   - the actors, whose last writes are confirmed in it; calls of other nodes are
//     sent on from here, and repeated until the next owner takes them;
//   - the consumer, which leaves the group, so that the others take over at once;
//   - the wire to other nodes, which until then told them to ask elsewhere;
//   - the checks after the actors, which append to them;
//   - the producers last of those that use the log: requests under way still
//     produce.
func (n *node) run(ctx context.Context, stdout io.Writer) error {
	return runParts(ctx, append(n.parts(), part{"greeting", func(ctx context.Context) error { return n.greet(ctx, stdout) }}), n.logger)
}

// parts lists what runs, in the order of starting.
func (n *node) parts() []part {
	return []part{
		{"disk", n.space.run},
		{"producer", n.producer.Run},
		{"spool", n.drainSpool},
		{"checks", n.monitoring.checks.Run},
		{"announcer", n.several.announce},
		{"wire", n.several.keepWire},
		{"consumer", n.consumer.Run},
		{"actors", n.cluster.Run},
		{"sink", n.sink.Run},
		{"reading", func(ctx context.Context) error { <-ctx.Done(); n.consumer.Quiesce(); return nil }},
		{"follower", n.several.follow},
		{"watch over what waits", n.watchBacklog},
		{"retention", n.retention.Run},
		{"sweeper", n.sweeper.Run},
		{"outbox", n.outbox.Run},
		{"lookout", n.monitoring.lookout.Run},
		{"schedule", n.monitoring.schedule.Run},
		{"filler of the schedule", n.monitoring.filler.Run},
		{"assistant", n.assistant.Run},
		{"retention of rows", n.keepRows},
		{"progress", n.keepProgress},
		{"parts", n.keepParts},
		{"past days", n.keepKept},
		{"keeper of past days", n.countDays},
		{"operator's listener", n.operator.run},
		{"public listener", n.public.Run},
	}
}

// runParts runs parts until ctx ends or one fails, then stops the last first.
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
