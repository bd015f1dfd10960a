package reads

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// Names returns a page of the catalogue of event names. With filters it covers at most domain.FilteredDays and the events
// that pass them. A name's conversions are the goals that its visitors completed in the window (contract 48); without
// goals there are no conversions. In a masked read, names that differ only in their hidden parts are one name.
func (db *Store) Names(ctx context.Context, q analytics.EventNamesQuery, goals []goal.Matcher) (analytics.EventNames, error) {
	after := analytics.EventNameKey{}
	if q.After != nil {
		after = *q.After
	}
	key := fmt.Sprintf("names %t %t %d %q %d %s", q.Masked, q.After != nil, after.Count, after.Name, q.Limit, scopeKey(q.Scope, goals))
	return share(ctx, db, q.Environment, key, func(ctx context.Context) (analytics.EventNames, error) {
		return db.names(ctx, q, goals)
	})
}

func (db *Store) names(ctx context.Context, q analytics.EventNamesQuery, goals []goal.Matcher) (analytics.EventNames, error) {
	c, err := db.where(ctx, q.Scope)
	if err != nil {
		return analytics.EventNames{}, err
	}
	out := analytics.EventNames{Rows: []analytics.EventName{}}
	query := db.queries["events.Names"]
	if len(q.Filters) > 0 {
		query = clickhouse.Bind(db.queries["events.FilteredNames"], c)
		q.Window, out.Capped = q.Window.Capped()
	}
	query = db.named(query, q.Masked)
	args := c.Args().With(scopeArguments(q.Scope, q.Window)).With(clickhouse.Args{
		"email": clickhouse.ShapePattern, "first_page": q.After == nil, "after_count": uint64(0), "after_name": "", "limit": q.Limit + 1,
	})
	if q.After != nil {
		args["after_count"], args["after_name"] = q.After.Count, q.After.Name
	}
	err = db.conn.Read(ctx, "listing event names", query, args, func(rows driver.Rows) (bool, error) {
		if len(out.Rows) == q.Limit {
			out.More = true
			return false, nil
		}
		var row analytics.EventName
		var lastSeen int64
		err := rows.Scan(&row.Name, &row.Count, &row.Users, &lastSeen)
		at := time.UnixMilli(lastSeen).UTC()
		row.LastSeenAt = &at
		out.Rows = append(out.Rows, row)
		return true, err
	})
	if err != nil {
		return analytics.EventNames{}, err
	}
	return out, db.nameConversions(ctx, q, goals, out.Rows)
}

// named replaces the placeholders for an event's name in a query, masked or not.
func (db *Store) named(query string, masked bool) string {
	name := "name"
	if masked {
		name = strings.ReplaceAll(db.queries["value.Masked"], "$(plain)", name)
	}
	return strings.ReplaceAll(query, "$(name)", name)
}

// nameConversions sets the conversions of rows.
func (db *Store) nameConversions(ctx context.Context, q analytics.EventNamesQuery, goals []goal.Matcher, names []analytics.EventName) error {
	if len(goals) == 0 || len(names) == 0 {
		return nil
	}
	c, err := db.where(ctx, q.Scope)
	if err != nil {
		return err
	}
	words, places := make([]string, len(names)), make(map[string]int, len(names))
	for i := range names {
		words[i], places[names[i].Name] = names[i].Name, i
	}
	args := c.Args().With(scopeArguments(q.Scope, q.Window)).With(goalArguments(goals)).
		With(clickhouse.Args{"names": words, "email": clickhouse.ShapePattern})
	query := db.queries["conversions.PerNameWhole"]
	if len(q.Filters) > 0 {
		query = clickhouse.Bind(db.queries["conversions.PerName"], c)
	}
	return db.conn.Read(ctx, "counting conversions per name", db.named(query, q.Masked), args, func(rows driver.Rows) (bool, error) {
		var name string
		var conversions uint64
		err := rows.Scan(&name, &conversions)
		if i, known := places[name]; known {
			names[i].Conversions = conversions
		}
		return true, err
	})
}
