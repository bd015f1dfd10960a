package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/prometheus/client_golang/prometheus"

	"svc/cmd/svc/cli"
	"svc/http/api/accounts"
	"svc/http/api/alerting"
	"svc/http/api/analytics"
	"svc/http/api/apps"
	"svc/http/api/assistant"
	"svc/http/api/issues"
	"svc/http/api/metrics"
	"svc/http/console"
	"svc/http/docs"
	"svc/http/docsite"
	"svc/http/ingest"
	"svc/http/mcp"
	"svc/http/route"
	"svc/http/share"
)

// routed is all that has rows of the route table. The rows are the same whatever the parts
// are made of, so the table can be printed without a server.
type routed struct {
	accounts  accounts.Ports
	apps      apps.Ports
	analytics analytics.Ports
	issues    issues.Ports
	metrics   metrics.Ports
	alerting  alerting.Ports
	assistant assistant.Ports
	docs      *docs.Library
	collect   *ingest.Collect
	sentry    *ingest.Sentry
	uploads   *ingest.Uploads
	// releases takes what sentry-cli says about releases.
	releases *ingest.Releases
	pages    *share.Pages
	docsite  *docsite.Site
	agents   *mcp.Server
}

// table is the whole route table.
func (r *routed) table() []route.Route {
	return slices.Concat(
		accounts.Routes(r.accounts), apps.Routes(r.apps), analytics.Routes(r.analytics), issues.Routes(r.issues), metrics.Routes(r.metrics),
		alerting.Routes(r.alerting), assistant.Routes(r.assistant), r.docs.Routes(),
		r.collect.Routes(), r.sentry.Routes(), r.uploads.Routes(), r.releases.Routes(), r.pages.Routes(), r.docsite.Routes(), console.Routes(), r.agents.Routes(),
	)
}

// unservedTable is the whole route table of handlers that can serve nothing.
func unservedTable() []route.Route {
	parts := routed{
		collect: &ingest.Collect{Metrics: ingest.NewCollectMetrics(prometheus.NewRegistry())},
		sentry:  new(ingest.Sentry), uploads: new(ingest.Uploads), releases: new(ingest.Releases), pages: new(share.Pages), docsite: new(docsite.Site), agents: new(mcp.Server),
	}
	return parts.table()
}

// runRoutes prints the route table; it needs no server.
func runRoutes(_ context.Context, args []string, stdout, stderr io.Writer) error {
	usage := func(w io.Writer) {
		fmt.Fprint(w, "Usage: svc routes\n\nPrints every route with its surface, scope, permission, module and effect.\n")
	}
	if err := cli.ParseFlags(flag.NewFlagSet("routes", flag.ContinueOnError), args, usage, stdout, stderr); err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "SURFACE\tMETHOD\tPATH\tOPERATION\tSCOPE\tPERMISSION\tMODULE\tEFFECT")
	for _, route := range unservedTable() {
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
