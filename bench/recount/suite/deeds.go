package suite

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"time"

	"svc/bench/recount/reference"
)

func newRandom(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

func comparePlaces(a, b reference.Place) int {
	return cmp.Or(cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Visitor.ID, b.Visitor.ID), cmp.Compare(a.Visitor.Erased, b.Visitor.Erased))
}

// deeds are the changes that members make to people between two rounds of events.
type deeds struct {
	*asker

	app      *app
	failures []Failure
}

func newDeeds(s *Suite, a *app, round int) *deeds {
	return &deeds{asker: &asker{newRandom(s.Seed, uint64(5000+round)), s}, app: a}
}

// do merges, splits and changes some people, a tenth of the families, and erases the requested number: each erasure
// rewrites tables.
func (d *deeds) do(ctx context.Context) error {
	d.app.know()
	if err := d.suite.learn(ctx, d.app); err != nil {
		return err
	}
	if len(d.app.members.segments) == 0 {
		if err := d.suite.defineSegments(ctx, d.app); err != nil {
			return err
		}
	}
	for n := range max(2+d.suite.Families/10, d.suite.Erasures) {
		deeds := []func(context.Context, string) error{d.merge, d.decide, d.decide, d.note, d.split}
		if n < d.suite.Erasures {
			deeds = append(deeds, d.erase)
		}
		for _, deed := range deeds {
			if err := deed(ctx, pick(d.asker, environments())); err != nil {
				return err
			}
			d.app.know()
		}
	}
	return nil
}

// person chooses a person of an environment with a known id.
func (d *deeds) person(environment string) (p *reference.Person, at reference.Place, id string) {
	people := d.app.data.People(environment)
	for range 20 {
		if len(people) == 0 {
			break
		}
		p = pick(d.asker, people)
		at = reference.Place{Environment: environment, Visitor: p.Key}
		if id = d.app.members.ids[at]; id != "" {
			return p, at, id
		}
	}
	return nil, at, ""
}

// ask sends a change of a person, which must be answered with a status, and records differences from the wanted answer.
func (d *deeds) ask(ctx context.Context, method, id, what, environment string, status int, body any, want func() any) error {
	path := "/people/" + id + what
	got, answer, err := d.suite.server.do(ctx, method, "/apps/"+d.suite.server.Organization+"/"+d.app.slug+path+"?"+url.Values{"env": {environment}}.Encode(), d.suite.server.Token, body)
	if err != nil {
		return err
	}
	d.app.know()
	found := []string{}
	if got != status {
		found = append(found, fmt.Sprintf("status %d: %v", got, answer))
	} else if want != nil {
		found = differ("", answer, want())
	}
	if len(found) > 0 {
		d.failures = append(d.failures, Failure{Question: fmt.Sprintf("%s %s %v", method, path, body), Differences: found})
		d.suite.Tell("differs: %s", &d.failures[len(d.failures)-1])
	}
	return nil
}

// row returns the wanted row of the person of a visitor.
func (d *deeds) row(at reference.Place) func() any {
	return func() any {
		for _, p := range d.app.data.People(at.Environment) {
			if slices.Contains(p.Members, at.Visitor) {
				return p.Row()
			}
		}
		return nil
	}
}

func (d *deeds) merge(ctx context.Context, environment string) error {
	one, at, id := d.person(environment)
	other, with, otherID := d.person(environment)
	if one == nil || other == nil || one.Root == other.Root {
		return nil
	}
	d.app.members.merges = append(d.app.members.merges, reference.Merge{Environment: environment, One: at.Visitor, Other: with.Visitor})
	d.app.members.activities = append(d.app.members.activities, reference.Activity{Place: at, Title: "merge"})
	return d.ask(ctx, http.MethodPost, id, "/merge", environment, http.StatusOK, map[string]any{"personId": otherID}, d.row(at))
}

// split removes one id from a person with several ids, in half of the calls.
func (d *deeds) split(ctx context.Context, environment string) error {
	p, at, id := d.person(environment)
	if p == nil || len(p.Members) < 2 || d.chance(50) {
		return nil
	}
	own := reference.Place{Environment: environment, Visitor: pick(d.asker, p.Members)}
	err := d.ask(ctx, http.MethodPost, id, "/split", environment, http.StatusOK, map[string]any{"id": own.Visitor.ID}, nil)
	split, merges := d.app.data.Split(own, time.Now())
	d.app.members.splits, d.app.members.merges = append(d.app.members.splits, split), merges
	d.app.members.activities = append(d.app.members.activities, reference.Activity{Place: at, Title: "split"})
	return err
}

// decide changes tags or the stage of a person.
func (d *deeds) decide(ctx context.Context, environment string) error {
	p, at, id := d.person(environment)
	if p == nil {
		return nil
	}
	decision, body, changed := reference.Decision{Place: at, Tags: map[string]bool{}}, map[string]any{}, false
	if d.chance(60) {
		tags := []string{}
		for _, tag := range tagWords() {
			if d.chance(40) {
				tags = append(tags, tag)
			}
		}
		body["tags"] = tags
		slices.Sort(tags)
		if changed = !slices.Equal(tags, p.Tags()); changed {
			// Tags that the person never had leave no mark, so a merge with another person retains them.
			for _, tag := range append(p.Tags(), tags...) {
				decision.Tags[tag] = slices.Contains(tags, tag)
			}
		}
	}
	if len(body) == 0 || d.chance(30) {
		stage := pick(d.asker, []string{"lead", "paying", "churned", ""})
		body["stage"] = stage
		if stage == "" {
			body["stage"] = nil
		}
		if p.Manual() != stage {
			decision.Stage, decision.Staged, changed = stage, true, true
		}
	}
	if changed {
		d.app.members.decisions = append(d.app.members.decisions, decision)
		d.app.members.activities = append(d.app.members.activities, reference.Activity{Place: at, Title: "update"})
	}
	return d.ask(ctx, http.MethodPatch, id, "", environment, http.StatusOK, body, nil)
}

func tagWords() []string { return []string{"vip", "beta", "größe"} }

func (d *deeds) note(ctx context.Context, environment string) error {
	p, at, id := d.person(environment)
	if p == nil {
		return nil
	}
	d.app.members.activities = append(d.app.members.activities, reference.Activity{Place: at, Title: "note"})
	return d.ask(ctx, http.MethodPost, id, "/notes", environment, http.StatusCreated, map[string]any{"text": "a note"}, nil)
}

// erase erases a person, and requests the person at once.
func (d *deeds) erase(ctx context.Context, environment string) error {
	p, _, id := d.person(environment)
	if p == nil {
		return nil
	}
	if err := d.ask(ctx, http.MethodDelete, id, "", environment, http.StatusAccepted, nil, nil); err != nil {
		return err
	}
	for _, visitor := range p.Members {
		at := reference.Place{Environment: environment, Visitor: visitor}
		d.app.members.gone[at] = true
		d.app.members.erased[placeOfID(environment, visitor.ID)]++
		delete(d.app.members.ids, at)
	}
	for _, sent := range d.app.sent {
		at := reference.Place{Environment: sent.Environment, Visitor: reference.Visitor{ID: sent.Visitor(), Erased: sent.Erased}}
		sent.Gone = sent.Gone || d.app.members.gone[at]
	}
	d.app.data.Erase()
	return d.ask(ctx, http.MethodGet, id, "", environment, http.StatusNotFound, nil, nil)
}
