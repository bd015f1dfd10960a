package reads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// Breakdown returns a page of the values of a dimension, sorted by visitors in descending order. Everything is counted
// per local day and added up; the days are cut at the ends of the window. Visitors and sessions count as in Overview,
// and a bounce counts on the day on which its session began. A session enters and leaves every day on which it is
// active, with the first and the last page view of the day.
//
// A filter on the dimension itself does not count. With filters, and for custom properties, the read covers at most
// domain.FilteredDays. A row's conversions are the goals that its visitors completed in the window; without goals there
// are no conversions.
func (db *Store) Breakdown(ctx context.Context, q analytics.BreakdownQuery, goals []goal.Matcher) (analytics.Breakdown, error) {
	db.asked.Put(q.Environment.Number, struct{}{}, 0)
	q.Filters = q.Filters.Without(q.Dimension)
	key := fmt.Sprintf("breakdown %q %q %t %v %v %d %s", q.Dimension, q.Search, q.Masked, q.Fields, q.After, q.Limit, scopeKey(q.Scope, goals))
	if q.After != nil {
		key += fmt.Sprintf(" %d %d %q", q.After.Visitors, q.After.Pageviews, q.After.Value)
	}
	return share(ctx, db, q.Environment, key, func(ctx context.Context) (analytics.Breakdown, error) {
		return db.breakdown(ctx, q, goals)
	})
}

func (db *Store) breakdown(ctx context.Context, q analytics.BreakdownQuery, goals []goal.Matcher) (out analytics.Breakdown, err error) {
	_, isProperty := q.Dimension.Property()
	scans := isProperty || len(q.Filters) > 0
	if scans {
		q.Window, out.Capped = q.Window.Capped()
	}
	v, err := db.valuesOf(ctx, q)
	if err != nil {
		return analytics.Breakdown{}, err
	}
	if !scans {
		plain := q
		plain.Masked = false // the cached data is the same for all callers
		days, err := db.valuesOf(ctx, plain)
		if err != nil {
			return analytics.Breakdown{}, err
		}
		out.Rows, out.More, err = db.rankDays(ctx, q, days)
		switch {
		case err == nil:
			return out, db.rowConversions(ctx, q, days, goals, out.Rows)
		case !errors.Is(err, errElsewhere):
			return analytics.Breakdown{}, err
		}
	}
	if out.Rows, out.More, err = db.rankEvents(ctx, q, v); err != nil {
		return analytics.Breakdown{}, err
	}
	return out, db.rowConversions(ctx, q, v, goals, out.Rows)
}

// errElsewhere is returned by a method of counting that does not fit a query; the caller then tries the next method.
// For values of a dimension the methods are, in order: cached days (rankDays), which count the rest of a first day in
// steps (restOfDay) and the current day by its new blocks (rankToday); and the engine (rankEvents, for a single day
// readBuckets), which counts anything.
var errElsewhere = errors.New("another way counts this")

// values is the source of the values of a dimension: a query for rows of (bucket, value, visitor, session, viewed,
// times), and its arguments.
type values struct {
	rows string
	// expression is the SQL expression for the value of an event, the same as in rows.
	expression string
	args       clickhouse.Args
}

// fill replaces the placeholder $(rows) in a query.
func (v values) fill(query string) string { return strings.ReplaceAll(query, "$(rows)", v.rows) }

// valuesOf returns the source of the values of a query's dimension, with its filters applied.
func (db *Store) valuesOf(ctx context.Context, q analytics.BreakdownQuery) (values, error) {
	c, err := db.where(ctx, q.Scope)
	if err != nil {
		return values{}, err
	}
	rows := "breakdown.Events"
	var expression string
	args := clickhouse.Args{}
	switch q.Dimension {
	case filter.DimEntryPath:
		rows, expression = "breakdown.Entry", "toString(marked)"
	case filter.DimExitPath:
		rows, expression = "breakdown.Exit", "toString(marked)"
	default:
		if expression, args, err = db.valueOf(q.Dimension, false, q.Fields); err != nil {
			return values{}, err
		}
	}
	args["email"] = clickhouse.ShapePattern
	expression = db.shownValue(q.Dimension, expression, q.Masked)
	return values{rows: bindValue(clickhouse.Bind(db.queries[rows], c), expression), expression: expression, args: c.Args().With(args)}, nil
}

