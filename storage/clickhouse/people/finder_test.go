package people_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/domain/segment"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// TestPagesAreThoseOfAllPeople reads pages of random histories, once by folding all people and then with each bound on
// the number of visitors to look at.
func TestPagesAreThoseOfAllPeople(t *testing.T) {
	for seed := range seeds(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 4))
			db, rows := open(t), history(random, 90)
			for number := range uint64(4) {
				block := db.blocks.NewBlock()
				for i := range rows {
					if i%4 == int(number) {
						block.Append(&rows[i])
					}
				}
				if err := db.blocks.Insert(clickhousetest.Deadline(t), fmt.Sprint("block-", number+1), number+1, block); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
				t.Fatal(err)
			}
			static := segment.Segment{Kind: segment.Static, Members: []uint64{people.VisitorNumber(rows[3].Visitor()), people.VisitorNumber(rows[40].Visitor())}}
			comparePages(t, db, &static)
			compareSpans(t, db, rows)
			// Deleting the profiles of known ids leaves only their traits and links, as is the case until ForgetGone
			// runs.
			gone := clickhouse.Args{"visitors": []uint64{people.VisitorNumber("u1"), people.VisitorNumber("u4"), people.VisitorNumber("a2")}}
			const expire = "ALTER TABLE profiles DELETE WHERE visitor IN {visitors:Array(UInt64)} SETTINGS mutations_sync = 1"
			if err := db.conn.Exec(clickhousetest.Deadline(t), expire, gone); err != nil {
				t.Fatal(err)
			}
			comparePages(t, db, &static)
		})
	}
}

// comparePages compares the pages of some queries, each read in several ways.
func comparePages(t *testing.T, db *testDB, static *segment.Segment) {
	t.Helper()
	dynamic := func(definition string) *segment.Segment { segment := define(t, definition); return &segment }
	for _, query := range []person.Query{
		{},
		{Search: "U1"},
		{Search: "7@EXAMPLE"},
		{Search: "u", SearchMasked: true},
		{Stage: segment.StageVisitor},
		{Stage: segment.StageLead},
		{Stage: segment.StageSignup, Search: "3"},
		{Segment: static},
		{Segment: dynamic(`{"all":[{"field":"trait.plan","op":"gte","value":10},{"field":"did_event","op":"exists","event":{"name":"order"}}]}`)},
		{Segment: dynamic(`{"any":[{"field":"first_seen_at","op":"gte","value":"2026-11-02"},{"field":"trait.first","op":"in","value":[1,2,3,4,5,6]}]}`)},
	} {
		query.Now = time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
		db.LookAmong(1, 0) // no visitors, so all people are folded
		want := keysOf(t, db, query)
		for _, bound := range [][2]int{{1, 64}, {2, 16}, {1, 3}, {2, 6}, {512, 8192}} {
			db.LookAmong(bound[0], bound[1])
			if got := keysOf(t, db, query); !reflect.DeepEqual(got, want) {
				t.Errorf("with %v, %+v finds\n%v\nwant\n%v", bound, query, got, want)
			}
		}
	}
}

// compareSpans compares the spans of visitors as pages compute them with the spans in queries about all people.
func compareSpans(t *testing.T, db *testDB, rows []event.Row) {
	t.Helper()
	var visitors []uint64
	for i := range rows {
		visitors = append(visitors, people.VisitorNumber(rows[i].DistinctID), people.VisitorNumber(rows[i].AnonymousID))
	}
	slices.Sort(visitors)
	here, engine, told, err := db.Spans(clickhousetest.Deadline(t), environment, slices.Compact(visitors))
	if err != nil || len(engine) == 0 || !maps.Equal(here, engine) || !maps.Equal(told, engine) {
		t.Errorf("visitors belong to\n%v or\n%v\nwant\n%v (%v)", here, told, engine, err)
	}
}

// keysOf reads the ids of the people of a query, page by page, in their order.
func keysOf(t *testing.T, db *testDB, query person.Query) (ids []string) {
	t.Helper()
	query.Environment, query.Limit = domain.Environment{Number: environment}, cmp.Or(query.Limit, 7)
	for {
		list, err := db.People(clickhousetest.Deadline(t), query)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Rows {
			ids = append(ids, list.Rows[i].ID)
		}
		if !list.More {
			return ids
		}
		query.After = &list.Last
	}
}

// TestASearchFindsEverybodyWhoUsedADevice searches for ids of devices. The result must be exactly the people that show
// the id.
func TestASearchFindsEverybodyWhoUsedADevice(t *testing.T) {
	db, at := open(t), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	block := db.blocks.NewBlock()
	for i, one := range []struct{ name, distinct, device string }{
		{event.PageView, "", "handed"},
		{event.IdentifyEvent, "first", "handed"},
		{event.PageView, "", "handed"},
		{event.IdentifyEvent, "second", "handed"},
		{event.PageView, "", "handed"},
		{event.PageView, "", "left"},
		{event.IdentifyEvent, "third", "left"},
		{event.IdentifyEvent, "fourth", "left"},
	} {
		row := clickhousetest.Row(environment, at.Add(time.Duration(i)*time.Hour), fmt.Sprint("e", i), "", "")
		row.Name, row.DistinctID, row.AnonymousID = one.name, one.distinct, one.device
		row.SessionID = fmt.Sprint("s", i)
		block.Append(row)
	}
	if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, block); err != nil {
		t.Fatal(err)
	}
	for _, look := range []int{0, 8192} {
		db.LookAmong(128, look)
		for search, want := range map[string][]string{"HAND": {"second", "first"}, "left": {"third"}, "fourth": {"fourth"}} {
			var got []string
			list, err := db.People(clickhousetest.Deadline(t), person.Query{Environment: domain.Environment{Number: environment}, Search: search, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for i := range list.Rows {
				got = append(got, list.Rows[i].DistinctID)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("looking at %d: %q finds %v, want %v", look, search, got, want)
			}
		}
	}
}
