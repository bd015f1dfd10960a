package people_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// environment is the environment of all test rows.
const environment = 7

// history returns rows of a few visitors that identify themselves in every way: on shared devices, as each other's
// anonymous ids, and by aliases in chains and circles.
func history(random *rand.Rand, rows int) []event.Row { return historyOf(random, rows, 8) }

// historyOf is history with the given number of known and of anonymous ids.
func historyOf(random *rand.Rand, rows, ids int) []event.Row {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	pick := func(prefix string) string { return fmt.Sprint(prefix, random.IntN(ids)) }
	out := make([]event.Row, rows)
	for i := range out {
		at = at.Add(time.Duration(1+random.IntN(3_600_000)) * time.Millisecond)
		row := clickhousetest.Row(environment, at, fmt.Sprint("e", i), "", "")
		row.DistinctID = ""
		switch random.IntN(10) {
		case 0, 1, 2:
			row.AnonymousID = pick("a")
		case 3, 4:
			row.DistinctID = pick("u")
		case 5:
			row.DistinctID, row.AnonymousID = pick("u"), pick("a")
		case 6, 7:
			row.Name, row.DistinctID, row.AnonymousID = event.IdentifyEvent, pick("u"), pick("a")
			switch random.IntN(4) {
			case 0:
				row.AnonymousID = pick("u")
			case 1: // a device sets traits of its current user
				row.DistinctID = ""
			}
			row.Properties = fmt.Appendf(nil, `{"email":"%d@example.com","phone":"+49%d","plan":%d,"$set_once":{"first":%d}}`, i, i, i, i)
		case 8:
			row.Name, row.DistinctID, row.AnonymousID = event.AliasEvent, pick("u"), pick("u")
			if random.IntN(3) == 0 {
				row.AnonymousID = pick("a")
			}
			if random.IntN(3) > 0 {
				row.Name = event.PageView
			}
		default:
			row.Name, row.AnonymousID = "order", pick("a")
			row.IsBot = random.IntN(5) == 0
		}
		row.SessionID = fmt.Sprint("s", i, row.Visitor()) // each event begins a visit
		row.Source = fmt.Sprint("source", i)
		out[i] = *row
	}
	return out
}

// timelineQuery returns the query of the last events of the person of a visitor.
func timelineQuery(visitor uint64) person.TimelineQuery {
	return person.TimelineQuery{
		Environment: domain.Environment{Number: environment}, Visitor: visitor, Kinds: []person.TimelineKind{person.TimelineEvent}, Limit: 20,
		Before: person.TimelineKey{TsMs: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()},
	}
}

// timelineOf returns the last events of the person of a visitor.
func timelineOf(t *testing.T, db *testDB, visitor uint64) (keys []person.TimelineKey) {
	t.Helper()
	entries, _, err := db.Timeline(clickhousetest.Deadline(t), timelineQuery(visitor))
	if err != nil {
		t.Error(err)
	}
	for i := range entries {
		keys = append(keys, entries[i].TimelineKey)
	}
	return keys
}

// counted are the fields of a person on which the model and the store must agree.
type counted struct {
	DistinctID  string
	DistinctIDs []string
	First, Last time.Time
	Events      uint64
	Pageviews   uint64
	FirstSource string
	LastSource  string
	Email       string
	Plan, Once  string
	Stage       segment.LifecycleStage
}

// model computes the persons from the rows in chronological order, independently of the tables.
func model(rows []event.Row, merges ...[2]string) []counted {
	persons, known := grouped(rows, merges...)
	out := make([]counted, 0, len(persons))
	for _, events := range persons {
		out = append(out, count(events, known))
	}
	return sorted(out)
}

