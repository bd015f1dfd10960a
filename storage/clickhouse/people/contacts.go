package people

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/destination"
	"svc/domain/person"
	"svc/storage/clickhouse"
)

// phoneTraits returns the traits that may hold a phone number, in order of precedence.
func phoneTraits() []string { return []string{"phone", "phoneNumber", "phone_number"} }

// Contacts returns the contacts of the persons of some visitors, by visitor. They are the contacts that the profiles
// show, each from the time at which the visitor belonged to the person. Visitors without any contact are left out. It
// runs two short queries, and a fixed number more if visitors have ties.
func (db *Store) Contacts(ctx context.Context, environment uint64, visitors []uint64) (map[uint64]destination.Contacts, error) {
	found := map[uint64]destination.Contacts{}
	if len(visitors) == 0 {
		return found, nil
	}
	spans, err := db.tiedOf(ctx, environment, visitors)
	if err != nil {
		return nil, err
	}
	known, err := db.reached(ctx, environment, visitors, spans)
	for _, visitor := range visitors {
		of := spans[visitor]
		if len(of) == 0 {
			of = []span{{0, visitor}}
		}
		if !slices.ContainsFunc(of, func(s span) bool { return known[s.person] != nil }) {
			continue
		}
		contacts := make(destination.Contacts, len(of))
		for i, one := range of {
			contacts[i] = destination.ContactSince{SinceMs: one.sinceMs, Contact: known[one.person]}
		}
		found[visitor] = contacts
	}
	return found, err
}

// reached returns the contacts of the persons of visitors, by the numbers of the persons. spans has the visitors with
// ties; the others are persons by themselves.
func (db *Store) reached(ctx context.Context, environment uint64, visitors []uint64, spans members) (map[uint64]*destination.Contact, error) {
	r := &personRows{db: db, environment: environment, members: members{}}
	if len(spans) > 0 {
		var err error
		if r.members, err = db.membersOf(ctx, environment, spans.persons(), spans); err != nil {
			return nil, err
		}
	}
	several := maps.Clone(r.members)
	for _, visitor := range visitors {
		if _, is := spans[visitor]; !is {
			r.members[visitor] = []span{{0, visitor}}
		}
	}
	told := map[share]*person.Visitor{}
	own, shared := r.members.lists()
	if err := r.readTold(ctx, own, told); err != nil {
		return nil, err
	}
	if len(shared) > 0 {
		if err := r.readShared(ctx, shared, told); err != nil {
			return nil, err
		}
	}
	persons := map[uint64]bool{}
	for of, part := range told {
		switch {
		case several[of.visitor] == nil:
			part.Events = 1 // callers ask about visitors with events, so one event suffices
		case part.Told():
			persons[of.person] = true
		}
	}
	maps.DeleteFunc(told, func(of share, _ *person.Visitor) bool { return several[of.visitor] != nil && !persons[of.person] })
	if len(persons) > 0 {
		if err := r.addSeen(ctx, several, persons, told); err != nil {
			return nil, err
		}
	}
	return contactsOf(told), nil
}

// persons returns the persons that the visitors belong to.
func (m members) persons() (persons []uint64) {
	for visitor, of := range m {
		if len(of) == 0 {
			persons = append(persons, visitor)
		}
		for _, one := range of {
			persons = append(persons, one.person)
		}
	}
	slices.Sort(persons)
	return slices.Compact(persons)
}

// readTold reads the contact traits that visitors set.
func (r *personRows) readTold(ctx context.Context, visitors []uint64, into map[share]*person.Visitor) error {
	args := r.args(visitors).With(clickhouse.Args{"phones": phoneTraits()})
	return r.db.conn.Read(ctx, "reading how people are reached", r.db.queries["contacts.Told"], args, func(rows driver.Rows) (bool, error) {
		var visitor uint64
		var identified uint8
		var email, name string
		var traits, once map[string]string
		if err := rows.Scan(&visitor, &identified, &email, &name, &traits, &once); err != nil {
			return false, err
		}
		v := r.part(into, r.members.home(visitor), visitor)
		v.Identified, v.Email, v.Name, v.Traits, v.Once = identified == 1, person.StampedText(email), person.StampedText(name), stamped(traits), stamped(once)
		return true, nil
	})
}

// addSeen adds to the traits when the visitors of some persons were seen, which determines the ids of these persons.
func (r *personRows) addSeen(ctx context.Context, visitors members, persons map[uint64]bool, told map[share]*person.Visitor) error {
	own, _ := visitors.near(slices.Collect(maps.Keys(persons))).lists()
	seen := map[share]*person.Visitor{}
	if err := r.readSeen(ctx, own, seen); err != nil {
		return err
	}
	for of, part := range seen {
		into := r.part(told, of.person, of.visitor)
		into.FirstMs, into.Events = part.FirstMs, part.Events
	}
	return nil
}

// contactsOf folds the traits of visitors into contacts, by the numbers of the persons.
func contactsOf(told map[share]*person.Visitor) map[uint64]*destination.Contact {
	of := map[uint64][]person.Visitor{}
	for part, visitor := range told {
		of[part.person] = append(of[part.person], *visitor)
	}
	contacts := make(map[uint64]*destination.Contact, len(of))
	for number, visitors := range of {
		person, found := person.FoldPerson(visitors, nil)
		if !found {
			continue
		}
		contact := &destination.Contact{ID: person.ID, Name: person.Name, Email: person.Email}
		for _, trait := range phoneTraits() {
			if json.Unmarshal(person.Traits[trait], &contact.Phone) == nil && contact.Phone != "" {
				break
			}
		}
		contacts[number] = contact
	}
	return contacts
}
