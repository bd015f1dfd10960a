package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"svc/actors/apps"
	"svc/actors/exports"
	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	domainanalytics "svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/export"
	"svc/domain/person"
	"svc/http/api/analytics"
	exportsapi "svc/http/api/exports"
	peopleapi "svc/http/api/people"
	"svc/http/route"
)

// exportsModule adds exports: files of events and people that are collected in the background.
func (n *node) exportsModule() module {
	return module{
		name:      "exports",
		snapshots: func() []apps.Snapshot { return []apps.Snapshot{n.openExports} },
		kinds:     func(node *grain.Node) []cluster.Kind { return exports.Kinds(node) },
		routes:    n.exportRoutes,
		parts: func() []part {
			return []part{{"exports", "It notes in the actors of applications how far exports are, so it stops before them.", n.collectExports}}
		},
	}
}

// exports is the client of the exports of applications.
func (n *node) exports() *exports.Exports {
	return &exports.Exports{Actors: n.cluster, Files: n.db, Wake: n.openExports.Wake}
}

func (n *node) exportRoutes() ([]route.Route, error) {
	ports := exportsapi.Ports{Exports: n.exports(), Files: n.db, Access: exportAccess{n}, NewID: n.random.ID, Now: n.now}
	if n.vault != nil { // a node that is not open only lists its rows
		key, err := n.vault.Key("links of exports")
		if err != nil {
			return nil, err
		}
		ports.Links = exportsapi.Links{Key: key}
	}
	return append(exportsapi.Routes(ports), exportsapi.Downloads(ports)...), nil
}

// exportAccess decides who may fetch files.
type exportAccess struct{ node *node }

// Reads returns an application with the grant of a person's role in it.
func (a exportAccess) Reads(ctx context.Context, ref domain.AppRef, person string) (domain.Application, domain.Grant, error) {
	app, err := a.node.apps.Get(ctx, ref)
	if err != nil {
		return app, domain.Grant{}, err
	}
	role, err := a.node.identity.Role(ctx, ref.Org, person)
	return app, domain.Grant{Role: role, Permissions: domain.EffectivePermissions(role, domain.Scopes())}, err
}

// collectExports collects the rows of exports. The owner of one partition collects the exports of an application.
func (n *node) collectExports(ctx context.Context) error {
	runner := &exports.Runner{
		Actors: n.cluster, Open: n.openExports, Source: exportSource{n}, Files: n.db, Draw: rand.Uint32, Now: n.now, Logger: n.logger,
		Owns: func(app domain.AppRef) bool {
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(app.String())) // never fails
			_, owned := n.ownership.Owned(int(hash.Sum32() % uint32(n.config.Partitions)))
			return owned
		},
		Sweeps: func() bool { _, owned := n.ownership.Owned(0); return owned },
	}
	return runner.Run(ctx)
}

// exportSource reads the exported rows, which are the rows of lists.
type exportSource struct{ node *node }

// The number of rows per page. People are folded for every page, so their pages are long.
const (
	exportedEvents = 5_000
	exportedPeople = 10_000
)

// Page returns the next rows.
func (s exportSource) Page(ctx context.Context, e *export.Export, cursor string) (exports.Page, error) {
	if err := s.node.syncSnapshot(ctx, "erasures", e.App.String()); err != nil { // afterwards, erased people are hidden
		return exports.Page{}, err
	}
	if cursor == "" { // an export includes everything that was accepted before its request
		if err := s.node.awaitStored(ctx); err != nil {
			return exports.Page{}, err
		}
	}
	environment := domain.Environment{Slug: e.Environment, Number: e.EnvironmentNumber}
	if e.Kind == export.People {
		return s.people(ctx, e, environment, cursor)
	}
	return s.events(ctx, e, environment, cursor)
}

// events returns events from the end of the range to its beginning.
func (s exportSource) events(ctx context.Context, export *export.Export, environment domain.Environment, cursor string) (exports.Page, error) {
	query := domainanalytics.EventQuery{Environment: environment, Name: export.Name, Before: &event.Key{Ts: export.To}, Underway: true, Limit: exportedEvents}
	if err := readCursor(cursor, query.Before); err != nil {
		return exports.Page{}, err
	}
	rows, more, err := personalEvents{s.node.db}.List(ctx, query)
	if err != nil {
		return exports.Page{}, err
	}
	page, fields := exports.Page{Done: !more, Progress: 1}, s.fields(export)
	for i := range rows {
		if rows[i].Ts.Before(export.From) {
			page.Done = true
			break
		}
		last := rows[i].Key()
		line, err := analytics.EventLine(&rows[i], export.Masked, fields)
		if err != nil {
			return exports.Page{}, fmt.Errorf("encoding the event %s: %w", last.ID, err)
		}
		page.Lines = append(page.Lines, line)
		page.Cursor = writeCursor(last)
		page.Progress = passed(last.Ts, export.To, s.oldest(export))
	}
	return page, nil
}

// fields returns the personal names that the application adds.
func (s exportSource) fields(export *export.Export) domain.PersonalFields {
	app, there := s.node.collectors.Application(export.App)
	if !there {
		return nil
	}
	return app.Personal()
}

// oldest returns the earliest time of the events in an export.
func (s exportSource) oldest(export *export.Export) time.Time {
	for _, app := range s.node.collectors.Applications() {
		if kept := export.At.Add(-time.Duration(app.RetentionDays) * 24 * time.Hour); app.Ref() == export.App && kept.After(export.From) {
			return kept
		}
	}
	return export.From
}

// passed returns how far at lies on the way back from from to to, from 0 to 1.
func passed(at, from, to time.Time) float64 {
	if whole := from.Sub(to); whole > 0 {
		return min(max(float64(from.Sub(at))/float64(whole), 0), 1)
	}
	return 1
}

// people returns people in the order of lists.
func (s exportSource) people(ctx context.Context, export *export.Export, environment domain.Environment, cursor string) (exports.Page, error) {
	query := person.Query{Environment: environment, Now: export.At, Limit: exportedPeople}
	if cursor != "" {
		query.After = &person.Key{}
		if err := readCursor(cursor, query.After); err != nil {
			return exports.Page{}, err
		}
	}
	list, err := s.node.db.People(ctx, query)
	if err != nil {
		return exports.Page{}, err
	}
	fields := s.fields(export)
	page := exports.Page{Done: !list.More, Cursor: writeCursor(list.Last), Progress: passed(time.UnixMilli(list.Last.BeganMs), export.To, s.oldest(export))}
	for i := range list.Rows {
		person := &list.Rows[i]
		if person.LastSeenAt.Before(export.From) || !person.FirstSeenAt.Before(export.To) {
			continue
		}
		line, err := peopleapi.PersonLine(person, export.Masked, fields)
		if err != nil {
			return exports.Page{}, fmt.Errorf("encoding the person %s: %w", person.ID, err)
		}
		page.Lines = append(page.Lines, line)
	}
	return page, nil
}

// readCursor fills a key from a cursor, if there is one.
func readCursor(cursor string, into any) error {
	if cursor == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(cursor), into); err != nil {
		return fmt.Errorf("reading a cursor: %w", err)
	}
	return nil
}

func writeCursor(key any) string {
	text, _ := json.Marshal(key) // consists of times, texts and numbers
	return string(text)
}