// grouped returns the counted events of each person in chronological order, and the set of known ids. merges are pairs
// of ids of merged persons.
func grouped(rows []event.Row, merges ...[2]string) (persons map[string][]*event.Row, known map[string]bool) {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b event.Row) int { return a.Ts.Compare(b.Ts) })
	known = map[string]bool{}
	for i := range rows {
		if rows[i].Name == event.IdentifyEvent && rows[i].DistinctID != "" {
			known[rows[i].DistinctID] = true
		}
	}
	// linked holds the known ids of each anonymous id, with the time from which on they apply.
	type link struct {
		known string
		since time.Time
	}
	linked, tied, named := map[string][]link{}, map[string]string{}, map[string]bool{}
	root := func(id string) string {
		for tied[id] != "" {
			id = tied[id]
		}
		return id
	}
	tie := func(one, other string) {
		if one != other {
			named[one], named[other] = true, true
		}
		if root(one) != root(other) {
			tied[root(one)] = root(other)
		}
	}
	for _, merge := range merges {
		tie(merge[0], merge[1])
	}
	for i := range rows {
		row := &rows[i]
		if row.Name == event.AliasEvent && row.AnonymousID != "" {
			tie(row.DistinctID, row.AnonymousID)
		}
		if row.Name == event.IdentifyEvent && row.DistinctID != "" && !known[row.AnonymousID] && row.AnonymousID != "" &&
			!slices.ContainsFunc(linked[row.AnonymousID], func(l link) bool { return l.known == row.DistinctID }) {
			linked[row.AnonymousID] = append(linked[row.AnonymousID], link{row.DistinctID, row.Ts})
		}
	}
	who := func(row *event.Row) string {
		id := row.Visitor()
		links := linked[id]
		if len(links) == 0 || named[id] && row.Ts.Before(links[0].since) {
			return root(id)
		}
		at := 0
		for i, l := range links {
			if !l.since.After(row.Ts) {
				at = i
			}
		}
		return root(links[at].known)
	}
	persons = map[string][]*event.Row{}
	for i := range rows {
		if row := &rows[i]; !row.IsBot || row.Name == event.IdentifyEvent || row.Name == event.AliasEvent {
			persons[who(row)] = append(persons[who(row)], row)
		}
	}
	return persons, known
}

// count counts the events of a person, which must be in chronological order.
func count(events []*event.Row, known map[string]bool) counted {
	c := counted{First: events[0].Ts, Last: events[len(events)-1].Ts, Stage: segment.StageVisitor}
	for _, row := range events {
		if id := row.Visitor(); !slices.Contains(c.DistinctIDs, id) {
			c.DistinctIDs = append(c.DistinctIDs, id)
			if c.DistinctID == "" || known[id] && !known[c.DistinctID] {
				c.DistinctID = id
			}
			if known[id] {
				c.Stage = segment.StageSignup
			}
		}
		c.Events++
		switch row.Name {
		case event.PageView:
			c.Pageviews++
		case event.IdentifyEvent:
			var traits struct {
				Email string          `json:"email"`
				Plan  json.RawMessage `json:"plan"`
				Once  struct {
					First json.RawMessage `json:"first"`
				} `json:"$set_once"`
			}
			if json.Unmarshal(row.Properties, &traits) == nil {
				c.Email, c.Plan = traits.Email, string(traits.Plan)
				c.Once = cmp.Or(c.Once, string(traits.Once.First))
				if c.Stage == segment.StageVisitor {
					c.Stage = segment.StageLead
				}
			}
		}
		if row.Name != event.IdentifyEvent && row.Name != event.AliasEvent {
			c.FirstSource, c.LastSource = cmp.Or(c.FirstSource, row.Source), row.Source
		}
	}
	slices.Sort(c.DistinctIDs)
	return c
}

func sorted(list []counted) []counted {
	slices.SortFunc(list, func(a, b counted) int { return cmp.Compare(a.DistinctID, b.DistinctID) })
	return list
}

// countedOf returns the fields of a person from the store.
func countedOf(p *person.Person) counted {
	stage, _ := p.Stage()
	return counted{
		p.DistinctID, p.DistinctIDs, p.FirstSeenAt, p.LastSeenAt, p.Events, p.Pageviews, p.First.Source, p.Last.Source,
		p.Email, string(p.Traits["plan"]), string(p.Traits["first"]), stage,
	}
}

