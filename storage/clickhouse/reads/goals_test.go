package reads

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/event"
	"svc/domain/goal"
	"svc/storage/clickhouse/clickhousetest"
)

// goalCounts counts goals by their definition.
func (m model) goalCounts(scope analytics.Scope, goals []goal.Goal) goal.Counts {
	var out goal.Counts
	if len(scope.Filters) > 0 {
		scope.Window, out.Capped = scope.Window.Capped()
	}
	var counts []goal.Count
	for _, g := range goals {
		var met []*event.Row
		for _, r := range m.matching(scope) {
			if g.Matches(r.Event.Name, r.Event.Path) && (g.DeletedAt == nil || r.Event.Ts.Before(*g.DeletedAt)) {
				met = append(met, r)
			}
		}
		counts = append(counts, goal.Count{Goal: g, Conversions: uint64(len(met)), Visitors: size(bucketed(met, scope.Window, domain.Day, visitorOf))})
	}
	out.Rows = goal.RankGoals(counts)
	return out
}

func TestGoalCounts(t *testing.T) {
	db, rows := open(t), clickhousetest.Rows()
	store(t, db, rows, 2000)
	m := model{rows}
	deleted := rows[len(rows)/3].Event.Ts
	justAfter := deleted.Add(1) // a fraction of a millisecond
	var goals []goal.Goal
	add := func(kind goal.MatchKind, match string, deletedAt *time.Time) {
		goals = append(goals, goal.Goal{ID: fmt.Sprint("goal_", len(goals)), Matcher: goal.Matcher{Kind: kind, Match: match}, DeletedAt: deletedAt})
	}
	add(goal.MatchEvent, "signup", nil)
	add(goal.MatchEvent, "nothing", nil)
	add(goal.MatchEvent, "page_view", nil)
	add(goal.MatchPath, "/p/3", nil)
	add(goal.MatchPath, "/p/*", nil)
	add(goal.MatchEvent, "signup", &deleted)
	add(goal.MatchEvent, rows[len(rows)/3].Event.Name, &justAfter)
	add(goal.MatchPath, "/p/1", &deleted)
	converted := 0
	for i, scope := range scopes(t, rows) {
		scope.Filters = filters()[i%len(filters())]
		some := goals
		switch i % 3 {
		case 1:
			some = goals[:3]
		case 2:
			some = goals[:1+i%len(goals)]
		}
		got, err := db.GoalCounts(deadline(t), scope, some)
		if err != nil {
			t.Fatal(err)
		}
		if want := m.goalCounts(scope, some); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v filters %q:\n got %+v\nwant %+v", scope.Window, scope.Filters, got, want)
		}
		for _, row := range got.Rows {
			converted += int(row.Conversions)
		}
	}
	if got, err := db.GoalCounts(deadline(t), scopes(t, rows)[0], nil); err != nil || len(got.Rows) != 0 || converted == 0 {
		t.Errorf("without goals: %+v %v; with them %d conversions", got, err, converted)
	}
}
