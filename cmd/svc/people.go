package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/alerting"
	"svc/actors/apps"
	"svc/actors/conversations"
	"svc/actors/people"
	"svc/actors/pipeline"
	"svc/cmd/svc/adapter"
	"svc/domain"
	"svc/domain/person"
	peopleapi "svc/http/api/people"
	"svc/http/route"
	peoplestore "svc/storage/clickhouse/people"
)

// peopleModule adds people: their identities, their data, and members' decisions about them.
func (n *node) peopleModule() module {
	return module{
		name:      "people",
		listeners: func() []pipeline.Listener { return []pipeline.Listener{&people.AliasListener{Store: n.db}} },
		snapshots: func() []apps.Snapshot { return []apps.Snapshot{n.erased} },
		kinds:     people.Kinds,
		routes: func() ([]route.Route, error) {
			return peopleapi.Routes(peopleapi.Ports{
				People: n.billed(n.db), Changes: n.people(), Timelines: n.db, Merges: n.db, Splits: splitting{n}, Segments: n.segments(), Tallies: n.db, Companies: n.db, Erasures: erasing{n.people(), n}, DropOffs: n.db, NewID: n.random.ID,
			}), nil
		},
		parts: func() []part {
			return []part{
				{"lifecycle of people", "It asks the actors of applications for their goals, so it stops before them.", n.applyLifecycle},
				{"erasures", "It notes in the actors of applications how far erasures are, so it stops before them.", n.removeErased},
				{"kept people", "It writes what questions read, and nothing waits for it.", n.keepPeople},
			}
		},
	}
}

// applyLifecycle moves people to the stages of reached goals. Only the owner of partition 0 does it.
func (n *node) applyLifecycle(ctx context.Context) error {
	links := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "svc_people_second_links", Help: "Links that began because an anonymous id was identified as a further person (a shared device), as of the last hourly round of the node that counts them.",
	})
	n.registry.MustRegister(links)
	rules := &peoplestore.Lifecycle{
		Store: n.db.PeopleStore, Owns: func() bool { _, owned := n.ownership.Owned(0); return owned },
		Apps: n.collectors.Applications, Goals: n.apps.Goals, Linked: func(count uint64) { links.Set(float64(count)) }, Now: n.now, Logger: n.logger,
	}
	return rules.Run(ctx)
}

// dependents finds the production objects that depend on objects that models change.
func (n *node) dependents() adapter.Dependents {
	return adapter.Dependents{Application: n.collectors.Application, Segments: n.segments(), Flags: n.flagBook(), Alerts: n.alerts}
}

// segments is the client of the segments of applications.
func (n *node) segments() *people.Segments {
	return &people.Segments{Actors: n.cluster, NewID: n.random.ID, Users: each(n.modules(), func(m module) func() []people.SegmentUser { return m.segmentUsers })}
}

// people is the client of the actors of people.
func (n *node) people() *people.People { return &people.People{Actors: n.cluster} }

// hideErased hides erased people from all reads of this node as soon as it receives the erasure.
func (n *node) hideErased(open []person.Erasure, environments []uint64) {
	n.db.PeopleStore.Hide(open)
	n.db.Forget(environments)
	for _, environment := range environments {
		if n.updates != nil { // before the actors exist, no view is open
			n.updates.Reread(n.subscriptions, environment)
		}
	}
}

// keepPeople caches the people of large environments, for fast lists of them.
func (n *node) keepPeople(ctx context.Context) error {
	n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "svc_people_kept", Help: "People whose folds this node keeps for quick lists, of all environments of which reads were slow.",
	}, func() float64 { return float64(n.db.Kept()) }))
	return n.db.KeepFolds(ctx, func() uint64 { return binary.LittleEndian.Uint64(n.random.Bytes(8)) }, n.logger)
}

