package people_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/goal"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// TestKeptPeopleAreThoseOfTheirFacts materializes the people of random histories and changes them in every way: late
// events, links, aliases, merges, decisions of members, goals, erasures, and rows that expire. After each change,
// lists, counts and companies must match the facts of all people.
func TestKeptPeopleAreThoseOfTheirFacts(t *testing.T) {
	for seed := range seeds(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			k := newKeeping(t, rand.New(rand.NewPCG(seed, 9)))
			k.store(len(k.rows) * 2 / 3)
			k.keep()
			k.compare("kept", 0, 0)
			changes := []struct {
				name   string
				change func()
			}{
				{"some events", func() { k.store(3) }},
				{"many events", func() { k.store(12) }},
				{"a merge", k.merge},
				{"a tag and a stage", k.decide},
				{"goals", k.activate},
				{"nothing", func() {}},
			}
			k.random.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			for _, one := range changes {
				one.change()
				k.compare(one.name, 0, len(k.rows))
			}
			k.keep()
			k.compare("kept again", 0, len(k.rows))

			erasure := person.Erasure{ID: "era_1", EnvironmentNumber: environment, Visitors: []uint64{k.visitor(), k.visitor()}, Life: 1, At: k.now}
			k.db.Hide([]person.Erasure{erasure})
			k.compare("hidden", -1, -1)
			k.keep()
			k.compare("kept while somebody is hidden", 0, len(k.rows))
			if err := k.db.Remove(clickhousetest.Deadline(t), erasure, "1"); err != nil {
				t.Fatal(err)
			}
			k.compare("removed", -1, -1)
			k.db.Hide(nil)
			k.keep()
			k.store(5)
			k.compare("some events after an erasure", 0, len(k.rows))

			clickhousetest.Exec(t, k.db.conn, fmt.Sprintf("ALTER TABLE profiles DELETE WHERE visitor IN (%d, %d) SETTINGS mutations_sync = 1", k.visitor(), k.visitor()))
			k.compare("expired", -1, -1)

			k.keep()
			clickhousetest.Exec(t, k.db.conn, "ALTER TABLE person_folds DROP COLUMN words")
			if got := keysOf(t, k.db, person.Query{Search: "u1"}); len(got) == 0 {
				t.Error("a search that cannot read what is kept finds nobody")
			}
			k.compare("it cannot be read", -1, -1)
		})
	}
}

