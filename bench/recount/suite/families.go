package suite

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"svc/bench/recount/reference"
	"svc/bench/recount/traffic"
)

// members is a run's knowledge of the members' actions in an application.
type members struct {
	merges     []reference.Merge
	splits     []reference.Split
	decisions  []reference.Decision
	activities []reference.Activity
	segments   []*reference.Segment
	// gone are the erased visitors, erased the number of erasures of each id.
	gone   map[reference.Place]bool
	erased map[reference.Place]int
	// ids are the ids of people by their visitors.
	ids map[reference.Place]string
}

// familyItems limits the visits of a family in a round.
const familyItems = 16

// environments are the environments to which families send.
func environments() []string { return []string{"production", "staging"} }

// openFamilies creates the application of the families.
func (s *Suite) openFamilies(ctx context.Context) (*app, error) {
	a, err := s.open(ctx, "Europe/Berlin", "Families")
	if err != nil {
		return nil, err
	}
	a.members = &members{gone: map[reference.Place]bool{}, erased: map[reference.Place]int{}, ids: map[reference.Place]string{}}
	return a, nil
}

// round sends one round of events of families, lets members change people, and reads everything back.
func (s *Suite) round(ctx context.Context, a *app, number int) ([]Failure, error) {
	settings := traffic.Settings{Seed: s.Seed + 17, Zone: a.zone, Now: s.Now}
	sent := traffic.Families(settings, number, s.Families, familyItems)
	for _, one := range sent {
		one.Erased = a.members.erased[placeOfID(one.Environment, one.Visitor())]
		one.OtherErased = a.members.erased[placeOfID(one.Environment, one.AnonymousID)]
	}
	if err := s.send(ctx, a, sent); err != nil {
		return nil, fmt.Errorf("sending: %w", err)
	}
	a.sent = append(a.sent, sent...)
	if err := s.Drained(ctx); err != nil {
		return nil, err
	}
	if err := s.readBack(ctx, a); err != nil {
		return nil, fmt.Errorf("the feed of families: %w", err)
	}
	d := newDeeds(s, a, number)
	if err := d.do(ctx); err != nil {
		return nil, fmt.Errorf("what members do: %w", err)
	}
	if err := s.awaitErasures(ctx, a); err != nil {
		return nil, err
	}
	if s.Rounds > 1 {
		if err := s.Restart(ctx, number); err != nil {
			return nil, fmt.Errorf("starting again: %w", err)
		}
	}
	if err := s.readBack(ctx, a); err != nil {
		return nil, fmt.Errorf("the feed of families after round %d: %w", number, err)
	}
	return d.failures, s.learn(ctx, a)
}

// placeOfID is the key under which the erasures of an id are counted.
func placeOfID(environment, id string) reference.Place {
	return reference.Place{Environment: environment, Visitor: reference.Visitor{ID: id}}
}

// know adds the members' actions to the data of an application.
func (a *app) know() {
	if a.members == nil {
		return
	}
	a.data.Merges, a.data.Splits, a.data.Decisions = a.members.merges, a.members.splits, a.members.decisions
	a.data.Activities, a.data.Gone = a.members.activities, a.members.gone
	a.data.Change()
}

// learn reads all people and stores their ids.
func (s *Suite) learn(ctx context.Context, a *app) error {
	for _, environment := range environments() {
		byID := map[string]*reference.Person{}
		for _, p := range a.data.People(environment) {
			byID[p.Key.ID] = p
		}
		q := question{app: a, path: "/people", query: url.Values{"env": {environment}, "limit": {"200"}}, pages: 1000}
		got, status, err := s.answer(ctx, &q)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("listing people: status %d: %v: %w", status, got, err)
		}
		for _, row := range objects(got, "data") {
			distinct, _ := row["distinctId"].(string)
			id, _ := row["id"].(string)
			p := byID[distinct]
			if p == nil {
				continue // the questions will reveal it
			}
			at := reference.Place{Environment: environment, Visitor: p.Key}
			if known := a.members.ids[at]; known != "" && known != id {
				return fmt.Errorf("the person of %v is %s, and was %s", at, id, known)
			}
			a.members.ids[at] = id
		}
	}
	return nil
}

// erasureTime limits the wait until erased data and late arrivals are removed.
const erasureTime = 10 * time.Minute

// awaitErasures waits until all erasures are complete.
func (s *Suite) awaitErasures(ctx context.Context, a *app) error {
	ctx, cancel := context.WithTimeoutCause(ctx, erasureTime, fmt.Errorf("erasures are not complete after %s", erasureTime))
	defer cancel()
	for {
		q := question{app: a, path: "/erasures", query: url.Values{"limit": {"200"}}, pages: 100}
		got, status, err := s.answer(ctx, &q)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("listing erasures: status %d: %w", status, err)
		}
		if !slices.ContainsFunc(objects(got, "data"), func(row map[string]any) bool { return row["status"] != "complete" }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// defineSegments saves segments with generated definitions, and one of some people by their ids.
func (s *Suite) defineSegments(ctx context.Context, a *app) error {
	k := &asker{newRandom(s.Seed, 9000), s}
	below := "/apps/" + s.server.Organization + "/" + a.slug + "/segments"
	const saved = 16
	for n := range saved {
		segment := &reference.Segment{Name: fmt.Sprintf("Segment %d", n)}
		body := map[string]any{"name": segment.Name}
		if n == 0 {
			ids := []string{}
			for _, at := range slices.SortedFunc(maps.Keys(a.members.ids), comparePlaces) {
				if k.chance(30) {
					segment.Members, ids = append(segment.Members, at), append(ids, a.members.ids[at])
				}
			}
			body["kind"], body["memberIds"], segment.Timeless = "static", ids, true
		} else {
			segment.Definition, segment.Timeless = k.definition(0)
			body["kind"], body["definition"] = "dynamic", segment.Definition
		}
		var made struct{ ID string }
		if err := s.server.change(ctx, http.MethodPost, below, s.server.Token, body, &made); err != nil {
			return err
		}
		segment.ID = made.ID
		a.members.segments = append(a.members.segments, segment)
	}
	return nil
}
