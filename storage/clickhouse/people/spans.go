package people

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/storage/clickhouse"
)

// span is the time from which on, in milliseconds since the epoch, a visitor belongs to a person.
type span struct {
	sinceMs int64
	person  uint64
}

// members are the visitors of some persons, each with one or more spans.
type members map[uint64][]span

// membersOf returns the visitors of persons, and the visitors that have the numbers of these persons but belong to
// others: the number of a person may be that of a visitor that was linked to another one. known caches spans that were
// read before; they are empty for a visitor that belongs to no other person.
func (db *Store) membersOf(ctx context.Context, environment uint64, persons []uint64, known members) (members, error) {
	found, near := members{}, slices.Clone(persons)
	for _, person := range persons {
		found[person] = []span{{0, person}}
	}
	args := clickhouse.Args{"environment": environment, "persons": persons}
	err := db.conn.Read(ctx, "finding what may belong to people", db.queries["persons.Near"], args, func(rows driver.Rows) (bool, error) {
		var visitor uint64
		err := rows.Scan(&visitor)
		near = append(near, visitor)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(near)
	near = slices.DeleteFunc(slices.Compact(near), func(visitor uint64) bool {
		spans, read := known[visitor]
		if len(spans) > 0 {
			found[visitor] = spans
		}
		return read
	})
	spans, err := db.spansOf(ctx, environment, near)
	maps.Copy(found, spans)
	return found.near(persons), err
}

// near returns the visitors that belong to any of the persons or have their numbers.
func (m members) near(persons []uint64) members {
	asked, found := make(map[uint64]bool, len(persons)), members{}
	for _, person := range persons {
		asked[person] = true
	}
	for visitor, of := range m {
		if asked[visitor] || slices.ContainsFunc(of, func(s span) bool { return asked[s.person] }) {
			found[visitor] = of
		}
	}
	return found
}

// spansOf returns the spans of the visitors that are not persons by themselves.
func (db *Store) spansOf(ctx context.Context, environment uint64, visitors []uint64) (members, error) {
	ties, err := db.tiesOf(ctx, environment, visitors)
	found := members{}
	for _, visitor := range visitors {
		if spans := ties.spans(visitor); spans != nil {
			found[visitor] = spans
		}
	}
	return found, err
}

// tiesOf reads the identity graph around visitors: their links, their roots, and the roots of the ids that they were
// identified as.
func (db *Store) tiesOf(ctx context.Context, environment uint64, visitors []uint64) (ties, error) {
	if len(visitors) == 0 {
		return newTies(), nil
	}
	ties, _, err := db.readTies(ctx, "persons.Ties", clickhouse.Args{"environment": environment, "only": visitors})
	return ties, err
}

// everyTie returns the spans of all visitors of an environment that are not persons by themselves. It returns false if
// they have more ties than a page looks at.
func (db *Store) everyTie(ctx context.Context, environment uint64) (spans members, few bool, err error) {
	ties, rows, err := db.readTies(ctx, "persons.EveryTie", clickhouse.Args{"environment": environment, "limit": max(db.bounds.most, 0) + 1})
	if err != nil || rows > db.bounds.most {
		return nil, false, err
	}
	spans = members{}
	for _, visitors := range []iter.Seq[uint64]{maps.Keys(ties.links), maps.Keys(ties.roots), maps.Keys(ties.splits)} {
		for visitor := range visitors {
			if of := ties.spans(visitor); of != nil {
				spans[visitor] = of
			}
		}
	}
	return spans, true, nil
}

// readTies reads ties of visitors with a query, and returns how many rows it read.
func (db *Store) readTies(ctx context.Context, query string, args clickhouse.Args) (ties ties, count int, err error) {
	ties = newTies()
	err = db.conn.Read(ctx, "finding the persons of visitors", db.queries[query], args, func(rows driver.Rows) (bool, error) {
		var visitor, root uint64
		var one link
		var atMs int64
		err := rows.Scan(&visitor, &one.known, &one.sinceMs, &root, &atMs)
		count++
		switch {
		case atMs != 0:
			ties.splits[visitor] = append(ties.splits[visitor], split{atMs: atMs, sinceMs: one.sinceMs, late: one.known})
		case root != 0:
			ties.roots[visitor] = root
		default:
			ties.links[visitor] = append(ties.links[visitor], one)
		}
		return true, err
	})
	for visitor, all := range ties.splits {
		slices.SortFunc(all, func(a, b split) int { return cmp.Compare(a.atMs, b.atMs) })
		if _, ties.splits[visitor] = holding(all); len(ties.splits[visitor]) == 0 {
			delete(ties.splits, visitor)
		}
	}
	return ties, count, err
}

// link is a known id that a visitor was identified as, and the time of the first such identify.
type link struct {
	known   uint64
	sinceMs int64
}

// ties are the part of the identity graph around some visitors: their links, their roots and the roots of their known
// ids, and the decisions that removed these visitors from persons.
type ties struct {
	links  map[uint64][]link
	roots  map[uint64]uint64
	splits map[uint64][]split
}

func newTies() ties {
	return ties{links: map[uint64][]link{}, roots: map[uint64]uint64{}, splits: map[uint64][]split{}}
}

// spans returns the spans of a visitor with the same result as persons.Links, or nil if it is a person by itself. A
// test compares the two.
func (t ties) spans(visitor uint64) []span {
	known := slices.ContainsFunc(t.links[visitor], func(one link) bool { return one.known == visitor })
	spans := t.tied(visitor, known, math.MaxInt64)
	if splits := t.splits[visitor]; len(splits) > 0 {
		spans = t.divided(visitor, known, splits)
	}
	if len(spans) == 0 {
		return nil
	}
	first := spans[0].person
	switch shared := slices.ContainsFunc(spans, func(s span) bool { return s.person != first }); {
	case shared:
		return spans
	case first == visitor:
		return nil
	}
	return []span{{0, first}}
}

// tied returns the spans of a number from its root and from the links until an instant. The result is empty if it has
// neither. Links of known ids do not count.
func (t ties) tied(number uint64, known bool, untilMs int64) (spans []span) {
	for _, one := range t.links[number] {
		if !known && one.known != number && one.sinceMs <= untilMs {
			spans = append(spans, span{one.sinceMs, cmp.Or(t.roots[one.known], one.known)})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.sinceMs, b.sinceMs), cmp.Compare(a.person, b.person)) })
	if root := t.roots[number]; root != 0 {
		spans = slices.Insert(spans, 0, span{0, root})
	}
	return spans
}

