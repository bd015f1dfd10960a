package main

import (
	"context"
	"strings"

	"svc/actors/grain"
	"svc/actors/issues"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/domain"
	"svc/domain/issue"
	"svc/domain/occurrence"
	"svc/domain/release"
	issuesapi "svc/http/api/issues"
	"svc/http/route"
	peoplestore "svc/storage/clickhouse/people"
)

// errorsModule adds issues: groups of errors with a state that people and new occurrences change.
func (n *node) errorsModule() module {
	return module{
		name: "errors",
		listeners: func() []pipeline.Listener {
			return []pipeline.Listener{&issues.Listener{
				Resolved: n.resolved, Issues: n.issues, Totals: n.db, Rules: n.rules, Alerts: n.alerts, Outbox: n.outbox, Logger: n.logger,
				Continuation: &issues.Continuation{Former: n.db, Totals: n.db, Issues: n.issues, Now: n.now, Logger: n.logger},
			}}
		},
		kinds: func(node *grain.Node) []cluster.Kind { return issues.Kinds(node, n.resolved) },
		routes: func() ([]route.Route, error) {
			return issuesapi.Routes(issuesapi.Ports{Issues: n.db, Occurrences: namedOccurrences{n}, Changes: n.issues, People: n.identity, Artifacts: n.db}), nil
		},
	}
}

// namedOccurrences reads occurrences with the affected persons.
type namedOccurrences struct{ node *node }

// Occurrences returns a page of summaries.
func (o namedOccurrences) Occurrences(ctx context.Context, q issue.OccurrenceQuery) (page []occurrence.Occurrence, more bool, err error) {
	if page, more, err = o.node.db.Occurrences(ctx, q); err != nil {
		return page, more, err
	}
	return page, more, o.name(ctx, q.Environment.Number, page)
}

// Occurrence returns one occurrence in full.
func (o namedOccurrences) Occurrence(ctx context.Context, environment domain.Environment, issue uint64, id string) (occurrence.Occurrence, error) {
	found, err := o.node.db.Occurrence(ctx, environment, issue, id)
	if err != nil {
		return found, err
	}
	page := []occurrence.Occurrence{found}
	err = o.name(ctx, environment.Number, page)
	return page[0], err
}

// name sets the persons of occurrences. A person that returns after an erasure is another person.
func (o namedOccurrences) name(ctx context.Context, environment uint64, page []occurrence.Occurrence) error {
	erased := o.node.erased.Visitors()
	return o.node.db.NameOccurrences(ctx, environment, page, func(id string, ms int64) uint64 {
		number := peoplestore.VisitorNumber(id)
		return number ^ erased.Life(environment, number, ms)
	})
}

// orgOf returns the organization of an environment, empty if unknown.
func (n *node) orgOf(environment uint64) string {
	app, _ := n.placeOf(environment)
	org, _, _ := strings.Cut(app, "/")
	return org
}

// releaseCounts reads the counts of releases of an organization.
type releaseCounts struct{ node *node }

// ReleaseCounts counts in all applications, or in one.
func (r releaseCounts) ReleaseCounts(ctx context.Context, org, app string, releases []string) (map[string]release.Count, error) {
	var environments []uint64
	for _, application := range r.node.collectors.Applications() {
		if ref := application.Ref(); ref.Org == org && (app == "" || ref.App == app) {
			for _, environment := range application.Environments {
				environments = append(environments, environment.Number)
			}
		}
	}
	return r.node.db.ReleaseCounts(ctx, environments, releases)
}

// placeOf returns the application and the environment of an environment's number.
func (n *node) placeOf(number uint64) (app, env string) {
	for _, application := range n.collectors.Applications() {
		for _, environment := range application.Environments {
			if environment.Number == number {
				return application.Ref().String(), environment.Slug
			}
		}
	}
	return "", ""
}
