package people_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/people"
)

// TestMergesThatWereDecidedHold stores merge activities without their aliases, a merge with its alias, and an activity
// that is a note. It runs TieMerged twice and compares the persons and the aliases with the activities.
func TestMergesThatWereDecidedHold(t *testing.T) {
	db := open(t)
	const elsewhere = environment + 1
	block := db.blocks.NewBlock()
	for n, name := range []string{"ada", "bert", "cleo", "dora"} {
		block.Append(tiedRow(0, n, event.PageView, name, ""))
	}
	if err := db.blocks.Insert(clickhousetest.Deadline(t), "block", 1, block); err != nil {
		t.Fatal(err)
	}
	number := func(name string) uint64 { return people.VisitorNumber(name + "-000") }
	activity := func(in uint64, of, id, kind, other string) domain.Entity {
		return domain.Entity{Owner: people.PersonOwner(in, number(of)), Kind: "activity", ID: id, Payload: fmt.Appendf(nil, `{"id":%q,"kind":%q,"merged":%q}`, id, kind, person.ID(number(other)))}
	}
	err := db.state.Put(clickhousetest.Deadline(t), []domain.Entity{
		activity(environment, "bert", "crm_1", "merge", "ada"), activity(environment, "bert", "crm_2", "merge", "cleo"),
		activity(environment, "bert", "crm_3", "note", "dora"), activity(elsewhere, "cleo", "crm_4", "merge", "dora"),
	}, nil, domain.Trail{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Merge(clickhousetest.Deadline(t), environment, number("bert"), number("cleo"), tiedAt); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.TieMerged(clickhousetest.Deadline(t)); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]int{"ada": 3, "bert": 3, "cleo": 3, "dora": 1} {
			person, err := db.Person(clickhousetest.Deadline(t), environment, number(name))
			if err != nil || len(person.Members) != want {
				t.Errorf("%s is a person of %d ids, want %d: %v", name, len(person.Members), want, err)
			}
		}
	}
	aliases := map[uint64]uint64{}
	err = db.conn.Read(clickhousetest.Deadline(t), "counting aliases", "SELECT environment, count() FROM aliases GROUP BY environment", nil, func(rows driver.Rows) (bool, error) {
		var in, count uint64
		err := rows.Scan(&in, &count)
		aliases[in] = count
		return true, err
	})
	if want := map[uint64]uint64{environment: 2, elsewhere: 1}; err != nil || !maps.Equal(aliases, want) {
		t.Errorf("the rows of aliases are %v, want %v: %v", aliases, want, err)
	}
}
