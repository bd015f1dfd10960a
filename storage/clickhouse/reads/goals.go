package reads

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/analytics"
	"svc/domain/goal"
	"svc/storage/clickhouse"
)

// GoalCounts returns how often and by how many visitors each goal was reached in a window, in the order of
// goal.RankGoals. With filters it covers at most domain.FilteredDays and the events that pass them. A deleted goal counts
// until its deletion.
func (db *Store) GoalCounts(ctx context.Context, scope analytics.Scope, goals []goal.Goal) (goal.Counts, error) {
	return share(ctx, db, scope.Environment, goalsKey(scope, goals), func(ctx context.Context) (goal.Counts, error) {
		return db.goalCounts(ctx, scope, goals)
	})
}

// goalsKey returns a key for a read of goals.
func goalsKey(scope analytics.Scope, goals []goal.Goal) string {
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

func (db *Store) goalCounts(ctx context.Context, scope analytics.Scope, goals []goal.Goal) (goal.Counts, error) {
	var out goal.Counts
	if len(scope.Filters) > 0 {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	rows := make([]goal.Count, len(goals))
	var byName, raw []int
	for i, g := range goals {
		rows[i].Goal = g
		switch {
		case g.DeletedAt != nil && !g.DeletedAt.After(scope.Window.From):
		case len(scope.Filters) == 0 && g.DeletedAt == nil && g.Kind == goal.MatchEvent:
			byName = append(byName, i)
		default:
			raw = append(raw, i)
		}
	}
	if err := db.goalsByName(ctx, scope, rows, byName); err != nil {
		return goal.Counts{}, err
	}
	if err := db.countGoals(ctx, scope, rows, raw); err != nil {
		return goal.Counts{}, err
	}
	out.Rows = goal.RankGoals(rows)
	return out, nil
}

// goalsByName sets the counts of the goals at places. These goals are events with distinct names.
func (db *Store) goalsByName(ctx context.Context, scope analytics.Scope, counts []goal.Count, places []int) error {
	if len(places) == 0 {
		return nil
	}
	byName, matchers := make(map[string]int, len(places)), make([]goal.Matcher, len(places))
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
func (db *Store) countGoals(ctx context.Context, scope analytics.Scope, counts []goal.Count, places []int) error {
	if len(places) == 0 {
		return nil
	}
	c, err := db.where(ctx, scope)
	if err != nil {
		return err
	}
	kinds, matches, until := []uint8{}, []string{}, []int64{}
	matchers := make([]goal.Matcher, len(places))
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

func goalKind(m goal.Matcher) uint8 {
	_, open := m.Prefix()
	switch {
	case m.Kind == goal.MatchEvent:
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
