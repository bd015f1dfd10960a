package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/bench/recount/reference"
	"svc/bench/recount/traffic"
)

// required are the routes that the suite queries. A server without one of them fails.
func required() []string {
	return []string{
		"/analytics/overview", "/analytics/timeseries", "/analytics/breakdown", "/analytics/retention", "/analytics/active-users",
		"/analytics/goals", "/events", "/events/names", "/goals", "/funnels", "/funnels/{id}/results",
		"/people", "/people/{id}", "/people/{id}/timeline", "/people/{id}/merge", "/people/{person}/split", "/segments", "/segments/preview", "/segments/{id}/members", "/erasures",
	}
}

// zones are the applications' time zones: one with an offset of 45 minutes, and two with clock changes, on opposite
// sides of UTC.
func zones() []string { return []string{"Asia/Kathmandu", "America/New_York", "Europe/Berlin"} }

// retentionDays admits everything that a plan generates.
const retentionDays = traffic.Days + 30

// app is one application with all its known data.
type app struct {
	slug    string
	zone    *time.Location
	keys    map[string]string
	sent    []*traffic.Sent
	data    *reference.Data
	funnels []reference.Funnel
	// members is nil except for the application of the families.
	members *members
}

// routes queries which of the suite's routes the server has.
func (s *Suite) findRoutes(ctx context.Context) error {
	status, document, err := s.server.do(ctx, http.MethodGet, "/openapi.json", s.server.Token, nil)
	if err != nil || status != http.StatusOK {
		return errors.Join(err, fmt.Errorf("reading the route table: status %d", status))
	}
	described, _ := document["paths"].(map[string]any)
	for path := range described {
		if _, rest, found := strings.Cut(path, "/apps/{org}/{app}"); found {
			s.routes[rest] = true
		}
	}
	for _, path := range required() {
		if !s.routes[path] {
			s.missing = append(s.missing, path)
		}
	}
	return nil
}

// open creates an application in a zone, with its keys and funnels, and with goals unless it is the families'
// application. The server evaluates reached goals only every hour, so the stages of people would take that long to
// follow them.
func (s *Suite) open(ctx context.Context, zone, name string) (*app, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, err
	}
	a := &app{zone: location, keys: map[string]string{}}
	var made struct{ Slug string }
	body := map[string]any{"name": "Recount " + name, "timezone": zone, "modules": []string{"analytics", "people"}}
	if err := s.server.change(ctx, http.MethodPost, "/orgs/"+s.server.Organization+"/apps", s.server.Token, body, &made); err != nil {
		return nil, err
	}
	a.slug = made.Slug
	below := "/apps/" + s.server.Organization + "/" + a.slug
	if err := s.server.change(ctx, http.MethodPatch, below, s.server.Token, map[string]any{"retentionDays": retentionDays}, nil); err != nil {
		return nil, err
	}
	for _, environment := range []string{"production", "staging", "development"} {
		var key struct{ Key string }
		body := map[string]any{"kind": "secret", "environment": environment, "label": "recount"}
		if err := s.server.change(ctx, http.MethodPost, below+"/keys", s.server.Token, body, &key); err != nil {
			return nil, err
		}
		a.keys[environment] = key.Key
	}
	a.data = &reference.Data{}
	if name == zone {
		if err := s.defineGoals(ctx, a, below); err != nil {
			return nil, err
		}
	}
	return a, s.defineFunnels(ctx, a, below)
}

// goals are of both kinds, some matching the same events.
func goals() []reference.Goal {
	return []reference.Goal{
		{Name: "Signed up", Kind: "event", Match: "signup", Value: 5},
		{Name: "Bought", Kind: "event", Match: "purchase", Value: 40},
		{Name: "Read the documentation", Kind: "path", Match: "/docs*"},
		{Name: "Began the documentation", Kind: "path", Match: "/docs/start", Value: 1.5},
		{Name: "Never met", Kind: "event", Match: "never"},
		{Name: "Deleted, of searches", Kind: "event", Match: "search"},
		{Name: "Deleted, of any page", Kind: "path", Match: "/*"},
		{Name: "Deleted, never met", Kind: "event", Match: "never again"},
	}
}

// ended reports whether a goal is deleted before the last events arrive. The pair of kind and match of one of them is
// used again.
func ended(goal reference.Goal) bool {
	return strings.HasPrefix(goal.Name, "Deleted")
}

