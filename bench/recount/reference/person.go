package reference

import (
	"maps"
	"slices"
	"strings"
)

// Person is one person of an environment.
type Person struct {
	// Root represents the person in the identity graph.
	Root Visitor
	// Key is the visitor with the person's id: the oldest known one, else the oldest one of all.
	Key Visitor
	// Members are all visitors with a row that counts for the person, in no order.
	Members []Visitor
	// rows are the rows that count, in the order of time.
	rows  []*Row
	known bool
	state State
	facts facts
}

// facts are the values that the answers show of a person.
type facts struct {
	email, name, company string
	traits               map[string]any
	first, last          *Row
	sessions, pageviews  int
}

// counts reports whether the row counts for a person: rows of bots count only if they are identity rows.
func (r *Row) counts() bool { return !r.IsBot || r.tells() }

// tells reports whether the row identifies a person instead of recording an action.
func (r *Row) tells() bool { return r.Name == "$identify" || r.Name == "$alias" }

// People returns the people of an environment, ordered by when they were first seen, the latest first.
func (d *Data) People(environment string) []*Person {
	if found, ok := d.people.Load(environment); ok {
		return found.([]*Person)
	}
	is := d.identities(environment)
	byRoot := map[Visitor]*Person{}
	for _, row := range d.Rows {
		if row.Environment != environment || !row.counts() {
			continue
		}
		root := is.of(row)
		if byRoot[root] == nil {
			byRoot[root] = &Person{Root: root}
		}
		byRoot[root].rows = append(byRoot[root].rows, row)
	}
	var people []*Person
	for _, p := range byRoot {
		p.fold(is)
		people = append(people, p)
	}
	for i := range d.Decisions {
		if decision := &d.Decisions[i]; decision.Environment == environment && !d.Gone[Place{environment, decision.Visitor}] {
			if p := byRoot[is.now(decision.Visitor)]; p != nil {
				p.state.apply(decision)
			}
		}
	}
	slices.SortFunc(people, func(a, b *Person) int { return b.rows[0].Ts.Compare(a.rows[0].Ts) })
	d.people.Store(environment, people)
	return people
}

// fold derives the facts from the rows of the person.
func (p *Person) fold(is *identities) {
	slices.SortFunc(p.rows, newer)
	slices.Reverse(p.rows)
	visits := map[Visitor]set{}
	for _, row := range p.rows {
		visitor := row.visitor()
		if visits[visitor] == nil {
			visits[visitor] = set{}
			p.join(visitor, is.known[visitor])
		}
		shared := is.shared(visitor)
		// A visit that began with a bot of the same id counts only if it is one of several people's.
		if row.began || shared && !row.outside && row.guest() == row.Visitor() {
			visits[visitor][row.SessionID] = true
		}
		if row.pageview() {
			p.facts.pageviews++
		}
		if !row.tells() {
			p.touch(row, shared)
		}
	}
	for _, sessions := range visits {
		p.facts.sessions += len(sessions)
	}
	p.foldTraits()
}

// join adds a visitor; visitors arrive in the order of their first events.
func (p *Person) join(visitor Visitor, known bool) {
	p.Members = append(p.Members, visitor)
	if known && !p.known || p.Key.ID == "" {
		p.Key = visitor
	}
	p.known = p.known || known
}

// touch records the origin of the person.
func (p *Person) touch(row *Row, shared bool) {
	enters := row.session.entry == row
	if (enters || shared) && (p.facts.first == nil || compareEntries(row, p.facts.first) < 0) {
		p.facts.first = row
	}
	if enters && (p.facts.last == nil || compareEntries(row, p.facts.last) > 0) {
		p.facts.last = row
	}
}

// shared reports whether a device belonged to several people.
func (is *identities) shared(device Visitor) bool {
	owners := is.owners(device)
	return slices.ContainsFunc(owners, func(owner Visitor) bool { return owner != owners[0] })
}

// foldTraits applies the sent traits in the order of time.
func (p *Person) foldTraits() {
	told, once := map[string]any{}, map[string]any{}
	for _, row := range p.rows {
		if row.Name != "$identify" {
			continue
		}
		for name, value := range row.Properties {
			if !strings.HasPrefix(name, "$set") {
				told[name] = value
			}
		}
		first, _ := row.Properties["$set_once"].(map[string]any)
		for name, value := range first {
			if _, kept := once[name]; !kept {
				once[name] = value
			}
		}
	}
	word := func(name string) string { text, _ := told[name].(string); return text }
	p.facts.email, p.facts.name, p.facts.company = word("email"), word("name"), word("company")
	for name, value := range once {
		if _, known := told[name]; !known {
			told[name] = value
		}
	}
	maps.DeleteFunc(told, func(_ string, value any) bool { return value == nil })
	p.facts.traits = told
}

