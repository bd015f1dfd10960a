package main

import (
	"context"

	"svc/actors/people"
	"svc/actors/pipeline"
	peopleapi "svc/http/api/people"
	"svc/http/route"
	peoplestore "svc/storage/clickhouse/people"
)

// peopleModule is people: who visitors are, what is known of them, what members decide about them.
func (n *node) peopleModule() module {
	return module{
		name:      "people",
		listeners: func() []pipeline.Listener { return []pipeline.Listener{&people.AliasListener{Store: n.db}} },
		kinds:     people.Kinds,
		routes: func() ([]route.Route, error) {
			return peopleapi.Routes(peopleapi.Ports{
				People: n.db, Changes: &people.People{Actors: n.cluster}, Timelines: n.db, Merges: n.db, Segments: n.segments(), Tallies: n.db, NewID: n.random.ID,
			}), nil
		},
		parts: func() []part {
			return []part{{"lifecycle of people", "It asks the actors of applications for their goals, so it stops before them.", n.applyLifecycle}}
		},
	}
}

// applyLifecycle has people reach the stages of goals. One node does it, the owner of partition 0.
func (n *node) applyLifecycle(ctx context.Context) error {
	rules := &peoplestore.Lifecycle{
		Store: n.db.PeopleStore, Owns: func() bool { _, owned := n.ownership.Owned(0); return owned },
		Apps: n.collectors.Applications, Goals: n.apps.Goals, Now: n.now, Logger: n.logger,
	}
	return rules.Run(ctx)
}

// segments is the client of the segments of applications.
func (n *node) segments() *people.Segments {
	return &people.Segments{Actors: n.cluster, NewID: n.random.ID, Users: each(n.modules(), func(m module) func() []people.SegmentUser { return m.segmentUsers })}
}
