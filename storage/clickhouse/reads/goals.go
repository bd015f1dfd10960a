package reads

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc"
	"svc/storage/clickhouse"
)

// GoalCounts returns how often and by how many visitors each goal was reached in a window, in the order of
// svc.RankGoals. With filters it covers at most svc.FilteredDays and the events that pass them. A deleted goal counts
// until its deletion.
func (db *Store) GoalCounts(ctx context.Context, scope svc.AnalyticsScope, goals []svc.Goal) (svc.GoalCounts, error) {
	return share(ctx, db, scope.Environment, goalsKey(scope, goals), func(ctx context.Context) (svc.GoalCounts, error) {
		return db.goalCounts(ctx, scope, goals)
	})
}

// goalsKey returns a key for a read of goals.
func goalsKey(scope svc.AnalyticsScope, goals []svc.Goal) string {
	key := []byte("goals " + scopeKey(scope, nil))
	for i := range goals {
		deleted := int64(0)
		if goals[i].DeletedAt != nil {
			deleted = goals[i].DeletedAt.UnixNano()
		}
		key = fmt.Appendf(key, " %q %d", goals[i].ID, deleted)
	}
	return string(key)
}

func (db *Store) goalCounts(ctx context.Context, scope svc.AnalyticsScope, goals []svc.Goal) (svc.GoalCounts, error) {
	var out svc.GoalCounts
	if len(scope.Filters) > 0 {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	rows := make([]svc.GoalCount, len(goals))
	var byName, raw []int
	for i, goal := range goals {
		rows[i].Goal = goal
		switch {
		case goal.DeletedAt != nil && !goal.DeletedAt.After(scope.Window.From):
		case len(scope.Filters) == 0 && goal.DeletedAt == nil && goal.Kind == svc.MatchEvent:
			byName = append(byName, i)
		default:
			raw = append(raw, i)
		}
	}
	if err := db.goalsByName(ctx, scope, rows, byName); err != nil {
		return svc.GoalCounts{}, err
	}
	if err := db.countGoals(ctx, scope, rows, raw); err != nil {
		return svc.GoalCounts{}, err
	}
	out.Rows = svc.RankGoals(rows)
	return out, nil
}

// goalsByName sets the counts of the goals at places. These goals are events with distinct names.
func (db *Store) goalsByName(ctx context.Context, scope svc.AnalyticsScope, counts []svc.GoalCount, places []int) error {
	if len(places) == 0 {
		return nil
	}
	byName, matchers := make(map[string]int, len(places)), make([]svc.Matcher, len(places))
	for i, place := range places {
		matchers[i], byName[counts[place].Goal.Match] = counts[place].Goal.Matcher, place
	}
	args := scopeArguments(scope, scope.Window).With(clickhouse.BucketArgs(localDays(scope.Window))).With(goalArguments(matchers))
	return db.conn.Read(ctx, "counting goals by name", db.queries["goals.ByName"], args, func(rows driver.Rows) (bool, error) {
		var name string
		var conversions, visitors uint64
		err := rows.Scan(&name, &conversions, &visitors)
		if place, known := byName[name]; known {
			counts[place].Conversions, counts[place].Visitors = conversions, visitors
		}
		return true, err
	})
}

// Kinds of goals.Count.
const (
	goalIsEvent uint8 = iota
	goalIsPath
	goalIsPrefix
)

// countGoals sets the counts of the goals at places from the raw events.
func (db *Store) countGoals(ctx context.Context, scope svc.AnalyticsScope, counts []svc.GoalCount, places []int) error {
	if len(places) == 0 {
		return nil
	}
	c, err := db.where(ctx, scope)
	if err != nil {
		return err
	}
	kinds, matches, until := []uint8{}, []string{}, []int64{}
	matchers := make([]svc.Matcher, len(places))
	for i, place := range places {
		goal := &counts[place].Goal
		kind, match, end := goalKind(goal.Matcher), goal.Match, scope.Window.To
		if kind == goalIsPrefix {
			match, _ = goal.Prefix()
		}
		if goal.DeletedAt != nil {
			end = *goal.DeletedAt
		}
		kinds, matches, until = append(kinds, kind), append(matches, match), append(until, ceilMillis(end))
		matchers[i] = goal.Matcher
	}
	args := c.Args().With(scopeArguments(scope, scope.Window)).With(clickhouse.BucketArgs(localDays(scope.Window))).With(goalArguments(matchers))
	args = args.With(clickhouse.Args{"goal_kind": numbersOf(kinds), "goal_match": matches, "goal_until": until})
	return db.conn.Read(ctx, "counting goals", clickhouse.Bind(db.queries["goals.Count"], c), args, func(rows driver.Rows) (bool, error) {
		var goal uint32
		var conversions, visitors uint64
		if err := rows.Scan(&goal, &conversions, &visitors); err != nil {
			return false, err
		}
		row := &counts[places[goal-1]]
		row.Conversions, row.Visitors = conversions, visitors
		return true, nil
	})
}

func goalKind(m svc.Matcher) uint8 {
	_, open := m.Prefix()
	switch {
	case m.Kind == svc.MatchEvent:
		return goalIsEvent
	case open:
		return goalIsPrefix
	}
	return goalIsPath
}

// numbersOf converts bytes to numbers, because the client sends a slice of bytes as text.
func numbersOf(values []uint8) []uint16 {
	out := make([]uint16, len(values))
	for i, value := range values {
		out[i] = uint16(value)
	}
	return out
}

// ceilMillis returns the first millisecond since 1970 that is not before a time.
func ceilMillis(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }
