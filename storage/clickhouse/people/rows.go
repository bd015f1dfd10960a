package people

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/errgroup"

	"svc/domain"
	"svc/domain/person"
	"svc/storage/clickhouse"
)

// share is the part of a visitor that belongs to a person.
type share struct{ person, visitor uint64 }

// personRows reads the rows of persons.
type personRows struct {
	db          *Store
	environment uint64
	members     members
	parts       map[share]*person.Visitor
	states      map[uint64][]person.State
}

// persons returns the rows of persons, in their order. A person without any event left has none.
func (db *Store) persons(ctx context.Context, environment uint64, persons []uint64) ([]person.Person, error) {
	if len(persons) == 0 {
		return []person.Person{}, nil
	}
	members, err := db.membersOf(ctx, environment, persons, nil)
	if err != nil {
		return nil, err
	}
	return db.rowsOf(ctx, environment, persons, members)
}

// rowsOf is persons with known visitors.
func (db *Store) rowsOf(ctx context.Context, environment uint64, persons []uint64, members members) ([]person.Person, error) {
	r := &personRows{db: db, environment: environment, members: members, parts: map[share]*person.Visitor{}, states: map[uint64][]person.State{}}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	visitors := map[uint64][]person.Visitor{}
	for of, part := range r.parts {
		visitors[of.person] = append(visitors[of.person], *part)
	}
	out := make([]person.Person, 0, len(persons))
	for _, number := range persons {
		if person, found := person.FoldPerson(visitors[number], r.states[number]); found {
			out = append(out, person)
		}
	}
	return out, nil
}

