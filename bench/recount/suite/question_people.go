package suite

import (
	"fmt"
	"time"

	"svc/bench/recount/reference"
)

// peopleKinds are the additional questions about families.
func peopleKinds() []func(*asker, *question) {
	return []func(*asker, *question){
		(*asker).people, (*asker).people, (*asker).people, (*asker).dossier, (*asker).dossier, (*asker).timeline, (*asker).timeline,
		(*asker).preview, (*asker).preview, (*asker).memberList, (*asker).segmentList,
		(*asker).funnel, (*asker).retention, (*asker).retention, (*asker).overview,
	}
}

// rowsOf returns people as lists show them.
func rowsOf(people []*reference.Person) []any {
	rows := []any{}
	for _, p := range people {
		rows = append(rows, p.Row())
	}
	return rows
}

// people queries people by search, stage, tag and segment.
func (k *asker) people(q *question) {
	q.route = "/people"
	environment, data := environmentOf(q), q.app.data
	all := []func(*reference.Person, time.Time) bool{}
	narrow := func(name, value string, keeps func(*reference.Person, time.Time) bool) {
		q.query.Add(name, value)
		all = append(all, keeps)
	}
	if k.chance(50) {
		word := k.wordOf(q)
		narrow("q", word, func(p *reference.Person, _ time.Time) bool { return p.Matches(word) })
	}
	if k.chance(25) {
		stage := pick(k, []string{"visitor", "lead", "signup", "paying", "churned", "activated"})
		narrow("stage", stage, func(p *reference.Person, _ time.Time) bool { return p.Staged(stage) })
	}
	if k.chance(20) {
		tag := pick(k, tagWords())
		narrow("tag", tag, func(p *reference.Person, _ time.Time) bool { return p.Tagged(tag) })
	}
	if k.chance(25) {
		segment := pick(k, q.app.members.segments)
		narrow("segment", segment.ID, func(p *reference.Person, now time.Time) bool { return segment.Has(data, environment, p, now) })
	}
	k.limit(q, 8, 1, 3, 10, 100)
	q.want = func(now time.Time, _ *reference.Window) (any, error) {
		return listOf(rowsOf(data.Chosen(environment, func(p *reference.Person) bool {
			for _, keeps := range all {
				if !keeps(p, now) {
					return false
				}
			}
			return true
		})), map[string]any{"environment": environment}), nil
	}
}

// wordOf returns a part of an id, an address, a name or a company that occurs.
func (k *asker) wordOf(q *question) string {
	people := q.app.data.People(environmentOf(q))
	if len(people) == 0 || k.chance(5) {
		return "nobody has this"
	}
	text := []rune(pick(k, append(pick(k, people).Words(), "Acme", "ADA", "größe", "member-1", "device-2")))
	at := k.IntN(len(text))
	return string(text[at:min(len(text), at+2+k.IntN(12))])
}

// knownPerson chooses a person and an id that finds the person.
func (k *asker) knownPerson(q *question) (p *reference.Person, id string) {
	environment := environmentOf(q)
	people := q.app.data.People(environment)
	for range 50 {
		if len(people) == 0 {
			break
		}
		p = pick(k, people)
		member := pick(k, p.Members)
		if id = q.app.members.ids[reference.Place{Environment: environment, Visitor: member}]; id != "" && q.app.data.Now(environment, member) == p.Root {
			return p, id
		}
	}
	return nil, ""
}

func (k *asker) dossier(q *question) {
	p, id := k.knownPerson(q)
	if p == nil {
		k.people(q)
		return
	}
	q.route, q.path = "/people/{id}", "/people/"+id
	q.want = func(time.Time, *reference.Window) (any, error) { return p.Row(), nil }
}

func (k *asker) timeline(q *question) {
	p, id := k.knownPerson(q)
	if p == nil {
		k.people(q)
		return
	}
	q.route, q.path = "/people/{id}/timeline", "/people/"+id+"/timeline"
	kind := pick(k, []string{"event", "activity", "", ""})
	if kind != "" {
		q.query.Set("kind", kind)
	}
	environment := environmentOf(q)
	k.limit(q, 8, 2, 7, 100)
	q.want = func(time.Time, *reference.Window) (any, error) {
		return listOf(q.app.data.Timeline(environment, p, kind), map[string]any{"environment": environment}), nil
	}
}

// previewSize is the number of people in a preview.
const previewSize = 10

func (k *asker) preview(q *question) {
	q.route = "/segments/preview"
	definition, _ := k.definition(0)
	q.body = map[string]any{"definition": definition}
	segment := &reference.Segment{Definition: definition}
	environment := environmentOf(q)
	q.want = func(now time.Time, _ *reference.Window) (any, error) {
		people := q.app.chosen(environment, segment, now)
		return map[string]any{
			"environment": environment, "memberCount": float64(len(people)), "members": rowsOf(people[:min(len(people), previewSize)]),
		}, nil
	}
}

// chosen are the people of a segment.
func (a *app) chosen(environment string, segment *reference.Segment, now time.Time) []*reference.Person {
	return a.data.Chosen(environment, func(p *reference.Person) bool { return segment.Has(a.data, environment, p, now) })
}