// valueOf returns the SQL expression for an event's value in a dimension of single events, and its arguments.
func (db *Store) valueOf(dimension filter.Dimension, masked bool, fields domain.PersonalFields) (expression string, args clickhouse.Args, err error) {
	args = clickhouse.Args{"email": clickhouse.ShapePattern}
	if key, isProperty := dimension.Property(); isProperty {
		args["property"], args["personal"], args["personal_key"] = key, clickhouse.PersonalPattern(fields), fields.Has(key)
		return db.shownValue(dimension, db.queries["value.Property"], masked), args, nil
	}
	column, isColumn := columnOf(dimension)
	if !isColumn {
		return "", nil, domain.Invalid(filter.UnknownDimension("dimension", string(dimension)))
	}
	return db.shownValue(dimension, "toString("+column+")", masked), args, nil
}

// shownValue returns the expression for a value, masked if the caller may not see personal values.
func (db *Store) shownValue(dimension filter.Dimension, expression string, masked bool) string {
	query := "value.Masked"
	if _, isProperty := dimension.Property(); isProperty {
		query = "value.MaskedProperty"
	}
	if !masked {
		return expression
	}
	return strings.ReplaceAll(db.queries[query], "$(plain)", expression)
}

// bindValue replaces the placeholders for the value in a query.
func bindValue(query, expression string) string {
	return strings.ReplaceAll(query, "$(value)", expression)
}

// rankEvents lets the engine count, rank and cut out a page.
func (db *Store) rankEvents(ctx context.Context, q analytics.BreakdownQuery, v values) (rows []analytics.BreakdownRow, more bool, err error) {
	rows = []analytics.BreakdownRow{}
	args := v.args.With(scopeArguments(q.Scope, q.Window)).With(clickhouse.BucketArgs(localDays(q.Window))).With(clickhouse.Args{
		"search": q.Search, "limit": q.Limit + 1,
		"first_page": q.After == nil, "after_visitors": int64(0), "after_pageviews": int64(0), "after_value": "",
	})
	if q.After != nil {
		args["after_visitors"], args["after_pageviews"], args["after_value"] = int64(q.After.Visitors), int64(q.After.Pageviews), q.After.Value
	}
	err = db.conn.Read(ctx, "breaking down events", v.fill(db.queries["breakdown.Page"]), args, func(r driver.Rows) (bool, error) {
		if len(rows) == q.Limit {
			more = true
			return false, nil
		}
		var row analytics.BreakdownRow
		var bounces uint64
		err := r.Scan(&row.Value, &row.Visitors, &row.Pageviews, &row.Sessions, &bounces)
		row.BounceRate = share01(bounces, row.Sessions)
		rows = append(rows, row)
		return true, err
	})
	return rows, more, err
}

// share01 returns part / whole as 0..1, and 0 if whole is 0.
func share01(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// rowConversions sets the conversions of the rows of a page.
func (db *Store) rowConversions(ctx context.Context, q analytics.BreakdownQuery, v values, goals []goal.Matcher, rows []analytics.BreakdownRow) error {
	if len(goals) == 0 || len(rows) == 0 {
		return nil
	}
	words, places := make([]string, len(rows)), make(map[string]int, len(rows))
	for i := range rows {
		words[i], places[rows[i].Value] = rows[i].Value, i
	}
	args := v.args.With(scopeArguments(q.Scope, q.Window)).With(clickhouse.BucketArgs(localDays(q.Window))).
		With(goalArguments(goals)).With(clickhouse.Args{"values": words})
	query := v.fill(db.queries["breakdown.Conversions"])
	return db.conn.Read(ctx, "counting conversions per value", query, args, func(r driver.Rows) (bool, error) {
		var value string
		var conversions uint64
		err := r.Scan(&value, &conversions)
		if i, shown := places[value]; shown {
			rows[i].Conversions = conversions
		}
		return true, err
	})
}

// subWindow returns the scope with another time range.
func subWindow(scope analytics.Scope, from, to time.Time) analytics.Scope {
	scope.Window.From, scope.Window.To = from, to
	return scope
}
