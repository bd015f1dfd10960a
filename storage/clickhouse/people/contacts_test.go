package people_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc/domain/destination"
	"svc/domain/event"
	"svc/domain/person"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// TestContactsAreThoseOfThePersonAtTheTime stores random histories of shared devices, aliases and merges, and reads the
// contact of the person of each event. The result must match the model, which finds the person without the tables.
func TestContactsAreThoseOfThePersonAtTheTime(t *testing.T) {
	for seed := range seeds(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			db, rows := open(t), history(random, 100)
			block, visitors := db.blocks.NewBlock(), []uint64{}
			for i := range rows {
				block.Append(&rows[i])
				visitors = append(visitors, people.VisitorNumber(rows[i].Visitor()))
			}
			if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, block); err != nil {
				t.Fatal(err)
			}
			if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
				t.Fatal(err)
			}
			merges := [][2]string{{"a1", fmt.Sprint("u", random.IntN(8))}, {"a2", "a3"}}
			for _, merge := range merges {
				if err := db.Merge(clickhousetest.Deadline(t), environment, people.VisitorNumber(merge[0]), people.VisitorNumber(merge[1]), rows[0].Ts); err != nil {
					t.Fatal(err)
				}
			}
			contacts, err := db.Contacts(clickhousetest.Deadline(t), environment, visitors)
			if err != nil {
				t.Fatal(err)
			}
			persons, known := grouped(rows, merges...)
			reached := 0
			for _, events := range persons {
				want := contactOf(count(events, known))
				for _, row := range events {
					got := contacts[people.VisitorNumber(row.Visitor())].At(row.Ts)
					if !reflect.DeepEqual(got, want) {
						t.Errorf("the event %s of %s is of %+v, want %+v", row.ID, row.Visitor(), got, want)
					}
					if got != nil {
						reached++
					}
				}
			}
			if reached == 0 {
				t.Error("nobody is reached")
			}
		})
	}
}

// contactOf returns the contact of a person of the model. The phone number comes from the event that set the address.
func contactOf(c counted) *destination.Contact {
	if c.Email == "" {
		return nil
	}
	number, _, _ := strings.Cut(c.Email, "@")
	return &destination.Contact{ID: person.ID(people.VisitorNumber(c.DistinctID)), Email: c.Email, Phone: "+49" + number}
}

// TestWhoeverIsAloneIsReached reads the contacts of people without ties: by the common names of phone number traits,
// and among as many other visitors as one query of destinations contains.
func TestWhoeverIsAloneIsReached(t *testing.T) {
	db, want := open(t), map[uint64]destination.Contacts{}
	rows := db.blocks.NewBlock()
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var asked []uint64
	for n := range 2048 {
		asked = append(asked, people.VisitorNumber(fmt.Sprint("nobody ", n)))
	}
	for id, c := range map[string]struct {
		traits  string
		contact destination.Contact
	}{
		"ada":  {`{"email":"ada@example.com","name":"Ada","phone":"+49 1"}`, destination.Contact{Name: "Ada", Email: "ada@example.com", Phone: "+49 1"}},
		"bert": {`{"phone":null,"phone_number":"+49 2","phoneNumber":"+49 3"}`, destination.Contact{Phone: "+49 3"}},
		"cora": {`{"firstName":"Cora","lastName":"Eno","phone":49,"phone_number":"+49 4"}`, destination.Contact{Name: "Cora Eno", Phone: "+49 4"}},
		"dora": {`{"$set_once":{"phone":"+49 5"}}`, destination.Contact{Phone: "+49 5"}},
	} {
		row := clickhousetest.Row(environment, at, "e-"+id, "", "")
		row.Name, row.DistinctID, row.AnonymousID, row.Properties = event.IdentifyEvent, id, "", json.RawMessage(c.traits)
		rows.Append(row)
		number, contact := people.VisitorNumber(id), c.contact
		contact.ID = person.ID(number)
		want[number] = destination.Contacts{{Contact: &contact}}
		asked = append(asked, number)
	}
	if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, rows); err != nil {
		t.Fatal(err)
	}
	got, err := db.Contacts(clickhousetest.Deadline(t), environment, asked)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the contacts are %+v (%v), want %+v", got, err, want)
	}
}
