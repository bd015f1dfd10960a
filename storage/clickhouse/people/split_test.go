package people_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// splitScene is a database with a few rows, which words describe. "ada" is a page view of the distinct id, and "a" is
// one of the anonymous id. "ada<a" is an identify, and "ada=bert" is an alias. The number after @ is the hour.
type splitScene struct {
	*testDB
	t      *testing.T
	blocks int
}

func (s *splitScene) store(words ...string) {
	s.t.Helper()
	block := s.testDB.blocks.NewBlock()
	for _, word := range words {
		what, hour, _ := strings.Cut(word, "@")
		var n int
		if _, err := fmt.Sscan(hour, &n); err != nil {
			s.t.Fatal(err)
		}
		row := clickhousetest.Row(environment, tiedAt.Add(time.Duration(n)*time.Hour), "e-"+word, "", "")
		row.SessionID, row.Name, row.DistinctID, row.AnonymousID = "s-"+word, event.PageView, what, ""
		if known, device, is := strings.Cut(what, "<"); is {
			row.Name, row.DistinctID, row.AnonymousID = event.IdentifyEvent, known, device
		} else if known, other, is := strings.Cut(what, "="); is {
			row.Name, row.DistinctID, row.AnonymousID = event.AliasEvent, known, other
		} else if len(what) == 1 {
			row.DistinctID, row.AnonymousID = "", what
		}
		block.Append(row)
	}
	s.blocks++
	if err := s.testDB.blocks.Insert(clickhousetest.Deadline(s.t), fmt.Sprint("block-", s.blocks), uint64(s.blocks), block); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Unite(clickhousetest.Deadline(s.t), environment); err != nil {
		s.t.Fatal(err)
	}
}

// split removes an id from its person at an hour. It applies from the hour since on, or entirely if since is negative.
func (s *splitScene) split(id string, at, since int) {
	s.t.Helper()
	visitor := people.VisitorNumber(id)
	devices, err := s.Tied(clickhousetest.Deadline(s.t), environment, visitor)
	if err != nil {
		s.t.Fatal(err)
	}
	one := person.Split{Visitor: visitor, At: tiedAt.Add(time.Duration(at) * time.Hour), Devices: devices}
	if since >= 0 {
		from := tiedAt.Add(time.Duration(since) * time.Hour)
		one.Since = &from
	}
	for range 2 {
		if err := s.Split(clickhousetest.Deadline(s.t), environment, one); err != nil {
			s.t.Fatal(err)
		}
	}
}

// people returns the persons as "ids: number of events", sorted. It compares the lists of few with the lists of all.
func (s *splitScene) people() (found []string) {
	s.t.Helper()
	for n, most := range []int{0, 100} {
		s.LookAmong(1, most)
		list, err := s.People(clickhousetest.Deadline(s.t), person.Query{Environment: domain.Environment{Number: environment}, Limit: 50})
		if err != nil {
			s.t.Fatal(err)
		}
		var some []string
		for i := range list.Rows {
			p := &list.Rows[i]
			some = append(some, fmt.Sprintf("%s %s: %d", p.DistinctID, strings.Join(p.DistinctIDs, "+"), p.Events))
			number, _ := person.ParsePersonID(p.ID)
			if itself, err := s.Person(clickhousetest.Deadline(s.t), environment, number); err != nil || !reflect.DeepEqual(itself, *p) {
				s.t.Errorf("the id of %+v finds %+v (%v)", *p, itself, err)
			}
		}
		slices.Sort(some)
		if n > 0 && !slices.Equal(some, found) {
			s.t.Errorf("a list of few is %q, of all %q", some, found)
		}
		found = some
	}
	return found
}

