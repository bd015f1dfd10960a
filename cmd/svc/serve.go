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
	process.AddSpareThreads()
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

// run starts the parts and stops them again once ctx ends.
func (n *node) run(ctx context.Context, stdout io.Writer) error {
	greeting := part{
		"greeting", "It makes the first start's token and keys by calling everything above, and then says that the node serves.",
		func(ctx context.Context) error { return n.greet(ctx, stdout) },
	}
	return runParts(ctx, append(n.parts(), greeting), n.logger)
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