// stored reads all people of a database, page by page.
func stored(t *testing.T, db *testDB) []counted {
	t.Helper()
	query := person.Query{Environment: domain.Environment{Number: environment}, Limit: 5}
	out := []counted{}
	for {
		list, err := db.People(clickhousetest.Deadline(t), query)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Rows {
			p := &list.Rows[i]
			out = append(out, countedOf(p))
			number, _ := person.ParsePersonID(p.ID)
			if itself, err := db.Person(clickhousetest.Deadline(t), environment, number); err != nil || !reflect.DeepEqual(itself, *p) {
				t.Errorf("the id of %+v finds %+v (%v)", *p, itself, err)
			}
			same, err := db.Person(clickhousetest.Deadline(t), environment, p.Members[len(p.Members)/2])
			if err != nil || same.Number == p.Number && same.ID != p.ID {
				t.Errorf("a visitor finds %s (%v), not %s", same.ID, err, p.ID)
			}
			if its, theirs := timelineOf(t, db, p.Members[len(p.Members)/2]), timelineOf(t, db, same.Number); len(its) == 0 || !reflect.DeepEqual(its, theirs) {
				t.Errorf("a visitor has the timeline %v, the person %v", its, theirs)
			}
		}
		if !list.More {
			return sorted(out)
		}
		query.After = &list.Last
	}
}

// TestPeopleDoNotDependOnTheOrder stores random histories in random orders. It cuts blocks anywhere, repeats some of
// them as after a crash, and merges people at any time. The people must match the model.
func TestPeopleDoNotDependOnTheOrder(t *testing.T) {
	for seed := range seeds(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			db, rows := open(t), history(random, 20+random.IntN(100))
			db.LookAmong(1+random.IntN(6), random.IntN(100))
			var merges [][2]string
			random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			for number, from := uint64(1), 0; from < len(rows); number++ {
				to := min(len(rows), from+len(rows)/4+random.IntN(len(rows)))
				block := db.blocks.NewBlock()
				for i := range rows[from:to] {
					block.Append(&rows[from+i])
				}
				for range 1 + random.IntN(2) {
					if err := db.blocks.Insert(clickhousetest.Deadline(t), fmt.Sprint("block-", number), number, block); err != nil {
						t.Fatal(err)
					}
					if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
						t.Fatal(err)
					}
				}
				for random.IntN(2) == 0 {
					one, other := fmt.Sprint("a", random.IntN(8)), fmt.Sprint(string("au"[random.IntN(2)]), random.IntN(8))
					if one == other {
						continue
					}
					if err := db.Merge(clickhousetest.Deadline(t), environment, people.VisitorNumber(one), people.VisitorNumber(other), rows[0].Ts); err != nil {
						t.Fatal(err)
					}
					merges = append(merges, [2]string{one, other})
				}
				if got, want := stored(t, db), model(rows[:to], merges...); !reflect.DeepEqual(got, want) {
					t.Fatalf("after %d rows the people are\n%s\nwant\n%s", to, lines(got), lines(want))
				}
				from = to
			}
		})
	}
}

// TestAMergeNeverHidesAPerson reads each of some people while this person is being merged into another one.
func TestAMergeNeverHidesAPerson(t *testing.T) {
	db, at := open(t), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	block, visitors := db.blocks.NewBlock(), make([]uint64, 12)
	for i := range visitors {
		row := clickhousetest.Row(environment, at.Add(time.Duration(i)*time.Minute), fmt.Sprint("e", i), "", "")
		row.DistinctID, row.AnonymousID = fmt.Sprint("merged", i), ""
		visitors[i] = people.VisitorNumber(row.DistinctID)
		block.Append(row)
	}
	if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, block); err != nil {
		t.Fatal(err)
	}
	for _, find := range []func() error{
		func() error {
			_, err := db.Person(clickhousetest.Deadline(t), environment, people.VisitorNumber("nobody"))
			return err
		},
		func() error {
			_, _, err := db.Timeline(clickhousetest.Deadline(t), timelineQuery(people.VisitorNumber("nobody")))
			return err
		},
	} {
		if err := find(); domain.CodeOf(err) != domain.CodeNotFound {
			t.Errorf("nobody is found: %v", err)
		}
	}
	for _, other := range visitors[1:] {
		merged := make(chan error, 1)
		go func() { merged <- db.Merge(clickhousetest.Deadline(t), environment, visitors[0], other, at) }()
		for over := false; !over; {
			select {
			case err := <-merged:
				if err != nil {
					t.Fatal(err)
				}
				over = true
			default:
			}
			if _, err := db.Person(clickhousetest.Deadline(t), environment, other); err != nil {
				t.Fatalf("while it is merged: %v", err)
			}
		}
	}
}

// lines formats people, one per line.
func lines(list []counted) (text string) {
	for i := range list {
		text += fmt.Sprintf("%+v\n", list[i])
	}
	return text
}