// divided returns the spans of a visitor that was removed from persons. From the time of each removal on, the ties of
// its later number determine its person. No span begins at 0, so home returns the person of the last span.
func (t ties) divided(visitor uint64, known bool, splits []split) (spans []span) {
	late := map[uint64]bool{}
	for _, one := range splits {
		late[one.late] = true
	}
	of := t
	of.links = map[uint64][]link{visitor: slices.DeleteFunc(slices.Clone(t.links[visitor]), func(one link) bool { return late[one.known] })}
	spans = of.tied(visitor, known, splits[0].atMs)
	if len(spans) == 0 {
		spans = []span{{0, visitor}}
	}
	for _, one := range splits {
		later := t.tied(one.late, known, math.MaxInt64)
		if len(later) == 0 {
			later = []span{{0, one.late}}
		}
		later[0].sinceMs = one.sinceMs
		before := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.sinceMs >= one.sinceMs })
		if len(before) == 0 {
			before = spans[:1]
			before[0].sinceMs = 0
		}
		spans = append(before, later...)
	}
	spans[0].sinceMs = max(spans[0].sinceMs, 1)
	return spans
}

// tiedOf returns the visitors that may be tied to others, in either direction, with their spans. The spans are empty
// for a visitor that belongs to no other person. All other visitors are persons by themselves, without further
// visitors.
func (db *Store) tiedOf(ctx context.Context, environment uint64, visitors []uint64) (members, error) {
	tied, err := db.visitors(ctx, "finding the visitors that are tied to others", db.queries["persons.TiedOf"], clickhouse.Args{"environment": environment, "only": visitors})
	if err != nil {
		return nil, err
	}
	spans, err := db.spansOf(ctx, environment, tied)
	return spans.with(tied), err
}

// with returns the spans, and empty spans for each of the visitors that has none.
func (m members) with(visitors []uint64) members {
	known := maps.Clone(m)
	for _, visitor := range visitors {
		if known[visitor] == nil {
			known[visitor] = []span{}
		}
	}
	return known
}

// lists returns the visitors of one person each, and the shared ones.
func (m members) lists() (own, shared []uint64) {
	own, shared = []uint64{}, []uint64{}
	for visitor, spans := range m {
		if len(spans) > 1 {
			shared = append(shared, visitor)
		} else {
			own = append(own, visitor)
		}
	}
	slices.Sort(own)
	slices.Sort(shared)
	return own, shared
}

// args returns the parameters of a query about the persons of the visitors.
func (m members) args() clickhouse.Args {
	only, linked, since, persons := slices.Sorted(maps.Keys(m)), []uint64{}, [][]int64{}, [][]uint64{}
	for _, visitor := range only {
		if len(m[visitor]) == 1 && m[visitor][0].person == visitor {
			continue
		}
		sinceMs, of := make([]int64, len(m[visitor])), make([]uint64, len(m[visitor]))
		for i, one := range m[visitor] {
			sinceMs[i], of[i] = one.sinceMs, one.person
		}
		linked, since, persons = append(linked, visitor), append(since, sinceMs), append(persons, of)
	}
	return clickhouse.Args{"only": only, "linked": linked, "linked_since": since, "linked_persons": persons}
}

