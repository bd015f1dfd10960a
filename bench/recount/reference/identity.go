package reference

import (
	"slices"
	"time"
)

// Visitor is one id, and the number of times that it was erased before: a later user of the id is another visitor.
type Visitor struct {
	ID     string
	Erased int
}

// Place is a visitor of an environment.
type Place struct {
	Environment string
	Visitor     Visitor
}

// Merge is a member's decision that two visitors are one person.
type Merge struct {
	Environment string
	One, Other  Visitor
}

// Split is a member's decision at an instant to remove an id from its person. It undoes all earlier links of the id. If
// Devices is set, the devices that were identified as the id stay with it.
type Split struct {
	Place

	At      time.Time
	Devices bool
}

// Split returns the decision to remove an id from its person, and the remaining merges.
func (d *Data) Split(at Place, now time.Time) (split Split, merges []Merge) {
	merges = slices.DeleteFunc(slices.Clone(d.Merges), func(m Merge) bool {
		return m.Environment == at.Environment && (m.One == at.Visitor || m.Other == at.Visitor)
	})
	return Split{Place: at, At: now, Devices: d.identities(at.Environment).named[at.Visitor]}, merges
}

// visitor returns the visitor that the row counts for.
func (r *Row) visitor() Visitor { return Visitor{r.Visitor(), r.Erased} }

// beside returns the anonymous id that the row carries in addition to a distinct one.
func (r *Row) beside() Visitor { return Visitor{r.AnonymousID, r.OtherErased} }

// link is the link of a device to a known id by an identify.
type link struct {
	known Visitor
	row   *Row
}

// identities is the identity graph of an environment.
type identities struct {
	known map[Visitor]bool
	// links are the links of each device, in the order of time, each known id once.
	links map[Visitor][]link
	tied  map[Visitor]Visitor
	// named are the visitors that an alias or a merge names. A device among them belongs to its aliased visitor until
	// its first link.
	named map[Visitor]bool
	// splits has the last decision about each id that was removed from its person.
	splits map[Visitor]Split
}

// identities builds the identity graph. It processes the rows in the order of their times, regardless of their arrival.
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

// told returns the identity rows of an environment, in the order of time.
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

// hear records the link that a row makes between its device and its visitor.
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

// undone reports whether a later split undoes the link that a row makes with an id.
func (is *identities) undone(row *Row, of Visitor) bool {
	split, found := is.splits[of]
	return found && !row.Ts.After(split.At)
}

// root returns the representative of all visitors that are joined with a visitor.
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

// of returns the person of a row. For a device, it is the person that was last identified on it before, else the one
// that an alias joins it with, else the first one.
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

// now returns the present person of a visitor itself: joins by an alias or a merge persist.
func (is *identities) now(visitor Visitor) Visitor {
	if links := is.links[visitor]; len(links) > 0 && !is.named[visitor] {
		return is.root(links[len(links)-1].known)
	}
	return is.root(visitor)
}

// owners returns all persons to which a visitor ever belonged.
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

// deciders returns the persons that show the members' decisions about a visitor.
func (is *identities) deciders(visitor Visitor) []Visitor {
	if is.named[visitor] {
		return []Visitor{is.root(visitor)}
	}
	return is.owners(visitor)
}

// Now returns the representative of the person to which a visitor presently belongs.
func (d *Data) Now(environment string, visitor Visitor) Visitor {
	return d.identities(environment).now(visitor)
}

// Change drops the cached identity graph after members made changes.
func (d *Data) Change() {
	d.who.Clear()
	d.people.Clear()
}

// Erase removes the rows of erased visitors.
func (d *Data) Erase() {
	d.Rows = slices.DeleteFunc(slices.Clone(d.Rows), func(row *Row) bool { return d.Gone[Place{row.Environment, row.visitor()}] })
	d.Change()
}
