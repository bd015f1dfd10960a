package reference

import (
	"slices"
	"time"
)

// Visitor is one id, and how often it had been erased before: whoever uses it afterwards is another one.
type Visitor struct {
	ID     string
	Erased int
}

// Place is a visitor of an environment.
type Place struct {
	Environment string
	Visitor     Visitor
}

// Merge is the word of a member that two visitors are one person.
type Merge struct {
	Environment string
	One, Other  Visitor
}

// Split is the decision of a member at an instant to remove an id from its person. It undoes all earlier ties of the id. If Devices is set, the devices
// that were identified as the id stay with it.
type Split struct {
	Place

	At      time.Time
	Devices bool
}

// Split returns the decision to remove an id from its person, and the merges that remain.
func (d *Data) Split(at Place, now time.Time) (split Split, merges []Merge) {
	merges = slices.DeleteFunc(slices.Clone(d.Merges), func(m Merge) bool {
		return m.Environment == at.Environment && (m.One == at.Visitor || m.Other == at.Visitor)
	})
	return Split{Place: at, At: now, Devices: d.identities(at.Environment).named[at.Visitor]}, merges
}

// visitor is who the row counts for.
func (r *Row) visitor() Visitor { return Visitor{r.Visitor(), r.Erased} }

// beside is the anonymous id that the row names beside a distinct one.
func (r *Row) beside() Visitor { return Visitor{r.AnonymousID, r.OtherErased} }

// link says that an identify tied a device to a known id.
type link struct {
	known Visitor
	row   *Row
}

// identities are who is who in an environment.
type identities struct {
	known map[Visitor]bool
	// links are those of each device, in the order of time, each known id once.
	links map[Visitor][]link
	tied  map[Visitor]Visitor
	// named are those whom an alias or a merge names: a device among them is theirs with whom it is tied, until the first link.
	named map[Visitor]bool
	// splits has the last decision about each id that was removed from its person.
	splits map[Visitor]Split
}

// identities finds who is who: the rows are gone through in the order of their times, whenever they arrived.
func (d *Data) identities(environment string) *identities {
	if found, ok := d.who.Load(environment); ok {
		return found.(*identities)
	}
	is := &identities{known: map[Visitor]bool{}, links: map[Visitor][]link{}, tied: map[Visitor]Visitor{}, named: map[Visitor]bool{}, splits: map[Visitor]Split{}}
	for _, split := range d.Splits {
		if split.Environment == environment {
			is.splits[split.Visitor] = split
		}
	}
	told := d.told(environment)
	for _, row := range told {
		if row.Name == "$identify" {
			is.known[row.visitor()] = true
		}
	}
	for _, row := range told {
		if device := row.beside(); device.ID != "" && !d.Gone[Place{environment, device}] {
			is.hear(row, device)
		}
	}
	for _, merge := range d.Merges {
		if merge.Environment == environment && !d.Gone[Place{environment, merge.One}] && !d.Gone[Place{environment, merge.Other}] {
			is.tie(merge.One, merge.Other)
		}
	}
	d.who.Store(environment, is)
	return is
}

// told are the rows of an environment that tell who known ids are, in the order of time.
func (d *Data) told(environment string) (told []*Row) {
	for _, row := range d.Rows {
		if row.Environment == environment && row.DistinctID != "" && row.tells() {
			told = append(told, row)
		}
	}
	slices.SortFunc(told, newer)
	slices.Reverse(told)
	return told
}

// hear takes in what a row tells of the device beside its visitor.
func (is *identities) hear(row *Row, device Visitor) {
	if is.undone(row, device) || is.undone(row, row.visitor()) && !(row.Name == "$identify" && is.splits[row.visitor()].Devices) {
		return
	}
	if row.Name == "$alias" {
		is.tie(row.visitor(), device)
		return
	}
	if !is.known[device] && !slices.ContainsFunc(is.links[device], func(l link) bool { return l.known == row.visitor() }) {
		is.links[device] = append(is.links[device], link{row.visitor(), row})
	}
}

// undone reports whether a later split undoes the tie that a row makes with an id.
func (is *identities) undone(row *Row, of Visitor) bool {
	split, found := is.splits[of]
	return found && !row.Ts.After(split.At)
}

// root is who stands for all that are tied to a visitor.
func (is *identities) root(visitor Visitor) Visitor {
	for {
		up, tied := is.tied[visitor]
		if !tied {
			return visitor
		}
		visitor = up
	}
}

func (is *identities) tie(one, other Visitor) {
	if one == other {
		return
	}
	is.named[one], is.named[other] = true, true
	if a, b := is.root(one), is.root(other); a != b {
		is.tied[a] = b
	}
}

// of is who a row belongs to: of a device, whoever was identified on it last before, else with whom it is tied, else the first one.
func (is *identities) of(row *Row) Visitor {
	links := is.links[row.visitor()]
	if len(links) == 0 || is.named[row.visitor()] && row.Ts.Before(links[0].row.Ts) {
		return is.root(row.visitor())
	}
	at := links[0]
	for _, l := range links[1:] {
		if !l.row.Ts.After(row.Ts) {
			at = l
		}
	}
	return is.root(at.known)
}

// now is who a visitor belongs to by itself after everything that happened: what an alias or a merge tied stays so.
func (is *identities) now(visitor Visitor) Visitor {
	if links := is.links[visitor]; len(links) > 0 && !is.named[visitor] {
		return is.root(links[len(links)-1].known)
	}
	return is.root(visitor)
}

// owners are all whom a visitor ever belonged to.
func (is *identities) owners(visitor Visitor) (owners []Visitor) {
	links := is.links[visitor]
	if len(links) == 0 || is.named[visitor] {
		owners = append(owners, is.root(visitor))
	}
	for _, l := range links {
		owners = append(owners, is.root(l.known))
	}
	return owners
}

// deciders are those with whom what members did with a visitor is shown.
func (is *identities) deciders(visitor Visitor) []Visitor {
	if is.named[visitor] {
		return []Visitor{is.root(visitor)}
	}
	return is.owners(visitor)
}

// Now is who stands for the person whom a visitor belongs to after everything that happened.
func (d *Data) Now(environment string, visitor Visitor) Visitor {
	return d.identities(environment).now(visitor)
}

// Change forgets who is who, after members did something.
func (d *Data) Change() {
	d.who.Clear()
	d.people.Clear()
}

// Erase takes the rows of visitors who are gone away.
func (d *Data) Erase() {
	d.Rows = slices.DeleteFunc(slices.Clone(d.Rows), func(row *Row) bool { return d.Gone[Place{row.Environment, row.visitor()}] })
	d.Change()
}
