package reads

import (
	"testing"
	"time"

	"svc/domain"
	"svc/domain/analytics"
	"svc/domain/filter"
	"svc/domain/goal"
	"svc/storage/clickhouse/clickhousetest"
)

// TestScopeKeyTellsScopesApart changes every part of a scope.
func TestScopeKeyTellsScopesApart(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	base := analytics.Scope{
		Environment: domain.Environment{Number: 7}, Window: domain.Window{From: at.Add(-time.Hour), To: at, Location: time.UTC},
		Filters: filter.Filters{{Dimension: filter.DimPath, Value: "/"}},
	}
	goals := []goal.Matcher{{Kind: goal.MatchEvent, Match: "signup"}}
	seen := map[string]string{scopeKey(base, goals): "the scope itself"}
	for name, change := range map[string]func(*analytics.Scope, *[]goal.Matcher){
		"environment": func(s *analytics.Scope, _ *[]goal.Matcher) { s.Environment.Number = 8 },
		"from":        func(s *analytics.Scope, _ *[]goal.Matcher) { s.Window.From = s.Window.From.Add(time.Millisecond) },
		"to":          func(s *analytics.Scope, _ *[]goal.Matcher) { s.Window.To = s.Window.To.Add(time.Millisecond) },
		"time zone": func(s *analytics.Scope, _ *[]goal.Matcher) {
			s.Window.Location = clickhousetest.Location(t, "Europe/Berlin")
		},
		"bots":      func(s *analytics.Scope, _ *[]goal.Matcher) { s.IncludeBots = true },
		"no filter": func(s *analytics.Scope, _ *[]goal.Matcher) { s.Filters = nil },
		"dimension": func(s *analytics.Scope, _ *[]goal.Matcher) {
			s.Filters = filter.Filters{{Dimension: filter.DimEntryPath, Value: "/"}}
		},
		"value": func(s *analytics.Scope, _ *[]goal.Matcher) {
			s.Filters = filter.Filters{{Dimension: filter.DimPath, Value: "/ "}}
		},
		"no goal": func(_ *analytics.Scope, g *[]goal.Matcher) { *g = nil },
		"kind": func(_ *analytics.Scope, g *[]goal.Matcher) {
			*g = []goal.Matcher{{Kind: goal.MatchPath, Match: "signup"}}
		},
		"match": func(_ *analytics.Scope, g *[]goal.Matcher) {
			*g = []goal.Matcher{{Kind: goal.MatchEvent, Match: "signup "}}
		},
	} {
		scope, changed := base, goals
		change(&scope, &changed)
		key := scopeKey(scope, changed)
		if other, taken := seen[key]; taken {
			t.Errorf("%s and %s have the key %s", name, other, key)
		}
		seen[key] = name
	}
}

// TestGoalsKeyTellsGoalsApart changes the goals of a read.
func TestGoalsKeyTellsGoalsApart(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	scope := analytics.Scope{Window: domain.Window{From: at.Add(-time.Hour), To: at, Location: time.UTC}}
	later := at.Add(time.Nanosecond)
	seen := map[string]int{}
	for i, goals := range [][]goal.Goal{
		nil, {{ID: "a"}}, {{ID: "b"}}, {{ID: "a"}, {ID: "b"}}, {{ID: "a", DeletedAt: &at}}, {{ID: "a", DeletedAt: &later}}, {{ID: `a" 0 "b`}},
	} {
		key := goalsKey(scope, goals)
		if other, taken := seen[key]; taken {
			t.Errorf("goals %d and %d have the key %s", i, other, key)
		}
		seen[key] = i
	}
	copied := at
	if one, other := goalsKey(scope, []goal.Goal{{ID: "a", DeletedAt: &at}}), goalsKey(scope, []goal.Goal{{ID: "a", DeletedAt: &copied}}); one != other {
		t.Errorf("the same goals have the keys %s and %s", one, other)
	}
}