func funnels() []reference.Funnel {
	page := func(match string, filters ...reference.StepFilter) reference.Step {
		return reference.Step{Kind: "path", Match: match, Filters: filters}
	}
	event := func(match string, filters ...reference.StepFilter) reference.Step {
		return reference.Step{Kind: "event", Match: match, Filters: filters}
	}
	return []reference.Funnel{
		{Name: "Home to purchase", WindowHours: 24, Steps: []reference.Step{page("/"), event("add_to_cart"), event("purchase")}},
		{Name: "Any page, twice", WindowHours: 1, Steps: []reference.Step{page("/*"), page("/*")}},
		{Name: "Documentation", WindowHours: 2160, Steps: []reference.Step{page("/*"), page("/docs*"), page("/docs/start"), event("signup")}},
		{Name: "Deeds of one plan", WindowHours: 168, Steps: []reference.Step{
			page("/*", reference.StepFilter{Property: "source", Op: "neq", Value: "direct"}),
			event("search", reference.StepFilter{Property: "property.plan", Op: "in", Value: []any{"pro", "team"}}),
		}},
		{Name: "Scores", WindowHours: 720, Steps: []reference.Step{
			event("search"), event("signup", reference.StepFilter{Property: "property.score", Op: "gt", Value: 0.0}),
		}},
	}
}

// defineGoals saves goals if the server has them.
func (s *Suite) defineGoals(ctx context.Context, a *app, below string) error {
	for _, goal := range goals() {
		if !s.routes["/goals"] {
			break
		}
		body := map[string]any{"name": goal.Name, "kind": goal.Kind, "match": goal.Match, "value": goal.Value}
		if err := s.server.change(ctx, http.MethodPost, below+"/goals", s.server.Token, body, &goal); err != nil {
			return err
		}
		a.data.Goals = append(a.data.Goals, goal)
	}
	return nil
}

// defineFunnels saves funnels if the server has them.
func (s *Suite) defineFunnels(ctx context.Context, a *app, below string) error {
	for _, funnel := range funnels() {
		if !s.routes["/funnels"] {
			break
		}
		saved := funnel
		if err := s.server.change(ctx, http.MethodPost, below+"/funnels", s.server.Token, funnel, &saved); err != nil {
			return err
		}
		funnel.ID = saved.ID
		a.funnels = append(a.funnels, funnel)
	}
	return nil
}

// batchItems is the number of items in a request.
const batchItems = 500

// send sends an application's traffic in order, environment by environment.
func (s *Suite) send(ctx context.Context, a *app, all []*traffic.Sent) error {
	batches := map[string][]traffic.Item{}
	flush := func(environment string) error {
		items := batches[environment]
		if len(items) == 0 {
			return nil
		}
		batches[environment] = nil
		var answer struct{ Accepted int }
		err := s.server.change(ctx, http.MethodPost, "/batch", a.keys[environment], map[string]any{"items": items}, &answer)
		if err == nil && answer.Accepted != len(items) {
			err = fmt.Errorf("%d of %d items were accepted", answer.Accepted, len(items))
		}
		return err
	}
	for _, sent := range all {
		batches[sent.Environment] = append(batches[sent.Environment], sent.Item)
		if len(batches[sent.Environment]) == batchItems {
			if err := flush(sent.Environment); err != nil {
				return err
			}
		}
	}
	for _, environment := range slices.Sorted(maps.Keys(batches)) {
		if err := flush(environment); err != nil {
			return err
		}
	}
	return nil
}

// endGoals deletes some goals and creates one of them again. Matching events arrive afterwards, so that an end divides
// the events of a goal.
func (s *Suite) endGoals(ctx context.Context, a *app, number int) error {
	below := "/apps/" + s.server.Organization + "/" + a.slug
	for _, goal := range slices.Clone(a.data.Goals) {
		if !ended(goal) {
			continue
		}
		if err := s.server.change(ctx, http.MethodDelete, below+"/goals/"+goal.ID, s.server.Token, nil, nil); err != nil {
			return err
		}
		a.data.End(goal.ID, time.Now())
		if goal.Kind == "event" {
			continue
		}
		again := goal
		again.Name = "Any page, again"
		body := map[string]any{"name": again.Name, "kind": again.Kind, "match": again.Match, "value": again.Value}
		if err := s.server.change(ctx, http.MethodPost, below+"/goals", s.server.Token, body, &again); err != nil {
			return err
		}
		a.data.Goals = append(a.data.Goals, again)
	}
	after := traffic.Afterwards(traffic.Settings{Seed: s.Seed, Zone: a.zone}, number, time.Now())
	a.sent = append(a.sent, after...)
	return s.send(ctx, a, after)
}
