package people_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"svc/domain"
	"svc/domain/event"
	"svc/domain/person"
	"svc/storage/clickhouse/clickhousetest"
)

// TestCompaniesGroupPersons stores random histories of people that set companies on shared devices and under several
// ids. It compares the companies with the result of plain code over the rows.
func TestCompaniesGroupPersons(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			db, rows := open(t), history(random, 60+random.IntN(100))
			block := db.blocks.NewBlock()
			for i := range rows {
				if row := &rows[i]; row.Name == event.IdentifyEvent {
					row.Properties = companyTraits(random)
				}
				block.Append(&rows[i])
			}
			if err := db.blocks.Insert(clickhousetest.Deadline(t), "block-1", 1, block); err != nil {
				t.Fatal(err)
			}
			if err := db.Unite(clickhousetest.Deadline(t), environment); err != nil {
				t.Fatal(err)
			}
			for _, query := range []person.CompanyQuery{{}, {Search: "CO1"}, {Search: "@acme"}, {Masked: true}, {Masked: true, Search: "@acme"}} {
				want, got := companiesOf(rows, query), listed(t, db, query)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%+v\ngot  %+v\nwant %+v", query, got, want)
				}
			}
		})
	}
}

// companyTraits returns random traits that name a company in one of the supported ways, or not at all.
func companyTraits(random *rand.Rand) []byte {
	name := fmt.Sprint("Co", random.IntN(4))
	switch random.IntN(6) {
	case 0:
		return fmt.Appendf(nil, `{"company":{"name":%q}}`, name)
	case 1:
		return fmt.Appendf(nil, `{"$group":%q}`, name)
	case 2:
		return fmt.Appendf(nil, `{"$group":"g1","company":%q}`, name)
	case 3:
		return []byte(`{"company":"vic@acme.example"}`)
	case 4:
		return []byte(`{"plan":"pro"}`)
	}
	return fmt.Appendf(nil, `{"company":%q}`, name)
}

// companiesOf computes the companies from the persons of the rows.
func companiesOf(rows []event.Row, query person.CompanyQuery) []person.Company {
	persons, _ := grouped(rows)
	found := map[string]person.Company{}
	for _, events := range persons {
		name := companyOf(events)
		if query.Masked {
			name = strings.ReplaceAll(name, "vic@acme.example", "***")
		}
		if name == "" || !strings.Contains(strings.ToLower(name), strings.ToLower(query.Search)) {
			continue
		}
		one, known := found[name]
		if first := events[0].Ts; !known || first.Before(one.FirstSeenAt) {
			one.FirstSeenAt = first
		}
		if last := events[len(events)-1].Ts; last.After(one.LastSeenAt) {
			one.LastSeenAt = last
		}
		one.Name, one.People, one.Events = name, one.People+1, one.Events+uint64(len(events))
		found[name] = one
	}
	out := make([]person.Company, 0, len(found))
	for _, one := range found {
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b person.Company) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// companyOf returns the company that a person set last, else the last group.
func companyOf(events []*event.Row) string {
	company, group := "", ""
	for _, row := range events {
		var traits struct {
			Company json.RawMessage `json:"company"`
			Group   string          `json:"$group"`
		}
		if row.Name != event.IdentifyEvent || json.Unmarshal(row.Properties, &traits) != nil {
			continue
		}
		var named struct{ Name string }
		if json.Unmarshal(traits.Company, &named) == nil {
			company = named.Name
		} else if len(traits.Company) > 0 {
			company = strings.Trim(string(traits.Company), `"`)
		}
		group = cmp.Or(traits.Group, group)
	}
	return cmp.Or(company, group)
}

// listed reads all companies page by page.
func listed(t *testing.T, db *testDB, query person.CompanyQuery) []person.Company {
	t.Helper()
	query.Environment, query.Limit = domain.Environment{Number: environment}, 2
	out := []person.Company{}
	for {
		page, err := db.Companies(clickhousetest.Deadline(t), query)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page.Rows...)
		if !page.More {
			return out
		}
		query.After = &page.Rows[len(page.Rows)-1].Name
	}
}
