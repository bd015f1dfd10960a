package reads

import (
	"testing"
	"time"

	"svc"
	"svc/storage/clickhouse/clickhousetest"
)

// TestScopeKeyTellsScopesApart changes every part of a scope.
func TestScopeKeyTellsScopesApart(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	base := svc.AnalyticsScope{
		Environment: svc.Environment{Number: 7}, Window: svc.Window{From: at.Add(-time.Hour), To: at, Location: time.UTC},
		Filters: svc.Filters{{Dimension: svc.DimPath, Value: "/"}},
	}
	goals := []svc.Matcher{{Kind: svc.MatchEvent, Match: "signup"}}
	seen := map[string]string{scopeKey(base, goals): "the scope itself"}
	for name, change := range map[string]func(*svc.AnalyticsScope, *[]svc.Matcher){
		"environment": func(s *svc.AnalyticsScope, _ *[]svc.Matcher) { s.Environment.Number = 8 },
		"from":        func(s *svc.AnalyticsScope, _ *[]svc.Matcher) { s.Window.From = s.Window.From.Add(time.Millisecond) },
		"to":          func(s *svc.AnalyticsScope, _ *[]svc.Matcher) { s.Window.To = s.Window.To.Add(time.Millisecond) },
		"time zone": func(s *svc.AnalyticsScope, _ *[]svc.Matcher) {
			s.Window.Location = clickhousetest.Location(t, "Europe/Berlin")
		},
		"bots":      func(s *svc.AnalyticsScope, _ *[]svc.Matcher) { s.IncludeBots = true },
		"no filter": func(s *svc.AnalyticsScope, _ *[]svc.Matcher) { s.Filters = nil },
		"dimension": func(s *svc.AnalyticsScope, _ *[]svc.Matcher) {
			s.Filters = svc.Filters{{Dimension: svc.DimEntryPath, Value: "/"}}
		},
		"value": func(s *svc.AnalyticsScope, _ *[]svc.Matcher) {
			s.Filters = svc.Filters{{Dimension: svc.DimPath, Value: "/ "}}
		},
		"no goal": func(_ *svc.AnalyticsScope, g *[]svc.Matcher) { *g = nil },
		"kind": func(_ *svc.AnalyticsScope, g *[]svc.Matcher) {
			*g = []svc.Matcher{{Kind: svc.MatchPath, Match: "signup"}}
		},
		"match": func(_ *svc.AnalyticsScope, g *[]svc.Matcher) {
			*g = []svc.Matcher{{Kind: svc.MatchEvent, Match: "signup "}}
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
	scope := svc.AnalyticsScope{Window: svc.Window{From: at.Add(-time.Hour), To: at, Location: time.UTC}}
	later := at.Add(time.Nanosecond)
	seen := map[string]int{}
	for i, goals := range [][]svc.Goal{
		nil, {{ID: "a"}}, {{ID: "b"}}, {{ID: "a"}, {ID: "b"}}, {{ID: "a", DeletedAt: &at}}, {{ID: "a", DeletedAt: &later}}, {{ID: `a" 0 "b`}},
	} {
		key := goalsKey(scope, goals)
		if other, taken := seen[key]; taken {
			t.Errorf("goals %d and %d have the key %s", i, other, key)
		}
		seen[key] = i
	}
	copied := at
	if one, other := goalsKey(scope, []svc.Goal{{ID: "a", DeletedAt: &at}}), goalsKey(scope, []svc.Goal{{ID: "a", DeletedAt: &copied}}); one != other {
		t.Errorf("the same goals have the keys %s and %s", one, other)
	}
}
