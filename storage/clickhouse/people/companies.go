package people

import (
	"context"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
)

// Companies returns a page of the companies of an environment.
func (db *Store) Companies(ctx context.Context, q svc.CompanyQuery) (svc.CompanyList, error) {
	return clickhouse.Whole(ctx, db.conn.Of(q.Environment.Number), func(ctx context.Context) (svc.CompanyList, error) { return db.companies(ctx, q) })
}

// companies is Companies without regard to inserts under way.
func (db *Store) companies(ctx context.Context, q svc.CompanyQuery) (svc.CompanyList, error) {
	list := svc.CompanyList{Rows: []svc.Company{}}
	rank := newConditions("")
	shared, err := db.divides(ctx, q.Environment.Number, rank)
	if err != nil {
		return list, err
	}
	query := companiesQuery(db.queries, rank, q.Masked, shared)
	args := rank.values(q.Environment.Number).With(clickhouse.Args{"search": q.Search, "first_page": q.After == nil, "after": "", "limit": q.Limit + 1})
	if q.After != nil {
		args["after"] = *q.After
	}
	err = db.conn.Read(ctx, "listing companies", query, args, func(rows driver.Rows) (bool, error) {
		if len(list.Rows) == q.Limit {
			list.More = true
			return false, nil
		}
		var company svc.Company
		var first, last int64
		err := rows.Scan(&company.Name, &company.People, &company.Events, &first, &last)
		company.FirstSeenAt, company.LastSeenAt = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
		list.Rows = append(list.Rows, company)
		return true, err
	})
	return list, err
}

// companiesQuery returns the query of companies, which hides e-mail addresses in their names where it is masked.
func companiesQuery(parts clickhouse.Queries, rank *rankQuery, masked, shared bool) string {
	company, group := rank.fold(rank.told("company")), (&conditions{rankQuery: rank}).trait("$group")
	name := "if(" + company + " != '', " + company + ", " + group + ")"
	if masked {
		name = "replaceRegexpAll(" + name + ", " + rank.bind(clickhouse.EmailPattern) + ", '***')"
	}
	last := rank.fold("max(" + rank.lastSeen() + ")")
	query := strings.NewReplacer("$(name)", name, "$(last)", last).Replace(parts["companies.List"])
	return rank.text(query, parts, shared)
}
