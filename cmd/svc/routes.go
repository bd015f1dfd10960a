package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"

	"svc/http/api"
	"svc/http/console"
	"svc/http/manual"
	"svc/http/mcp"
	"svc/http/share"
)

// runRoutes prints the route table; it needs no server.
func runRoutes(_ context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("routes", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "Usage: svc routes\n\nPrints every route with its surface, scope, permission, module and effect.\n")
	}
	if err := flags.Parse(args); err != nil {
		return errUsage
	}
	collect := &api.Collect{Metrics: api.NewCollectMetrics(prometheus.NewRegistry())}
	table := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SURFACE\tMETHOD\tPATH\tOPERATION\tSCOPE\tPERMISSION\tMODULE\tEFFECT")
	for _, route := range slices.Concat(api.Routes(api.Ports{}), collect.Routes(), new(api.Sentry).Routes(), new(api.Uploads).Routes(), new(share.Pages).Routes(), new(manual.Manual).Routes(), console.Routes(), new(mcp.Server).Routes()) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", route.Surface, route.Method, route.Pattern(), route.Operation,
			dash(route.Scope), dash(route.Permission), dash(route.Module), route.Effect)
	}
	return table.Flush()
}

func dash[T ~string](value T) string {
	if value == "" {
		return "-"
	}
	return string(value)
}