// home returns the person of a visitor regardless of time: the person that an alias or a merge ties it to, else the
// person of its last span. Lookups by the visitor find this person, and the traits and decisions of the visitor belong
// to them.
func (m members) home(visitor uint64) uint64 {
	spans := m[visitor]
	if m.tied(visitor) {
		return spans[0].person
	}
	return spans[len(spans)-1].person
}

// homes returns the visitors in ascending order, and the home of each.
func (m members) homes() (visitors, persons []uint64) {
	visitors, persons = slices.AppendSeq([]uint64{}, maps.Keys(m)), make([]uint64, len(m))
	slices.Sort(visitors)
	for i, visitor := range visitors {
		persons[i] = m.home(visitor)
	}
	return visitors, persons
}

// tied reports whether an alias edge ties a visitor to a person. The first span of such a visitor begins at 0, and no
// link is as old as 0.
func (m members) tied(visitor uint64) bool { return m[visitor][0].sinceMs == 0 }

// divides reports whether several persons may have used any visitor of an environment. Each part of a query about all
// persons reads the shared visitors, so divides passes them to the query if they are few.
func (db *Store) divides(ctx context.Context, environment uint64, rank *rankQuery) (bool, error) {
	spans, all, err := db.given(ctx, environment)
	if !all {
		rank.given = spans
		return true, err
	}
	rank.sharers = spans
	return len(spans) > 0, err
}

// WhoIs returns the parts of a query about all people of an environment that map visitors to persons, and their
// parameters. The parts are persons.Links, persons.Shared, persons.SharedVisitors, persons.At and persons.Sought, which
// is the expression for the visitor of an event in a query for the events of shared visitors. There are no parts if no
// two visitors are one person.
func (db *Store) WhoIs(ctx context.Context, environment uint64) (parts clickhouse.Queries, args clickhouse.Args, err error) {
	var linked bool
	args = clickhouse.Args{"environment": environment}
	err = db.conn.Read(ctx, "looking for linked visitors", db.queries["persons.AnyLink"], args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&linked)
	})
	if err != nil || !linked {
		return nil, clickhouse.Args{}, err
	}
	parts = clickhouse.Queries{}
	for _, name := range []string{"persons.Links", "persons.Shared", "persons.SharedVisitors", "persons.At"} {
		parts[name] = db.queries[name]
	}
	spans, all, err := db.given(ctx, environment)
	parts["persons.Sought"] = soughtVisitor(len(spans))
	if err != nil || !all {
		return parts, spans.args(), err
	}
	parts["persons.Links"], parts["persons.Shared"], parts["persons.SharedVisitors"] = db.queries["persons.LinksFew"], db.queries["persons.SharedOf"], db.queries["persons.SharedVisitorsOf"]
	return parts, spans.args(), nil
}

// sharers returns the visitors that several persons used, with their spans. It returns nil if these are more than a
// page looks at.
func (db *Store) sharers(ctx context.Context, environment uint64) (members, error) {
	sharing, few, err := db.sharing(ctx, environment)
	if err != nil || !few {
		return nil, err
	}
	ties, err := db.tiesOf(ctx, environment, sharing)
	return ties.sharers(sharing), err
}

// sharers returns the visitors that several persons used or that were removed from a person, with their spans.
func (t ties) sharers(visitors []uint64) members {
	found := members{}
	for _, visitor := range visitors {
		if spans := t.spans(visitor); len(spans) > 1 || len(t.splits[visitor]) > 0 && spans != nil {
			found[visitor] = spans
		}
	}
	return found
}

// given returns the spans of visitors that queries about all people receive as parameters. all reports whether these
// are all shared visitors.
func (db *Store) given(ctx context.Context, environment uint64) (spans members, all bool, err error) {
	if spans, err = db.sharers(ctx, environment); err != nil || spans != nil {
		return spans, true, err
	}
	spans, err = db.removed(ctx, environment)
	return spans, false, err
}

// removed returns the spans of the ids that members removed from persons.
func (db *Store) removed(ctx context.Context, environment uint64) (members, error) {
	splits, err := db.splitsOf(ctx, environment)
	if err != nil {
		return nil, err
	}
	visitors := slices.Collect(maps.Keys(splits))
	ties, err := db.tiesOf(ctx, environment, visitors)
	return ties.sharers(visitors), err
}

// LinksArgs returns the parameters of persons.Links and persons.Shared.
func (db *Store) LinksArgs(ctx context.Context, environment uint64) (clickhouse.Args, error) {
	spans, err := db.removed(ctx, environment)
	return spans.args().With(clickhouse.Args{"environment": environment}), err
}

// sharing returns the visitors that several persons may have used. It returns false if they are more than a page looks
// at.
func (db *Store) sharing(ctx context.Context, environment uint64) (visitors []uint64, few bool, err error) {
	args := clickhouse.Args{"environment": environment, "limit": max(db.bounds.most, 0) + 1}
	visitors, err = db.visitors(ctx, "looking for shared visitors", db.queries["persons.SomeSharing"], args)
	return visitors, len(visitors) <= db.bounds.most, err
}