// TestWhatIsEmptiedMeanwhileIsNotKept truncates the table during a refresh, as erasures do. Lists must still be
// complete.
func TestWhatIsEmptiedMeanwhileIsNotKept(t *testing.T) {
	k := newKeeping(t, rand.New(rand.NewPCG(1, 10)))
	k.store(len(k.rows))
	want := keysOf(t, k.db, person.Query{Limit: 200})
	for n := range 30 {
		done := make(chan error)
		go func() { done <- k.db.Keep(clickhousetest.Deadline(t), environment, uint64(n+1)) }()
		emptied := n%3 > 0
		if emptied {
			time.Sleep(time.Duration(k.random.IntN(250)) * time.Millisecond)
			clickhousetest.Exec(t, k.db.conn, "TRUNCATE TABLE person_folds")
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		changed, err := k.db.Changed(clickhousetest.Deadline(t), environment)
		if err != nil {
			t.Fatal(err)
		}
		if !emptied && changed < 0 {
			t.Errorf("round %d: nobody is kept", n)
		}
		if got := keysOf(t, k.db, person.Query{Limit: 200}); !slices.Equal(got, want) {
			t.Fatalf("round %d: the list has %d people, want %d", n, len(got), len(want))
		}
	}
}

// keeping is an environment with materialized profiles.
type keeping struct {
	t      *testing.T
	random *rand.Rand
	db     *testDB
	// rows are the rows that are not stored yet, in any order.
	rows          []event.Row
	block, number uint64
	now           time.Time
}

func newKeeping(t *testing.T, random *rand.Rand) *keeping {
	rows := historyOf(random, 200, 25)
	for i := range rows {
		rows[i].Country = fmt.Sprint("c", random.IntN(3))
		if rows[i].Name == event.IdentifyEvent && i%3 == 0 {
			rows[i].Properties = companyTraits(random)
		}
	}
	k := &keeping{t: t, random: random, db: open(t), rows: rows, now: rows[len(rows)-1].Ts.Add(time.Minute)}
	random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return k
}

// store stores some of the remaining rows.
func (k *keeping) store(many int) {
	k.t.Helper()
	k.block++
	block := k.db.blocks.NewBlock()
	for i := range k.rows[:many] {
		block.Append(&k.rows[i])
	}
	k.rows = k.rows[many:]
	if err := k.db.blocks.Insert(clickhousetest.Deadline(k.t), fmt.Sprint("block-", k.block), k.block, block); err != nil {
		k.t.Fatal(err)
	}
	if err := k.db.Unite(clickhousetest.Deadline(k.t), environment); err != nil {
		k.t.Fatal(err)
	}
}

// visitor returns a random visitor of the history.
func (k *keeping) visitor() uint64 {
	return people.VisitorNumber(fmt.Sprint([]string{"a", "u"}[k.random.IntN(2)], k.random.IntN(25)))
}

func (k *keeping) merge() {
	if err := k.db.Merge(clickhousetest.Deadline(k.t), environment, k.visitor(), k.visitor(), k.now); err != nil {
		k.t.Fatal(err)
	}
}

// decide stores decisions of members about some visitors.
func (k *keeping) decide() {
	var entities []domain.Entity
	for _, decided := range []string{`"tags":{"vip":{"on":true,"at":1}}`, `"stage":"lead","stageAt":5`, `"stage":"paying","stageAt":7`} {
		visitor := k.visitor()
		payload := fmt.Appendf(nil, `{"visitor":%d,%s}`, visitor, decided)
		entities = append(entities, domain.Entity{Owner: people.PersonOwner(environment, visitor), Kind: "person", ID: "person", Payload: payload})
	}
	if err := k.db.state.Put(clickhousetest.Deadline(k.t), entities, nil, domain.Trail{}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *keeping) activate() {
	goals := []goal.Goal{{Matcher: goal.Matcher{Kind: goal.MatchEvent, Match: "order"}}}
	if err := k.db.Activate(clickhousetest.Deadline(k.t), environment, goals, time.Unix(0, 0), time.Now().AddDate(10, 0, 0)); err != nil {
		k.t.Fatal(err)
	}
}

func (k *keeping) keep() {
	k.t.Helper()
	k.number++
	if err := k.db.Keep(clickhousetest.Deadline(k.t), environment, k.number); err != nil {
		k.t.Fatal(err)
	}
}

// compare compares reads of materialized profiles with reads of all facts. from and to bound the number of changed
// people. If they are negative, there must be no profiles.
func (k *keeping) compare(after string, from, to int) {
	k.t.Helper()
	changed, err := k.db.Changed(clickhousetest.Deadline(k.t), environment)
	if err != nil || changed < from || changed > to {
		k.t.Errorf("%s: %d persons changed since, between %d and %d are expected (%v)", after, changed, from, to, err)
	}
	other := *k.db
	other.Store = k.db.Unkept()
	other.LookAmong(1, 0)
	dynamic := func(definition string) *segment.Segment { segment := define(k.t, definition); return &segment }
	segments := []segment.Segment{{Kind: segment.Static, Members: []uint64{k.visitor(), k.visitor()}}}
	for _, one := range atoms(k.now) {
		segments = append(segments, define(k.t, `{"all":[`+one.text+`]}`))
	}
	for range 4 {
		segments = append(segments, define(k.t, composed(k.random, atoms(k.now), 1).text))
	}
	queries := []person.Query{{}, {Search: "U1"}, {Search: "7@EXAMPLE"}, {Search: "u", SearchMasked: true}, {Search: "@", SearchMasked: true}, {Search: "co1"}, {Tags: []string{"vip"}}}
	for _, stage := range []segment.LifecycleStage{segment.StageVisitor, segment.StageLead, segment.StageSignup, segment.StageActivated, segment.StagePaying} {
		queries = append(queries, person.Query{Stage: stage}, person.Query{Stage: stage, Search: "3"})
	}
	for i := range segments[1:] {
		if k.random.IntN(4) == 0 {
			queries = append(queries, person.Query{Segment: &segments[i+1]})
		}
	}
	queries = append(queries,
		person.Query{Segment: &segments[0]},
		person.Query{Segment: dynamic(`{"any":[{"field":"tag","op":"eq","value":"vip"},{"field":"stage","op":"eq","value":"paying"},{"field":"sessions","op":"gt","value":3}]}`)},
		person.Query{Segment: dynamic(`{"all":[{"field":"stage","op":"neq","value":"visitor"},{"field":"did_event","op":"exists","event":{"name":"order"}},{"field":"country","op":"neq","value":"c0"}]}`)})
	for _, query := range queries {
		if k.random.IntN(4) > 0 {
			continue
		}
		query.Now, query.Limit = k.now, 20
		if got, want := keysOf(k.t, k.db, query), keysOf(k.t, &other, query); !slices.Equal(got, want) {
			k.t.Errorf("%s: %+v finds\n%v\nwant\n%v", after, query, got, want)
		}
	}
	for _, query := range []person.CompanyQuery{{}, {Search: "CO1"}, {Masked: true}} {
		if got, want := listed(k.t, k.db, query), listed(k.t, &other, query); !reflect.DeepEqual(got, want) {
			k.t.Errorf("%s: %+v finds the companies\n%+v\nwant\n%+v", after, query, got, want)
		}
	}
	for _, some := range [][]segment.Segment{segments, segments[1:2], segments[len(segments)-2:]} {
		got, err := k.db.SegmentCounts(clickhousetest.Deadline(k.t), domain.Environment{Number: environment}, some, k.now)
		if err != nil {
			k.t.Fatal(err)
		}
		want, err := other.SegmentCounts(clickhousetest.Deadline(k.t), domain.Environment{Number: environment}, some, k.now)
		if err != nil || !slices.Equal(got, want) {
			k.t.Errorf("%s: the segments have %v people, want %v (%v)", after, got, want, err)
		}
	}
}