// read fills the parts and the states.
func (r *personRows) read(ctx context.Context) error {
	own, shared := r.members.lists()
	// Each reader fills its own map, since they run concurrently.
	seen, arrived, told := map[share]*person.Visitor{}, map[share]*person.Visitor{}, map[share]*person.Visitor{}
	entered, parted := map[share]*person.Visitor{}, map[share]*person.Visitor{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.readSeen(ctx, own, seen) })
	group.Go(func() error { return r.readArrivals(ctx, own, arrived) })
	group.Go(func() error { return r.readEntries(ctx, own, entered) })
	group.Go(func() error { return r.readTraits(ctx, slices.Concat(own, shared), told) })
	group.Go(func() error { return r.readStates(ctx, slices.Concat(own, shared)) })
	if len(shared) > 0 {
		group.Go(func() error { return r.readShared(ctx, shared, parted) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	r.parts = parted
	for of, part := range seen {
		r.parts[of] = part
	}
	for of, part := range arrived {
		if into := r.parts[of]; into != nil {
			into.ID, into.Sessions = part.ID, part.Sessions
		}
	}
	for of, part := range entered {
		if into := r.parts[of]; into != nil {
			into.First, into.Last, into.Place = part.First, part.Last, part.Place
		}
	}
	for of, part := range told {
		if into := r.parts[of]; into != nil {
			into.Activated = part.Activated
			if len(r.members[of.visitor]) > 1 { // its events determine which person set a trait
				continue
			}
			into.Identified, into.SignedUp, into.Mailed = part.Identified, part.SignedUp, part.Mailed
			into.Email, into.Name, into.Company, into.Traits, into.Once = part.Email, part.Name, part.Company, part.Traits, part.Once
		}
	}
	return nil
}

// args returns the parameters of a query about visitors.
func (r *personRows) args(visitors []uint64) clickhouse.Args {
	return clickhouse.Args{"environment": r.environment, "visitors": visitors}
}

// part returns the entry of a visitor in a map, and adds it if it is missing.
func (r *personRows) part(in map[share]*person.Visitor, p, visitor uint64) *person.Visitor {
	of := share{p, visitor}
	if in[of] == nil {
		in[of] = &person.Visitor{Person: p, Visitor: visitor}
	}
	return in[of]
}

func (r *personRows) readSeen(ctx context.Context, visitors []uint64, into map[share]*person.Visitor) error {
	return r.db.conn.Read(ctx, "counting the events of people", r.db.queries["persons.Seen"], r.args(visitors), func(rows driver.Rows) (bool, error) {
		var v person.Visitor
		err := rows.Scan(&v.Visitor, &v.FirstMs, &v.LastMs, &v.Events, &v.Pageviews)
		v.Person = r.members.home(v.Visitor)
		into[share{v.Person, v.Visitor}] = &v
		return true, err
	})
}

// touchTuple and placeTuple are what queries select of entries.
type (
	touchTuple []any
	placeTuple []any
)

func (t touchTuple) touch() person.Touch {
	word := func(i int) string { text, _ := t[i].(string); return text }
	at, _ := t[5].(int64)
	tie, _ := t[6].(uint64)
	return person.Touch{Source: word(0), Medium: word(1), Campaign: word(2), Referrer: word(3), URL: word(4), AtMs: at, Tie: tie}
}

func (t placeTuple) place() person.Place {
	word := func(i int) string { text, _ := t[i].(string); return text }
	at, _ := t[6].(int64)
	tie, _ := t[7].(uint64)
	return person.Place{Country: word(0), Region: word(1), City: word(2), Device: word(3), Browser: word(4), OS: word(5), AtMs: at, Tie: tie}
}

func (r *personRows) readArrivals(ctx context.Context, visitors []uint64, into map[share]*person.Visitor) error {
	return r.db.conn.Read(ctx, "reading the ids of people", r.db.queries["persons.Arrivals"], r.args(visitors), func(rows driver.Rows) (bool, error) {
		var visitor, sessions uint64
		var id string
		if err := rows.Scan(&visitor, &id, &sessions); err != nil {
			return false, err
		}
		v := r.part(into, r.members.home(visitor), visitor)
		v.ID, v.Sessions = id, sessions
		return true, nil
	})
}

func (r *personRows) readEntries(ctx context.Context, visitors []uint64, into map[share]*person.Visitor) error {
	return r.db.conn.Read(ctx, "reading the visits of people", r.db.queries["persons.Entries"], r.args(visitors), func(rows driver.Rows) (bool, error) {
		var visitor uint64
		var first, last, place []any
		if err := rows.Scan(&visitor, &first, &last, &place); err != nil {
			return false, err
		}
		v := r.part(into, r.members.home(visitor), visitor)
		v.First, v.Last, v.Place = touchTuple(first).touch(), touchTuple(last).touch(), placeTuple(place).place()
		return true, nil
	})
}

func (r *personRows) readShared(ctx context.Context, visitors []uint64, into map[share]*person.Visitor) error {
	return r.db.conn.Read(ctx, "dividing the events of shared visitors", r.db.queries["persons.SharedRows"], r.args(visitors).With(r.members.args()).With(clickhouse.Args{"only": visitors}), func(rows driver.Rows) (bool, error) {
		var v person.Visitor
		var first, last, place []any
		var email, name, company string
		var traits, once map[string]string
		err := rows.Scan(&v.Visitor, &v.Person, &v.FirstMs, &v.LastMs, &v.Events, &v.Pageviews, &v.ID, &v.Sessions, &v.SignedUp,
			&v.Identified, &v.Mailed, &email, &name, &company, &traits, &once, &first, &last, &place)
		if err != nil {
			return false, err
		}
		v.Email, v.Name, v.Company = person.StampedText(email), person.StampedText(name), person.StampedText(company)
		v.Traits, v.Once = stamped(traits), stamped(once)
		v.Away = r.members.home(v.Visitor) != v.Person
		v.First, v.Last, v.Place = touchTuple(first).touch(), touchTuple(last).touch(), placeTuple(place).place()
		into[share{v.Person, v.Visitor}] = &v
		return true, nil
	})
}

func (r *personRows) readTraits(ctx context.Context, visitors []uint64, into map[share]*person.Visitor) error {
	return r.db.conn.Read(ctx, "reading the traits of people", r.db.queries["persons.Traits"], r.args(visitors), func(rows driver.Rows) (bool, error) {
		var visitor uint64
		var identified, signedUp, mailed, activated uint8
		var email, name, company string
		var traits, once map[string]string
		if err := rows.Scan(&visitor, &identified, &signedUp, &mailed, &activated, &email, &name, &company, &traits, &once); err != nil {
			return false, err
		}
		v := r.part(into, r.members.home(visitor), visitor)
		v.Identified, v.SignedUp, v.Mailed, v.Activated = identified == 1, signedUp == 1, mailed == 1, activated == 1
		v.Email, v.Name, v.Company = person.StampedText(email), person.StampedText(name), person.StampedText(company)
		v.Traits, v.Once = stamped(traits), stamped(once)
		return true, nil
	})
}

func stamped(texts map[string]string) map[string]person.StampedText {
	out := make(map[string]person.StampedText, len(texts))
	for name, text := range texts {
		out[name] = person.StampedText(text)
	}
	return out
}

// PersonOwner returns the owner of the entities of the person actor that belongs to a visitor.
func PersonOwner(environment, visitor uint64) string {
	return fmt.Sprintf("person/%d/%d", environment, visitor)
}

func (r *personRows) readStates(ctx context.Context, visitors []uint64) error {
	owners := make([]string, len(visitors))
	for i, visitor := range visitors {
		owners[i] = PersonOwner(r.environment, visitor)
	}
	return r.db.conn.Read(ctx, "reading what was decided about people", r.db.queries["persons.States"], clickhouse.Args{"owners": owners}, func(rows driver.Rows) (bool, error) {
		var owner, payload string
		if err := rows.Scan(&owner, &payload); err != nil {
			return false, err
		}
		visitor, err := strconv.ParseUint(owner[strings.LastIndexByte(owner, '/')+1:], 10, 64)
		if err != nil {
			return false, fmt.Errorf("reading the owner %q: %w", owner, err)
		}
		var state person.State
		if err := json.Unmarshal([]byte(payload), &state); err != nil {
			r.db.conn.Skipped(domain.Entity{Owner: owner, Kind: "person"}, err)
			return true, nil // one bad entity must not hide the others
		}
		person := r.members.home(visitor)
		r.states[person] = append(r.states[person], state)
		return true, nil
	})
}
