package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/integrity"
	"svc/cmd/svc/settings"
)

const repairHelp = `Usage: svc repair [--apply]

Looks, while no server runs, for what a start refuses: a log that was lost or cut off, a
store that is empty, lacks parts or does not match its checksums (it reads the whole
store), another master key. It says what it found, in numbers, and what would be done
about it. --apply does it.
`

// runRepair looks for anything that a start would refuse, and repairs it with --apply.
func runRepair(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("repair", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, repairHelp) }
	apply := flags.Bool("apply", false, "put it right")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil || flags.NArg() > 0 {
		return cli.ErrUsage
	}
	config, err := settings.Load(os.LookupEnv)
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return repair(ctx, config, logger, *apply, stdout)
}

// repair opens everything that a start opens, up to the last of its checks.
func repair(ctx context.Context, config settings.Config, logger *slog.Logger, apply bool, stdout io.Writer) (err error) {
	n := newNode(config, logger)
	n.inspection = integrity.Repair(stdout, apply)
	defer func() { err = errors.Join(err, n.close()) }()
	for _, open := range []func(ctx context.Context) error{n.openDir, n.openLog, n.openStore, n.verifyStore, n.checkIdentity} {
		if err := open(ctx); errors.Is(err, integrity.ErrShown) {
			fmt.Fprintln(stdout, err)
			return nil
		} else if err != nil {
			return err
		}
	}
	switch {
	case n.inspection.Found() == 0:
		fmt.Fprintln(stdout, "nothing was found; a start is not refused")
	case apply:
		fmt.Fprintln(stdout, "applied; start it with `svc serve`")
	}
	return nil
}
