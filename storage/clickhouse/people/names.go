package people

import (
	"context"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/occurrence"
	"svc/domain/person"
)

// Stays returns the intervals of the visitors of the person of a visitor. The result is empty if no person has it.
func (db *Store) Stays(ctx context.Context, environment, visitor uint64) (analytics.PersonStays, error) {
	number, members, err := db.whoIs(ctx, environment, visitor)
	return members.staysOf(number), err
}

// NamePersons sets the person ids of stored events of one environment, as of the times of the events. It runs one
// query, and a fixed number more if visitors have ties, regardless of the number of events. Events of bots have no
// person.
func (db *Store) NamePersons(ctx context.Context, environment uint64, events []event.Event) error {
	visitors := []uint64{}
	for i := range events {
		if event := &events[i]; !event.IsBot {
			event.PersonID = person.ID(event.VisitorNumber)
			visitors = append(visitors, event.VisitorNumber)
		}
	}
	if len(visitors) == 0 {
		return nil
	}
	slices.Sort(visitors)
	known, err := db.tiedOf(ctx, environment, slices.Compact(visitors))
	if err != nil || len(known) == 0 {
		return err
	}
	personAt := func(event *event.Event) uint64 { return known.at(event.VisitorNumber, event.Ts.UnixMilli()) }
	persons := map[uint64]bool{}
	for i := range events {
		if _, is := known[events[i].VisitorNumber]; is {
			persons[personAt(&events[i])] = true
		}
	}
	ids, err := db.idsOf(ctx, environment, slices.Sorted(maps.Keys(persons)), known)
	for i := range events {
		if _, is := known[events[i].VisitorNumber]; is && !events[i].IsBot {
			events[i].PersonID = ids[personAt(&events[i])]
		}
	}
	return err
}

// at returns the person of a visitor at an instant.
func (m members) at(visitor uint64, ms int64) uint64 {
	person := visitor
	for i, one := range m[visitor] {
		if i == 0 || one.sinceMs <= ms {
			person = one.person
		}
	}
	return person
}

// NameOccurrences sets the ids of the persons that errors of one environment affected, as of the times of the errors.
// An error has no person id if no event of its person is stored. number returns the number of a visitor at an instant.
func (db *Store) NameOccurrences(ctx context.Context, environment uint64, page []occurrence.Occurrence, number func(id string, ms int64) uint64) error {
	numbers, visitors := make([]uint64, len(page)), []uint64{}
	for i := range page {
		if id := event.Visitor(page[i].DistinctID, page[i].AnonymousID); id != "" {
			numbers[i] = number(id, page[i].Ts.UnixMilli())
			visitors = append(visitors, numbers[i])
		}
	}
	if len(visitors) == 0 {
		return nil
	}
	slices.Sort(visitors)
	visitors = slices.Compact(visitors)
	known, err := db.tiedOf(ctx, environment, visitors)
	if err != nil {
		return err
	}
	persons := map[uint64]bool{}
	for i := range page {
		if numbers[i] != 0 {
			persons[known.at(numbers[i], page[i].Ts.UnixMilli())] = true
		}
	}
	ids, err := db.idsOf(ctx, environment, slices.Sorted(maps.Keys(persons)), known.with(visitors))
	for i := range page {
		if numbers[i] != 0 {
			page[i].PersonID = ids[known.at(numbers[i], page[i].Ts.UnixMilli())]
		}
	}
	return err
}

// idsOf returns the ids of persons by their numbers. Each person must have visitors with stored events. known are spans
// that were read before.
func (db *Store) idsOf(ctx context.Context, environment uint64, persons []uint64, known members) (map[uint64]string, error) {
	members, err := db.membersOf(ctx, environment, persons, known)
	if err != nil {
		return nil, err
	}
	r := &personRows{db: db, environment: environment, members: members}
	own, shared := members.lists()
	parts := map[share]*person.Visitor{}
	if err := r.readSeen(ctx, own, parts); err != nil {
		return nil, err
	}
	if len(shared) > 0 {
		if err := r.readShared(ctx, shared, parts); err != nil {
			return nil, err
		}
	}
	identified := map[uint64]bool{}
	args := r.args(own)
	err = db.conn.Read(ctx, "finding identified visitors", db.queries["persons.Identified"], args, func(rows driver.Rows) (bool, error) {
		var visitor uint64
		err := rows.Scan(&visitor)
		identified[visitor] = true
		return true, err
	})
	ids, visitors := make(map[uint64]string, len(persons)), map[uint64][]person.Visitor{}
	for of, part := range parts {
		if len(members[of.visitor]) == 1 {
			part.Identified = identified[of.visitor]
		}
		visitors[of.person] = append(visitors[of.person], *part)
	}
	for number, of := range visitors {
		if person, found := person.FoldPerson(of, nil); found {
			ids[number] = person.ID
		}
	}
	return ids, err
}
