package analytics

import (
	"slices"
	"strings"
	"testing"

	"svc/domain/filter"
)

func TestParseBreakdownDimension(t *testing.T) {
	for word, code := range map[string]string{
		"path": "", "event": "", "property.plan": "", "property.a.b": "", "property." + strings.Repeat("k", filter.MaxPropertyKey): "",
		"": "missing_value", "shoe": "unknown_dimension", "Path": "unknown_dimension", "property": "unknown_dimension",
		"property.": "invalid_value", "property." + strings.Repeat("k", filter.MaxPropertyKey+1): "invalid_value",
	} {
		got, problem := filter.ParseBreakdownDimension(word)
		switch {
		case code == "" && (problem != nil || string(got) != word):
			t.Errorf("%q: %q, %v", word, got, problem)
		case code != "" && (problem == nil || problem.Code != code || code != "invalid_value" && len(problem.Allowed) != len(filter.Dimensions())):
			t.Errorf("%q: %q, %v, want %s", word, got, problem, code)
		}
	}
}

func TestRankingOrder(t *testing.T) {
	ranked := []BreakdownKey{{3, 9, "b"}, {3, 2, "a"}, {3, 2, "b"}, {1, 50, ""}}
	shuffled := []BreakdownKey{ranked[2], ranked[0], ranked[3], ranked[1]}
	slices.SortFunc(shuffled, BreakdownKey.Compare)
	if !slices.Equal(shuffled, ranked) {
		t.Errorf("got %v, want %v", shuffled, ranked)
	}
	if ranked[0].Compare(ranked[0]) != 0 {
		t.Error("a key ranks beside itself")
	}
}