// TestSplit removes an id from a person that identify, an alias or a merge made. It removes the id entirely or from a
// time on, and ties it again.
func TestSplit(t *testing.T) {
	type step struct {
		do   func(s *splitScene)
		want []string
	}
	store := func(words ...string) func(*splitScene) { return func(s *splitScene) { s.store(words...) } }
	split := func(id string, at, since int) func(*splitScene) {
		return func(s *splitScene) { s.split(id, at, since) }
	}
	merge := func(one, other string, at int) func(*splitScene) {
		return func(s *splitScene) {
			err := s.Merge(clickhousetest.Deadline(s.t), environment, people.VisitorNumber(one), people.VisitorNumber(other), tiedAt.Add(time.Duration(at)*time.Hour))
			if err != nil {
				s.t.Fatal(err)
			}
		}
	}
	for name, steps := range map[string][]step{
		"A4 an alias of a placeholder": {
			{store("ann@1", "bob@2", "ann=undefined@3", "bob=undefined@4", "undefined@5"), []string{"ann ann+bob+undefined: 5"}},
			{split("undefined", 10, -1), []string{"ann ann: 2", "bob bob: 2", "undefined undefined: 1"}},
			{store("ann=undefined@9"), []string{"ann ann: 3", "bob bob: 2", "undefined undefined: 1"}},
			{store("bob=undefined@11"), []string{"ann ann: 3", "bob bob+undefined: 4"}},
		},
		"A4 a device, entirely": {
			{store("a@1", "ada<a@2", "a@3"), []string{"ada a+ada: 3"}},
			{split("a", 10, -1), []string{"a a: 2", "ada ada: 1"}},
			{store("a@4", "ada<a@5"), []string{"a a: 3", "ada ada: 2"}},
			{store("ada<a@12", "a@13"), []string{"ada a+ada: 7"}},
		},
		"A4 a device, from a time": {
			{store("a@1", "ada<a@2", "a@3", "a@4"), []string{"ada a+ada: 4"}},
			{split("a", 10, 4), []string{"a a: 1", "ada a+ada: 3"}},
			{store("a@2", "a@5"), []string{"a a: 2", "ada a+ada: 4"}},
			{store("ada<a@11"), []string{"ada a+ada: 7"}},
		},
		"an alias, from a time": {
			{store("ada@1", "bob@2", "ada=bob@3", "bob@5"), []string{"ada ada+bob: 4"}},
			{split("bob", 10, 4), []string{"ada ada+bob: 3", "bob bob: 1"}},
			{store("bob@6", "ada@7", "ada=bob@8"), []string{"ada ada+bob: 5", "bob bob: 2"}},
			{store("ada=bob@11"), []string{"ada ada+bob: 8"}},
		},
		"a known id of a device, from a time": {
			{store("a@1", "ada<a@2", "ada@5", "a@6"), []string{"ada a+ada: 4"}},
			{split("ada", 10, 4), []string{"a a+ada: 3", "ada ada: 1"}},
			{store("ada@7", "a@8"), []string{"a a+ada: 4", "ada ada: 2"}},
		},
		"a merge keeps the devices of both": {
			{store("a@1", "ada<a@2", "b@3", "bob<b@4"), []string{"ada a+ada: 2", "bob b+bob: 2"}},
			{merge("ada", "bob", 5), []string{"ada a+ada+b+bob: 4"}},
			{split("bob", 10, -1), []string{"ada a+ada: 2", "bob b+bob: 2"}},
			{merge("ada", "bob", 11), []string{"ada a+ada+b+bob: 4"}},
			{split("ada", 12, 2), []string{"ada ada: 1", "bob a+b+bob: 3"}},
			{merge("bob", "ada", 13), []string{"ada a+ada+b+bob: 4"}},
			{split("ada", 14, -1), []string{"ada a+ada: 2", "bob b+bob: 2"}},
		},
		"a shared device": {
			{store("ada<a@1", "a@2", "bob<a@3", "a@4"), []string{"ada a+ada: 2", "bob a+bob: 2"}},
			{split("a", 10, 2), []string{"a a: 2", "ada ada: 1", "bob bob: 1"}},
			{store("bob<a@11", "a@12"), []string{"ada ada: 1", "bob a+bob: 5"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &splitScene{testDB: open(t), t: t}
			for n, one := range steps {
				one.do(s)
				if got := s.people(); !slices.Equal(got, one.want) {
					t.Errorf("after step %d the people are %q, want %q", n+1, got, one.want)
				}
			}
		})
	}
}

// TestKeptPeopleNoticeASplit stores the people, and removes ids from them in random ways. The lists must match the
// lists from the facts of all people.
func TestKeptPeopleNoticeASplit(t *testing.T) {
	k := newKeeping(t, rand.New(rand.NewPCG(3, 9)))
	k.store(len(k.rows))
	s := &splitScene{testDB: k.db, t: t, blocks: 1000}
	for n := range 3 {
		k.keep()
		s.split(fmt.Sprint(string("au"[n%2]), k.random.IntN(8)), 10_000+n, []int{-1, 24, 240}[n])
		k.compare(fmt.Sprint("split ", n), -1, 1000)
	}
}
