package people

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/person"
	"svc/storage/clickhouse"
)

// Companies returns a page of the companies of an environment.
func (db *Store) Companies(ctx context.Context, q person.CompanyQuery) (person.CompanyList, error) {
	return clickhouse.Whole(ctx, db.conn.Of(q.Environment.Number), func(ctx context.Context) (person.CompanyList, error) {
		defer db.noteSlow(q.Environment.Number, time.Now())
		list, held, err := db.keptCompanies(ctx, q)
		if err != nil {
			db.keeper.fail(ctx, q.Environment.Number, err)
		}
		if held && err == nil {
			return list, nil
		}
		rank := newConditions("")
		shared, err := db.divides(ctx, q.Environment.Number, rank)
		if err != nil {
			return person.CompanyList{}, err
		}
		rows, err := db.companies(ctx, q, rank, shared, q.Limit+1)
		return companyPage(rows, q.Limit), err
	})
}

// companyPage returns a page of companies. rows are in the order of the list and may contain one company of the next
// page.
func companyPage(rows []person.Company, limit int) person.CompanyList {
	return person.CompanyList{Rows: rows[:min(len(rows), limit)], More: len(rows) > limit}
}

// companies returns the companies of the persons of a query, by name and at most limit of them.
func (db *Store) companies(ctx context.Context, q person.CompanyQuery, rank *rankQuery, shared bool, limit int) ([]person.Company, error) {
	found := []person.Company{}
	query := companiesQuery(db.queries, rank, q.Masked, shared)
	args := rank.values(q.Environment.Number).With(clickhouse.Args{"search": q.Search, "first_page": q.After == nil, "after": "", "limit": limit})
	if q.After != nil {
		args["after"] = *q.After
	}
	err := db.conn.Read(ctx, "listing companies", query, args, func(rows driver.Rows) (bool, error) {
		var company person.Company
		var first, last int64
		err := rows.Scan(&company.Name, &company.People, &company.Events, &first, &last)
		company.FirstSeenAt, company.LastSeenAt = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		found = append(found, company)
		return true, err
	})
	return found, err
}

// keptCompanies is Companies from materialized profiles; it folds the people that changed since. held is false if there
// are no profiles or they were dropped during the read.
func (db *Store) keptCompanies(ctx context.Context, q person.CompanyQuery) (list person.CompanyList, held bool, err error) {
	rank := newConditions("")
	rank.whole = true
	folds, err := db.keptOf(ctx, q.Environment.Number, rank)
	if folds == nil || err != nil {
		return list, false, err
	}
	rows, err := db.companies(ctx, q, rank, folds.readBy(rank), q.Limit+1)
	if err != nil {
		return list, false, err
	}
	if len(folds.changed) > 0 {
		rank := newConditions("")
		changed, err := db.companies(ctx, q, rank, folds.only(rank), len(folds.changed))
		if err != nil {
			return list, false, err
		}
		rows = sumCompanies(append(rows, changed...))
	}
	held, err = db.held(ctx, folds)
	return companyPage(rows, q.Limit), held, err
}

// sumCompanies adds up companies of the same name, and returns them in the order of the list.
func sumCompanies(rows []person.Company) []person.Company {
	slices.SortFunc(rows, func(a, b person.Company) int { return strings.Compare(a.Name, b.Name) })
	sums := rows[:0]
	for _, row := range rows {
		last := len(sums) - 1
		if last < 0 || sums[last].Name != row.Name {
			sums = append(sums, row)
			continue
		}
		sum := &sums[last]
		sum.People, sum.Events = sum.People+row.People, sum.Events+row.Events
		if row.FirstSeenAt.Before(sum.FirstSeenAt) {
			sum.FirstSeenAt = row.FirstSeenAt
		}
		if row.LastSeenAt.After(sum.LastSeenAt) {
			sum.LastSeenAt = row.LastSeenAt
		}
	}
	return sums
}

// companiesQuery returns the query of companies. If masked is set, it hides e-mail addresses in their names.
func companiesQuery(parts clickhouse.Queries, rank *rankQuery, masked, shared bool) string {
	company, group := rank.fold(rank.told("company")), (&conditions{rankQuery: rank}).trait(groupTrait)
	name := "if(" + company + " != '', " + company + ", " + group + ")"
	if masked {
		name = "replaceRegexpAll(" + name + ", " + rank.bind(clickhouse.ShapePattern) + ", '***')"
	}
	last := rank.fold(rank.over("max", rank.lastSeen()))
	query := strings.NewReplacer("$(name)", name, "$(last)", last).Replace(parts["companies.List"])
	return rank.text(query, parts, shared)
}