// removeErased removes the rows of erased people.
func (n *node) removeErased(ctx context.Context) error {
	n.db.Forget(n.erased.Environments()) // the file of past days may predate the erasures
	eraser := &peoplestore.Eraser{
		IDs:   func(one person.Erasure) []uint64 { return n.erased.Visitors().IDs(one.EnvironmentNumber, one.Visitors) },
		Store: n.db.PeopleStore, Owns: func() bool { _, owned := n.ownership.Owned(0); return owned },
		Open: n.erased.Open, Withdraw: n.exports().Withdraw, Count: n.people().CountErasure, Note: n.people().NoteErasure, Changed: n.db.ReadStore.Forget, Settle: n.config.ErasureDelay, Now: n.now, Logger: n.logger,
	}
	return eraser.Run(ctx)
}

// splitting removes ids from people.
type splitting struct{ node *node }

// Tied reports whether an alias or a merge names an id.
func (s splitting) Tied(ctx context.Context, environment, visitor uint64) (bool, error) {
	return s.node.db.Tied(ctx, environment, visitor)
}

// Split removes an id from its person.
func (s splitting) Split(ctx context.Context, environment uint64, split person.Split) error {
	return s.node.db.Split(ctx, environment, split)
}

// VisitorOf returns the present number of an id of an environment.
func (s splitting) VisitorOf(environment uint64, id string) uint64 {
	number := peoplestore.VisitorNumber(id)
	return number ^ s.node.erased.Visitors().Life(environment, number, s.node.now().UnixMilli())
}

// erasing starts erasures.
type erasing struct {
	*people.People
	node *node
}

// Customer returns the person with a distinct id. If only billing knows the id, the person consists of that id alone.
// It fails with not_found if nothing is known of the id.
func (e erasing) Customer(ctx context.Context, environment uint64, id string) (person.Person, error) {
	erased, number := e.node.erased.Visitors(), peoplestore.VisitorNumber(id)
	visitor := number ^ erased.Life(environment, number, e.node.now().UnixMilli())
	p, err := e.node.db.Person(ctx, environment, visitor)
	if domain.CodeOf(err) != domain.CodeNotFound {
		return p, err
	}
	billed, err := e.node.db.Billed(ctx, environment, id, erased.ErasedAt(environment, number))
	if err != nil || !billed {
		return p, cmp.Or(err, error(domain.NotFound("person")))
	}
	return person.Person{Number: visitor, ID: person.ID(visitor), DistinctID: id, DistinctIDs: []string{id}, Members: []uint64{visitor}}, nil
}

// Erase hides a person everywhere. After a crash before its end, the person is either unchanged or hidden; the caller
// retries.
func (e erasing) Erase(ctx context.Context, person *person.Person, erasure person.Erasure) (person.Erasure, error) {
	var life [8]byte
	_, _ = rand.Read(life[:]) // never fails
	erasure.Life = binary.LittleEndian.Uint64(life[:])
	words := person.AllWords()
	talks, inboxes, err := e.node.db.Quoting(ctx, erasure.App, words)
	if err != nil {
		return erasure, err
	}
	texts, err := conversations.Forget(ctx, e.node.cluster, talks, inboxes, words)
	if err != nil {
		return erasure, err
	}
	quoting, err := e.node.db.QuotingAlerts(ctx, erasure.App, words)
	if err != nil {
		return erasure, err
	}
	incidents, err := (&alerting.Alerts{Actors: e.node.cluster}).Forget(ctx, erasure.App, erasure.Environment, words, quoting)
	if err != nil {
		return erasure, err
	}
	erasure.Removed.Texts = uint64(texts + incidents)
	if err := e.node.db.ForgetLetters(ctx, erasure.EnvironmentNumber, words); err != nil {
		return erasure, err
	}
	if err := e.node.db.ForgetIssues(ctx, erasure, "0"); err != nil {
		return erasure, err
	}
	for _, visitor := range erasure.Visitors {
		if err := e.People.Forget(ctx, erasure.EnvironmentNumber, visitor); err != nil {
			return erasure, err
		}
	}
	begun, err := e.People.Begin(ctx, erasure)
	if err != nil {
		return erasure, err
	}
	if err := e.node.syncSnapshot(ctx, "erasures", erasure.App.String()); err != nil {
		return begun, err
	}
	return begun, e.node.exports().Withdraw(ctx, begun)
}