// stage returns the stage of the person and its source.
func (p *Person) stage() (stage, source string) {
	if p.state.stage != "" {
		return p.state.stage, "manual"
	}
	stage = "visitor"
	for _, row := range p.rows {
		email, mailed := row.Properties["email"].(string)
		switch {
		case row.Name == "signup" && !row.IsBot:
			stage = "signup"
		case row.Name == "$identify" && mailed && email != "" && stage == "visitor":
			stage = "lead"
		}
	}
	if p.known {
		stage = "signup"
	}
	return stage, "auto"
}

// Manual returns the stage that a member set, empty if the rules decide.
func (p *Person) Manual() string { return p.state.stage }

// ids are the ids of the person.
func (p *Person) ids() (ids []string) {
	for _, member := range p.Members {
		ids = append(ids, member.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Words returns the texts that a search matches: the ids of the person, the e-mail address, the name and the company.
func (p *Person) Words() []string {
	return slices.DeleteFunc(append(p.ids(), p.facts.email, p.facts.name, p.facts.company), func(word string) bool { return word == "" })
}

// Matches reports whether a search finds the person.
func (p *Person) Matches(search string) bool {
	return slices.ContainsFunc(p.Words(), func(text string) bool {
		return strings.Contains(strings.ToLower(text), strings.ToLower(search))
	})
}

// Tagged reports whether the person has a tag.
func (p *Person) Tagged(tag string) bool { return slices.Contains(p.Tags(), tag) }

// Tags are the tags of the person, sorted.
func (p *Person) Tags() []string { return p.state.list() }

// Staged reports whether the person is in a stage.
func (p *Person) Staged(stage string) bool { at, _ := p.stage(); return at == stage }

// Row is the person as lists and dossiers show them.
func (p *Person) Row() map[string]any {
	stage, source := p.stage()
	row := map[string]any{
		"distinctId": p.Key.ID, "distinctIds": list(p.ids()), "email": orNull(p.facts.email), "name": orNull(p.facts.name), "company": orNull(p.facts.company),
		"traits": exactly(p.facts.traits), "firstSeenAt": Stamp(p.rows[0].Ts), "lastSeenAt": Stamp(p.rows[len(p.rows)-1].Ts),
		"events": float64(len(p.rows)), "pageviews": float64(p.facts.pageviews), "sessions": float64(p.facts.sessions),
		"lifecycleStage": stage, "stageSource": source, "tags": list(p.Tags()),
	}
	for prefix, touch := range map[string]*Row{"first": p.facts.first, "last": p.facts.last} {
		if touch == nil {
			touch = &Row{session: &session{}}
		}
		came := touch.came()
		row[prefix+"Source"], row[prefix+"Medium"], row[prefix+"Campaign"] = orNull(came.source), orNull(came.medium), orNull(came.campaign)
		row[prefix+"Referrer"], row[prefix+"Url"] = orNull(came.referrer), orNull(touch.URL)
	}
	place := p.facts.last
	if place == nil {
		place = &Row{}
	}
	row["country"], row["region"], row["city"] = orNull(place.Country), orNull(place.Region), orNull(place.City)
	row["device"], row["browser"], row["os"] = orNull(place.Device), orNull(place.Browser), orNull(place.OS)
	return row
}

// Exact is an object that must have no other members.
type Exact map[string]any

// exactly returns a copy of an object that must match completely.
func exactly(members map[string]any) Exact { return Exact(maps.Clone(members)) }

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func list(words []string) []any {
	out := []any{}
	for _, word := range words {
		out = append(out, word)
	}
	return out
}

// Timeline returns the events of the person, newest first, with the actions of members.
func (d *Data) Timeline(environment string, p *Person, kinds string) []any {
	out := []any{}
	if kinds != "event" {
		is := d.identities(environment)
		for _, activity := range slices.Backward(d.Activities) {
			if activity.Environment == environment && slices.Contains(is.deciders(activity.Visitor), p.Root) {
				out = append(out, map[string]any{"kind": "activity", "title": activity.Title})
			}
		}
	}
	if kinds != "activity" {
		for _, row := range slices.Backward(p.rows) {
			out = append(out, map[string]any{"kind": "event", "id": row.ID, "ts": Stamp(row.Ts), "title": row.Name, "summary": orNull(row.Path)})
		}
	}
	return out
}
