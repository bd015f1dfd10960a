package main

import (
	"context"
	"hash/fnv"

	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/live"
	"svc/actors/reports"
	"svc/cluster"
	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/domain/report"
	reportsapi "svc/http/api/reports"
	"svc/http/outbound"
	"svc/http/route"
)

// reportsModule adds e-mail reports: weekly, monthly, and notices of traffic spikes.
func (n *node) reportsModule() module {
	return module{
		name:      "reports",
		snapshots: func() []apps.Snapshot { return []apps.Snapshot{n.reports} },
		kinds:     func(node *grain.Node) []cluster.Kind { return reports.Kinds(node) },
		routes:    n.reportRoutes,
		parts: func() []part {
			return []part{{"reports", "It claims and records letters in actors of applications, so it stops before them.", n.sendReports}}
		},
	}
}

// reportLinks are the links by which recipients unsubscribe.
func (n *node) reportLinks() (reportsapi.Links, error) {
	if n.vault == nil { // a node that is not open only lists its rows
		return reportsapi.Links{}, nil
	}
	key, err := n.vault.Key("links of reports")
	return reportsapi.Links{Key: key}, err
}

func (n *node) reportRoutes() ([]route.Route, error) {
	links, err := n.reportLinks()
	if err != nil {
		return nil, err
	}
	ports := reportsapi.Ports{Reports: &reports.Reports{Actors: n.cluster, Now: n.now}, Links: links, Mails: n.config.MailServer != "", NewID: n.random.ID}
	pages, err := reportsapi.Unsubscribe(ports)
	if err != nil {
		return nil, err
	}
	return append(reportsapi.Routes(ports), pages...), nil
}

// sendReports sends due reports. The owner of one partition sends the letters of an application.
func (n *node) sendReports(ctx context.Context) error {
	links, err := n.reportLinks()
	if err != nil {
		return err
	}
	publicURL := n.config.URLAt(n.config.HTTPAddr)
	sender, err := outbound.NewReports(outbound.Mail{Server: n.config.MailServer, From: n.config.MailFrom, Now: n.now}, publicURL)
	if err != nil {
		return err
	}
	runner := &reports.Runner{
		Actors: n.cluster, Known: n.reports, Traffic: reportTraffic{n, &live.Presence{Actors: n.cluster}}, Sender: sender, Now: n.now, Logger: n.logger,
		Owns: func(app domain.AppRef) bool {
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(app.String())) // never fails
			_, owned := n.ownership.Owned(int(hash.Sum32() % uint32(n.config.Partitions)))
			return owned
		},
		App: n.collectors.Application,
		Unsubscribe: func(app domain.AppRef, report, recipient string) string {
			return publicURL + links.Path(app, report, recipient)
		},
	}
	return runner.Run(ctx)
}

// reportTraffic reads the contents of reports.
type reportTraffic struct {
	node *node
	*live.Presence
}

// ReportContent returns the numbers of a period. E-mail-like values of pages and sources are masked, because a
// recipient need not be a member.
func (t reportTraffic) ReportContent(ctx context.Context, app *domain.Application, r *report.Report, period report.Period) (content report.Content, err error) {
	window, problem := domain.ParseWindow(period.Range(), t.node.now(), app.Location())
	if problem != nil {
		return content, domain.Invalid(*problem)
	}
	if err := t.node.awaitStored(ctx); err != nil { // the period is over, and its last rows may wait in the log
		return content, err
	}
	goals, err := t.node.apps.Goals(ctx, r.App)
	if err != nil {
		return content, err
	}
	scope := analytics.Scope{App: r.App, Environment: domain.Environment{Slug: r.Environment, Number: r.Number}, Window: window}
	if content.Overview, err = t.node.db.Overview(ctx, scope, goal.Matchers(goals)); err != nil {
		return content, err
	}
	for dimension, into := range map[filter.Dimension]*[]report.Value{filter.DimPath: &content.Pages, filter.DimSource: &content.Sources} {
		found, err := t.node.db.Breakdown(ctx, analytics.BreakdownQuery{Scope: scope, Dimension: dimension, Limit: report.Rows}, nil)
		if err != nil {
			return content, err
		}
		for i := range found.Rows {
			*into = append(*into, report.Value{Value: domain.MaskShapes(found.Rows[i].Value), Visitors: found.Rows[i].Visitors})
		}
	}
	counts, err := t.node.db.GoalCounts(ctx, scope, goals)
	content.Goals = counts.Rows
	return content, err
}
