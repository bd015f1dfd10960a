package people_test

import (
	"encoding/json"
	"fmt"
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

// tiedAt is when the device of TestATiedDeviceKeepsItsPast is identified as Bert.
var tiedAt = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// tiedRow returns a page view of one of the houses of TestATiedDeviceKeepsItsPast. Each house has a device, Ada and
// Bert.
func tiedRow(house, hour int, name, distinct, device string) *event.Row {
	of := func(id string) string {
		if id == "" {
			return ""
		}
		return fmt.Sprintf("%s-%03d", id, house)
	}
	row := clickhousetest.Row(environment, tiedAt.Add(time.Duration(hour)*time.Hour), fmt.Sprintf("e-%03d-%d", house, hour), "", "")
	row.Name, row.DistinctID, row.AnonymousID, row.Source = name, of(distinct), of(device), fmt.Sprint("source", hour)
	row.SessionID = fmt.Sprintf("s-%03d-%d", house, hour)
	return row
}

// permutations returns all orders of the numbers below n.
func permutations(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, shorter := range permutations(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return all
}

// TestATiedDeviceKeepsItsPast ties a device to Ada, by an alias or by a merge, and identifies it as Bert. Its earlier
// events remain Ada's, and its later events are Bert's, in whichever order all of this arrives. Each order has a house.
func TestATiedDeviceKeepsItsPast(t *testing.T) {
	for _, merged := range []bool{false, true} {
		t.Run(fmt.Sprintf("merged=%t", merged), func(t *testing.T) {
			db, orders, want := open(t), permutations(5), []counted{}
			db.LookAmong(16, 64)
			for step := range 5 {
				block := db.blocks.NewBlock()
				for house, order := range orders {
					switch order[step] {
					case 0:
						block.Append(tiedRow(house, -3, event.PageView, "", "device"))
					case 1:
						if !merged {
							block.Append(tiedRow(house, -2, event.AliasEvent, "ada", "device"))
							break
						}
						block.Append(tiedRow(house, -2, event.PageView, "ada", ""))
						one, other := people.VisitorNumber(fmt.Sprintf("device-%03d", house)), people.VisitorNumber(fmt.Sprintf("ada-%03d", house))
						if err := db.Merge(clickhousetest.Deadline(t), environment, one, other, tiedAt); err != nil {
							t.Fatal(err)
						}
					case 2:
						block.Append(tiedRow(house, -1, event.PageView, "", "device"))
					case 3:
						row := tiedRow(house, 0, event.IdentifyEvent, "bert", "device")
						row.Properties = json.RawMessage(`{"email":"bert@example.com","plan":2}`)
						block.Append(row)
					case 4:
						block.Append(tiedRow(house, 1, event.PageView, "", "device"))
					}
				}
				if err := db.blocks.Insert(clickhousetest.Deadline(t), fmt.Sprint("block-", step), uint64(step+1), block); err != nil {
					t.Fatal(err)
				}
				if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
					t.Fatal(err)
				}
			}
			for house := range orders {
				ada, bert, device := fmt.Sprintf("ada-%03d", house), fmt.Sprintf("bert-%03d", house), fmt.Sprintf("device-%03d", house)
				at := func(hour int) time.Time { return tiedAt.Add(time.Duration(hour) * time.Hour) }
				first := counted{
					DistinctID: device, DistinctIDs: []string{ada, device}, First: at(-3), Last: at(-1), Events: 3, Pageviews: 2,
					FirstSource: "source-3", LastSource: "source-1", Stage: segment.StageVisitor,
				}
				if merged {
					first.Pageviews = 3
				}
				second := counted{
					DistinctID: bert, DistinctIDs: []string{bert, device}, First: at(0), Last: at(1), Events: 2, Pageviews: 1,
					FirstSource: "source1", LastSource: "source1", Email: "bert@example.com", Plan: "2", Stage: segment.StageSignup,
				}
				want = append(want, first, second)
			}
			list, err := db.People(clickhousetest.Deadline(t), person.Query{Environment: domain.Environment{Number: environment}, Limit: len(want) + 1})
			if err != nil {
				t.Fatal(err)
			}
			got := []counted{}
			for i := range list.Rows {
				got = append(got, countedOf(&list.Rows[i]))
			}
			if !reflect.DeepEqual(sorted(got), sorted(want)) {
				t.Errorf("the people are\n%s\nwant\n%s", lines(got), lines(want))
			}
		})
	}
}

// TestErasuresOfATiedDevice erases one of the two people who share a device. The erasure includes the device if this
// person used it, and nothing else of the other person.
func TestErasuresOfATiedDevice(t *testing.T) {
	at := func(hour int) time.Time { return tiedAt.Add(time.Duration(hour) * time.Hour) }
	ada := counted{DistinctID: "ada-000", DistinctIDs: []string{"ada-000"}, First: at(-2), Last: at(-2), Events: 1, Stage: segment.StageVisitor}
	both := counted{
		DistinctID: "device-000", DistinctIDs: []string{"ada-000", "device-000"}, First: at(-3), Last: at(-1), Events: 3, Pageviews: 2,
		FirstSource: "source-3", LastSource: "source-1", Stage: segment.StageVisitor,
	}
	bert := counted{DistinctID: "bert-000", DistinctIDs: []string{"bert-000"}, First: at(0), Last: at(0), Events: 1, Stage: segment.StageSignup}
	for _, test := range []struct {
		name, erased string
		afterwards   bool
		left         counted
	}{
		{"the second one, who used it", "bert-000", true, ada},
		{"the second one, who did nothing on it", "bert-000", false, both},
		{"the first one, who used it", "ada-000", true, bert},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := open(t)
			block := db.blocks.NewBlock()
			block.Append(tiedRow(0, -3, event.PageView, "", "device"))
			block.Append(tiedRow(0, -2, event.AliasEvent, "ada", "device"))
			block.Append(tiedRow(0, -1, event.PageView, "", "device"))
			block.Append(tiedRow(0, 0, event.IdentifyEvent, "bert", "device"))
			if test.afterwards {
				block.Append(tiedRow(0, 1, event.PageView, "", "device"))
			}
			if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, block); err != nil {
				t.Fatal(err)
			}
			if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
				t.Fatal(err)
			}
			p, err := db.Person(clickhousetest.Deadline(t), environment, people.VisitorNumber(test.erased))
			if err != nil {
				t.Fatal(err)
			}
			erasure := person.Erasure{ID: "era_1", EnvironmentNumber: environment, Visitors: p.Members, Life: 1, At: tiedAt}
			db.Hide([]person.Erasure{erasure})
			if got := stored(t, db); !reflect.DeepEqual(got, []counted{test.left}) {
				t.Errorf("at once the people are\n%s\nwant\n%+v", lines(got), test.left)
			}
			for _, turn := range []string{"1", "2"} {
				if err := db.Remove(clickhousetest.Deadline(t), erasure, turn); err != nil {
					t.Fatal(err)
				}
			}
			db.Hide(nil)
			if got := stored(t, db); !reflect.DeepEqual(got, []counted{test.left}) {
				t.Errorf("after the removal the people are\n%s\nwant\n%+v", lines(got), test.left)
			}
		})
	}
}

