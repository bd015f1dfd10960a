package people_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc/domain/event"
	"svc/domain/person"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// TestAnErasureTakesTiesAlong erases a person with aliases to ids that had not sent anything. When these ids send
// events, each is a person of its own, and ties that are made from then on hold.
func TestAnErasureTakesTiesAlong(t *testing.T) {
	db, at := open(t), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	number := uint64(0)
	store := func(name, distinct, other string) {
		t.Helper()
		number++
		row := clickhousetest.Row(environment, at.Add(time.Duration(number)*time.Hour), fmt.Sprint("e", number), "", "")
		row.Name, row.DistinctID, row.AnonymousID, row.SessionID = name, distinct, other, fmt.Sprint("s", number)
		block := db.blocks.NewBlock()
		block.Append(row)
		if err := db.blocks.Insert(clickhousetest.Deadline(t), fmt.Sprint("block-", number), number, block); err != nil {
			t.Fatal(err)
		}
		if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
			t.Fatal(err)
		}
	}
	for _, previous := range []string{"left", "right", "third"} {
		store(event.AliasEvent, "erased", previous)
	}
	erasure := person.Erasure{ID: "era_1", EnvironmentNumber: environment, Visitors: []uint64{people.VisitorNumber("erased")}, Life: 1, At: at}
	db.Hide([]person.Erasure{erasure})
	for _, turn := range []string{"1", "2"} {
		if err := db.Remove(clickhousetest.Deadline(t), erasure, turn); err != nil {
			t.Fatal(err)
		}
	}
	db.Hide(nil)
	for _, id := range []string{"left", "right", "third", "friend"} {
		store(event.PageView, id, "")
	}
	store(event.AliasEvent, "left", "friend")
	var got [][]string
	for _, one := range stored(t, db) {
		got = append(got, one.DistinctIDs)
	}
	if want := [][]string{{"friend", "left"}, {"right"}, {"third"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("the people are %v, want %v", got, want)
	}
}
