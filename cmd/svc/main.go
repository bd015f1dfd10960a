// Command svc is the whole service in one binary: it runs the server, the operator's commands and the importers.
// Package main wires the packages of the module into a node; `svc help` lists the commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"svc/cmd/svc/backup"
	"svc/cmd/svc/bridge"
	"svc/cmd/svc/cli"
	"svc/cmd/svc/demo"
	"svc/cmd/svc/importer"
	"svc/cmd/svc/settings"
	"svc/cmd/svc/version"
	"svc/domain"
)

// command is one sub-command.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"serve", "run the server (the default)", runServe},
		{"admin", "operator's commands: organizations, members, tokens, console sessions, rebuild", runAdmin},
		{"backup", "copy everything of a running server into a folder", backup.Run},
		{"restore", "make an empty data directory, or an empty server's, what a backup holds", runRestore},
		{"repair", "look for what a start refuses, and put it right with --apply", runRepair},
		{"demo", "fill the application demo with 90 days of an invented product", demo.Run},
		{"import", "replay files into the ingest path", importer.Run},
		{"mcp", "speak the Model Context Protocol at standard input and output", bridge.Run},
		{"config", "print the effective configuration, secrets masked", settings.Run},
		{"routes", "print the route table", runRoutes},
		{"version", "print the version", version.Run},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, cli.ErrUsage) {
			fmt.Fprintln(os.Stderr, "svc:", err)
		}
		stop()
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	if errors.Is(err, cli.ErrUsage) {
		return 2
	}
	return 1
}

// dispatch runs the sub-command that args name.
func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	name := "serve"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == "help" || name == "-h" || name == "--help" {
		usage(stdout)
		return nil
	}
	var known []string
	for _, c := range commands() {
		if c.name == name {
			err := c.run(ctx, args, stdout, stderr)
			if errors.Is(err, flag.ErrHelp) {
				return nil
			}
			return err
		}
		known = append(known, c.name)
	}
	fmt.Fprintf(stderr, "svc: there is no command %q%s\n\n", name, domain.DidYouMean(name, "svc ", known))
	usage(stderr)
	return cli.ErrUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "svc takes in events of applications and answers questions about them.\n\nUsage: svc <command> [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\nEvery command explains itself with --help. The server is configured by\nenvironment variables only; `svc config --help` lists them.\n")
}