// TestWhatMembersSayOfATiedDeviceStays tags a device, adds a note about it and ties it to Ada. Then Bert is identified
// on it, and a sign-up follows there. A list by tag or stage, both profiles and both timelines must attribute
// everything to the right person.
func TestWhatMembersSayOfATiedDeviceStays(t *testing.T) {
	for _, hour := range []int{-1, 2} {
		t.Run(fmt.Sprint(hour), func(t *testing.T) {
			db := open(t)
			block := db.blocks.NewBlock()
			block.Append(tiedRow(0, -3, event.PageView, "", "device"))
			block.Append(tiedRow(0, -2, event.PageView, "ada", ""))
			block.Append(tiedRow(0, 0, event.IdentifyEvent, "bert", "device"))
			block.Append(tiedRow(0, 1, event.PageView, "", "device"))
			block.Append(tiedRow(0, hour, "signup", "", "device"))
			if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, block); err != nil {
				t.Fatal(err)
			}
			device, ada, bert := people.VisitorNumber("device-000"), people.VisitorNumber("ada-000"), people.VisitorNumber("bert-000")
			owner := people.PersonOwner(environment, device)
			err := db.state.Put(clickhousetest.Deadline(t), []domain.Entity{
				{Owner: owner, Kind: "person", ID: "person", Payload: fmt.Appendf(nil, `{"visitor":%d,"tags":{"vip":{"on":true,"at":1}}}`, device)},
				{Owner: owner, Kind: "activity", ID: "crm_1", Payload: []byte(`{"id":"crm_1","kind":"note","at":"2026-11-01T11:00:00Z","text":"hers"}`)},
			}, nil, domain.Trail{})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Merge(clickhousetest.Deadline(t), environment, device, ada, tiedAt); err != nil {
				t.Fatal(err)
			}
			type said struct {
				DistinctID string
				Stage      segment.LifecycleStage
				Tags       []string
				Notes      int
			}
			whose := func(p *person.Person) said {
				stage, _ := p.Stage()
				entries, _, err := db.Timeline(clickhousetest.Deadline(t), person.TimelineQuery{
					Environment: domain.Environment{Number: environment}, Visitor: p.Number, Kinds: []person.TimelineKind{person.TimelineActivity}, Limit: 10,
					Before: person.TimelineKey{TsMs: tiedAt.AddDate(1, 0, 0).UnixMilli()},
				})
				if err != nil {
					t.Fatal(err)
				}
				return said{p.DistinctID, stage, p.State.TagList(), len(entries)}
			}
			hers := said{"device-000", segment.StageSignup, []string{"vip"}, 1}
			if hour > 0 {
				hers.Stage = segment.StageVisitor
			}
			his := said{"bert-000", segment.StageSignup, []string{}, 0}
			for visitor, want := range map[uint64]said{device: hers, ada: hers, bert: his} {
				person, err := db.Person(clickhousetest.Deadline(t), environment, visitor)
				if got := whose(&person); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("a dossier is %+v (%v), want %+v", got, err, want)
				}
			}
			for _, most := range []int{0, 100} { // by folding all people, and by looking at few visitors
				db.LookAmong(1, most)
				for _, query := range []person.Query{{Tags: []string{"vip"}}, {Stage: hers.Stage}, {Stage: his.Stage}} {
					query.Environment, query.Limit = domain.Environment{Number: environment}, 10
					list, err := db.People(clickhousetest.Deadline(t), query)
					want := []said{}
					for _, one := range []said{his, hers} {
						if query.Stage == one.Stage || query.Stage == "" && len(one.Tags) > 0 {
							want = append(want, one)
						}
					}
					got := []said{}
					for i := range list.Rows {
						got = append(got, whose(&list.Rows[i]))
					}
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("a list is %+v (%v), want %+v", got, err, want)
					}
				}
			}
		})
	}
}