func (k *asker) memberList(q *question) {
	segment := pick(k, q.app.members.segments)
	q.route, q.path = "/segments/{id}/members", "/segments/"+segment.ID+"/members"
	environment := environmentOf(q)
	k.limit(q, 8, 1, 5, 100)
	q.want = func(now time.Time, _ *reference.Window) (any, error) {
		return listOf(rowsOf(q.app.chosen(environment, segment, now)), map[string]any{"environment": environment}), nil
	}
}

func (k *asker) segmentList(q *question) {
	q.route = "/segments"
	environment := environmentOf(q)
	q.pages = 1
	q.query.Set("limit", "200")
	q.want = func(now time.Time, _ *reference.Window) (any, error) {
		rows := []any{}
		for _, segment := range q.app.members.segments {
			rows = append(rows, map[string]any{"id": segment.ID, "name": segment.Name, "memberCount": float64(len(q.app.chosen(environment, segment, now)))})
		}
		return listOf(rows, map[string]any{"environment": environment}), nil
	}
}

// definition generates a definition of a segment, and reports whether time alone leaves its membership unchanged for a
// while.
func (k *asker) definition(depth int) (group map[string]any, timeless bool) {
	group, timeless = map[string]any{}, true
	for _, name := range []string{"all", "any"} {
		nodes := []any{}
		for range k.IntN(3) {
			node, calm := k.condition()
			if depth < 2 && k.chance(20) {
				node, calm = k.definition(depth + 1)
			}
			nodes, timeless = append(nodes, node), timeless && calm
		}
		if len(nodes) > 0 {
			group[name] = nodes
		}
	}
	if len(group) == 0 {
		return k.definition(depth)
	}
	return group, timeless
}

// condition generates one condition.
func (k *asker) condition() (c map[string]any, timeless bool) {
	text := func(field string, values ...string) map[string]any {
		c := map[string]any{"field": field, "op": pick(k, []string{"eq", "neq", "in", "exists"}), "value": pick(k, values)}
		switch c["op"] {
		case "in":
			c["value"] = []any{pick(k, values), pick(k, values)}
		case "exists":
			c["value"] = k.chance(50)
		}
		return c
	}
	numbers := []string{"gt", "gte", "lt", "lte", "eq", "neq"}
	days := pick(k, []float64{7, 14, 30, 90, 365})
	switch k.IntN(14) {
	case 0:
		return text("trait.plan", "free", "pro", "team"), true
	case 1:
		return text("trait.beta", "true", "false"), true
	case 2:
		return map[string]any{"field": "trait.score", "op": pick(k, numbers), "value": float64(k.IntN(100))}, true
	case 3:
		return map[string]any{"field": "trait.joined", "op": pick(k, []string{"within_days", "not_within_days"}), "value": days}, false
	case 4:
		return map[string]any{"field": pick(k, []string{"trait.company", "trait.email"}), "op": "contains", "value": pick(k, []string{"Glo", "ö", "member-1", "e"})}, true
	case 5:
		return text("property.plan", "free", "pro", "team", ""), false
	case 6:
		return map[string]any{"field": "property.score", "op": pick(k, []string{"gt", "lte"}), "value": pick(k, []float64{-5, 12.5, 39})}, false
	case 7:
		return text("stage", "visitor", "lead", "signup", "churned"), true
	case 8:
		c := text("tag", tagWords()...)
		return c, true
	case 9:
		return text("first_source", "direct", "google", "newsletter", "stated"), true
	case 10:
		return text(pick(k, []string{"country", "device"}), "US", "DE", "desktop", "mobile"), true
	case 11:
		return map[string]any{"field": pick(k, []string{"first_seen_at", "last_seen_at"}), "op": pick(k, []string{"within_days", "not_within_days"}), "value": days}, false
	case 12:
		return map[string]any{"field": pick(k, []string{"sessions", "events"}), "op": pick(k, numbers), "value": float64(k.IntN(12))}, true
	}
	return k.didEvent(days)
}

// didEvent generates a condition on a person's number of events.
func (k *asker) didEvent(days float64) (c map[string]any, timeless bool) {
	c = map[string]any{
		"field": pick(k, []string{"did_event", "not_did_event"}), "op": pick(k, []string{"gt", "gte", "lt", "eq", "within_days", "not_within_days", "exists"}),
		"event": map[string]any{"name": pick(k, []string{"page_view", "signup", "purchase", "search", "$identify"}), "count": float64(1 + k.IntN(3))},
	}
	switch op := c["op"].(string); op {
	case "exists":
		c["value"] = k.chance(50)
	case "within_days", "not_within_days":
		c["value"] = days
		return c, false
	default:
		c["event"] = map[string]any{"name": c["event"].(map[string]any)["name"]} // the value is the number
		c["value"] = float64(k.IntN(6))
	}
	return c, true
}

// inSegment narrows an analytics read to a segment.
func (k *asker) inSegment(q *question, about *reference.Query) {
	segment := pick(k, q.app.members.segments)
	if !segment.Timeless {
		return
	}
	about.Segment, about.Now = segment, k.suite.Now
	about.Filters["segment"] = segment.ID
	q.query.Add("filter", fmt.Sprintf("segment:%s", segment.ID))
}
