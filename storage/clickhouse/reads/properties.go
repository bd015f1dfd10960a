package reads

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/event"
	"svc/storage/clickhouse"
)

// Properties returns a page of the keys of event properties, counted over the newest analytics.PropertyEvents of the window.
// It covers at most domain.FilteredDays.
func (db *Store) Properties(ctx context.Context, q analytics.EventPropertiesQuery) (analytics.EventProperties, error) {
	after := analytics.EventPropertyKey{}
	if q.After != nil {
		after = *q.After
	}
	key := fmt.Sprintf("properties %s %q %q %t %v %t %d %q %d", scopeKey(q.Scope, nil), q.Name, q.Search, q.Masked, q.Fields, q.After != nil, after.Count, after.Key, q.Limit)
	return share(ctx, db, q.Environment, key, func(ctx context.Context) (analytics.EventProperties, error) {
		return db.properties(ctx, q, after)
	})
}

func (db *Store) properties(ctx context.Context, q analytics.EventPropertiesQuery, after analytics.EventPropertyKey) (analytics.EventProperties, error) {
	out := analytics.EventProperties{Rows: []analytics.EventProperty{}}
	c, err := db.where(ctx, q.Scope)
	if err != nil {
		return out, err
	}
	q.Window, out.Capped = q.Window.Capped()
	besides := ""
	if q.Masked {
		besides = event.IdentifyEvent
	}
	args := c.Args().With(scopeArguments(q.Scope, q.Window)).With(clickhouse.Args{"event": q.Name, "besides": besides, "events": uint64(analytics.PropertyEvents + 1)})
	err = db.conn.ReadFirst(ctx, "counting events with properties", clickhouse.Bind(db.queries["properties.Events"], c), args, func(rows driver.Rows) (bool, error) {
		return false, rows.Scan(&out.Events)
	})
	if err != nil {
		return out, err
	}
	if out.Events > analytics.PropertyEvents {
		out.Events, out.Capped = analytics.PropertyEvents, true
	}
	args = args.With(clickhouse.Args{
		"events": out.Events, "search": q.Search, "email": clickhouse.ShapePattern, "personal": "^" + clickhouse.PersonalPattern(q.Fields) + "$",
		"first_page": q.After == nil, "after_count": after.Count, "after_key": after.Key, "limit": q.Limit + 1,
	})
	err = db.conn.Read(ctx, "listing properties", clickhouse.Bind(db.shown(db.queries["properties.List"], q.Masked), c), args, func(rows driver.Rows) (bool, error) {
		if len(out.Rows) == q.Limit {
			out.More = true
			return false, nil
		}
		row, err := scanProperty(rows)
		out.Rows = append(out.Rows, row)
		return true, err
	})
	return out, err
}

// shown replaces the placeholders for keys and values in a query, masked or not.
func (db *Store) shown(query string, masked bool) string {
	key, value := "pair.1", "plain"
	if masked {
		key, value = strings.ReplaceAll(db.queries["value.Masked"], "$(plain)", key), db.queries["value.MaskedMember"]
	}
	return strings.NewReplacer("$(key)", key, "$(value)", value).Replace(query)
}

func scanProperty(rows driver.Rows) (analytics.EventProperty, error) {
	var row analytics.EventProperty
	var types []string
	var frequent []struct {
		Item  string `ch:"item"`
		Count uint64 `ch:"count"`
		Error uint64 `ch:"error"`
	}
	if err := rows.Scan(&row.Key, &row.Count, &types, &row.DistinctValues, &frequent); err != nil {
		return row, err
	}
	for _, word := range types {
		row.Types = append(row.Types, analytics.PropertyType(word))
	}
	row.Values = []analytics.EventPropertyValue{}
	for _, value := range frequent {
		row.Values = append(row.Values, analytics.EventPropertyValue{Value: value.Item, Count: value.Count})
	}
	return row, nil
}
