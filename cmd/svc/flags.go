package main

import (
	"context"
	"slices"
	"time"

	"github.com/go-faster/city"

	"svc/actors/apps"
	"svc/actors/flags"
	"svc/actors/grain"
	"svc/actors/people"
	"svc/cluster"
	"svc/domain"
	"svc/domain/flag"
	domainingest "svc/domain/ingest"
	"svc/domain/person"
	flagsapi "svc/http/api/flags"
	flagsurface "svc/http/flags"
	"svc/http/ingest"
	"svc/http/route"
)

// featureFlags holds the parts of the flags module.
type featureFlags struct {
	definitions *flags.Definitions
	persons     *flags.Persons
	recorder    *flags.Recorder
}

// flagsModule adds feature flags: their definitions, evaluations, exposures.
func (n *node) flagsModule() module {
	return module{
		name: "flags",
		snapshots: func() []apps.Snapshot {
			n.flags.definitions = flags.NewDefinitions(n.now)
			return []apps.Snapshot{n.flags.definitions}
		},
		wire: func() error {
			memberships := &people.Memberships{Segments: n.segments(), Store: n.db, Now: n.now}
			n.flags.persons = flags.NewPersons(n.db, flagSegments{n.collectors, memberships}, n.now, n.logger)
			n.flags.recorder = &flags.Recorder{
				Definitions: n.flags.definitions, Store: n.db, Applications: n.collectors.Applications, Policy: n.policies.Telemetry, Usage: func(counts domainingest.UsageCounts) { n.tallies.Add(counts) }, Name: n.random.ID("run_"), Now: n.now, Logger: n.logger,
			}
			return nil
		},
		kinds:  func(node *grain.Node) []cluster.Kind { return flags.Kinds(node, n.flags.definitions) },
		routes: n.flagRoutes,
		segmentUsers: func() []people.SegmentUser {
			return []people.SegmentUser{n.flagBook()}
		},
		parts: func() []part {
			return []part{
				{"persons of flags", "Evaluations ask it for persons; it reads the store.", n.flags.persons.Run},
				{"evaluations of flags", "It stores what requests have counted, so it stops after the last of them and before the store.", n.flags.recorder.Run},
			}
		},
	}
}

// flagRoutes are the rows of members and of SDKs.
func (n *node) flagRoutes() ([]route.Route, error) {
	surface := &flagsurface.Flags{
		Authority: ingest.Authority{Collectors: n.collectors, Current: n.current}, Definitions: n.flags.definitions, Persons: n.flags.persons, Exposures: n.flags.recorder,
		Now: n.now, Origin: n.config.Origin(), Memory: &flag.Memory{},
	}
	if n.vault != nil { // a node that is not open only lists its rows
		key, err := n.vault.Key("streams of flags")
		if err != nil {
			return nil, err
		}
		surface.Tokens = flagsurface.Tokens{Key: key}
	}
	ports := flagsapi.Ports{
		Flags: n.flagBook(), Readings: n.db, Previews: flagPreviews{n.flags.definitions, n.flags.persons}, Results: n.db,
	}
	return append(flagsapi.Routes(ports), surface.Routes()...), nil
}

// flagBook is the client of the flags of applications.
func (n *node) flagBook() *flags.Flags {
	return &flags.Flags{Actors: n.cluster, Sync: n.syncSnapshot}
}

// flagSegments looks up a person's segments for evaluations.
type flagSegments struct {
	collectors  *apps.Collectors
	memberships *people.Memberships
}

// SegmentsOf returns the ids of the segments that a person of an environment is in.
func (s flagSegments) SegmentsOf(ctx context.Context, environment uint64, p *person.Person) ([]string, error) {
	visitor, _ := person.ParsePersonID(p.ID)
	for _, app := range s.collectors.Applications() {
		if slices.ContainsFunc(app.Environments, func(one domain.Environment) bool { return one.Number == environment }) {
			return s.memberships.SegmentsOf(ctx, app, environment, visitor)
		}
	}
	return nil, nil
}

// flagPreviews reads the data of evaluations for previews.
type flagPreviews struct {
	definitions *flags.Definitions
	persons     *flags.Persons
}

// previewTime limits the look-up of a person for a preview.
const previewTime = 3 * time.Second

func (p flagPreviews) Set(ref domain.AppRef, environment string) *flag.Set {
	return p.definitions.Set(ref, environment)
}

func (p flagPreviews) Known(ctx context.Context, environment uint64, distinctID string) *flag.Person {
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	return p.persons.Known(ctx, environment, city.CH64([]byte(distinctID)))
}
