package reads

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// Retention returns the cohorts of a window and how many of their members came back. A cohort has the persons with
// their first-ever event in the environment, as any of their visitors, in the window and in the same period. Events
// before the window are read only to find that first event. With filters the read covers at most domain.FilteredDays.
// Members are then persons with a passing event in their first period, and later periods count passing events.
func (db *Store) Retention(ctx context.Context, q analytics.RetentionQuery) (analytics.Retention, error) {
	key := "retention " + string(q.CohortBy) + " " + scopeKey(q.Scope, []goal.Matcher{{Kind: goal.MatchEvent, Match: q.Event}})
	return share(ctx, db, q.Environment, key, func(ctx context.Context) (analytics.Retention, error) {
		return db.retention(ctx, q)
	})
}

func (db *Store) retention(ctx context.Context, q analytics.RetentionQuery) (analytics.Retention, error) {
	out := analytics.Retention{CohortBy: q.CohortBy, Cohorts: []analytics.Cohort{}}
	source := "activity.Visits"
	switch {
	case len(q.Filters) > 0:
		source = "activity.Events"
		q.Window, out.Capped = q.Window.Capped()
	case q.Event != "":
		source = "activity.Names"
	}
	periods := q.Window.Buckets(q.CohortBy)
	for i, begin := range periods {
		out.Cohorts = append(out.Cohorts, analytics.Cohort{From: begin, Periods: make([]uint64, len(periods)-i)})
	}
	if len(periods) == 0 {
		return out, nil
	}
	c, err := db.where(ctx, q.Scope)
	if err != nil {
		return analytics.Retention{}, err
	}
	args := c.Args().With(scopeArguments(q.Scope, q.Window)).With(clickhouse.BucketArgs(periods)).With(clickhouse.Args{"event": q.Event})
	query, whoIs, err := db.byPerson(ctx, q.Environment.Number, "retention.Count", "retention.Persons")
	if err != nil {
		return analytics.Retention{}, err
	}
	err = db.conn.Read(ctx, "counting cohorts", db.activity(query, source, c), args.With(whoIs), func(rows driver.Rows) (bool, error) {
		var cohort uint8
		var period, persons uint64
		if err := rows.Scan(&cohort, &period, &persons); err != nil {
			return false, err
		}
		// A period before the cohort's means that a late event is not visible yet.
		if from := int(cohort); int(period) >= from {
			out.Cohorts[from].Periods[int(period)-from] = persons
		}
		return true, nil
	})
	if err != nil {
		return analytics.Retention{}, err
	}
	for i := range out.Cohorts {
		out.Cohorts[i].Size = out.Cohorts[i].Periods[0]
	}
	return out, nil
}

// activity returns a query over rows of (at, visitor, counted, counts).
func (db *Store) activity(query, source string, c clickhouse.Clause) string {
	return clickhouse.Bind(strings.ReplaceAll(query, "$(rows)", db.queries[source]), c)
}
