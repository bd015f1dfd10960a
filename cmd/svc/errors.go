package main

import (
	"svc/actors"
	"svc/actors/pipeline"
	"svc/http/api/issues"
	"svc/http/route"
)

// errorsModule is issues: groups of errors with a state that people and new occurrences change.
func (n *node) errorsModule() module {
	return module{
		name: "errors",
		listeners: func() []pipeline.Listener {
			return []pipeline.Listener{&actors.IssueListener{
				Watch: n.watch, Issues: n.issues, Totals: n.db, Rules: n.rules, Alarms: n.alarms, Outbox: n.outbox, Logger: n.logger,
				Continuation: &actors.Continuation{Former: n.db, Totals: n.db, Issues: n.issues, Now: n.now, Logger: n.logger},
			}}
		},
		join: func() error { n.issues.Actors, n.releases.Actors = n.cluster, n.cluster; return nil },
		routes: func() ([]route.Route, error) {
			return issues.Routes(issues.Ports{Issues: n.db, Occurrences: n.db, Changes: n.issues, People: n.identity}), nil
		},
	}
}
