package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"text/tabwriter"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/settings"
	"svc/http/route"
)

// runRoutes prints the route table; it needs no server.
func runRoutes(_ context.Context, args []string, stdout, stderr io.Writer) error {
	usage := func(w io.Writer) {
		fmt.Fprint(w, "Usage: svc routes\n\nPrints every route with its surface, scope, permission, module and effect.\n")
	}
	if err := cli.ParseFlags(flag.NewFlagSet("routes", flag.ContinueOnError), args, usage, stdout, stderr); err != nil {
		return err
	}
	n := newNode(settings.Config{}, slog.New(slog.DiscardHandler))
	if err := n.openLibrary(); err != nil {
		return err
	}
	rows, err := n.wholeTable()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SURFACE\tMETHOD\tPATH\tOPERATION\tSCOPE\tPERMISSION\tMODULE\tEFFECT")
	for _, route := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", route.Surface, route.Method, route.Pattern(), route.Operation,
			dash(route.Scope), dash(route.Permission), dash(route.Module), route.Effect)
	}
	return table.Flush()
}

// wholeTable lists every row of a node that is not open. The rows cannot serve requests.
func (n *node) wholeTable() ([]route.Route, error) {
	rows, err := n.rows()
	if err != nil {
		return nil, err
	}
	callers, err := n.callers(http.NotFoundHandler(), rows)
	return slices.Concat(rows, callers), err
}

func dash[T ~string](value T) string {
	if value == "" {
		return "-"
	}
	return string(value)
}
