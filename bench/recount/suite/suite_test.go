package suite

import (
	"strings"
	"testing"

	"svc/bench/recount/reference"
)

func TestDifferSaysWhere(t *testing.T) {
	t.Parallel()
	list := func(values ...any) map[string]any { return map[string]any{"data": values} }
	for _, test := range []struct {
		name      string
		got, want any
		found     string
	}{
		{"equal", list(1.0, "a", nil, true), list(1.0, "a", nil, true), ""},
		{"more members", map[string]any{"a": 1.0, "b": 2.0}, map[string]any{"a": 1.0}, ""},
		{"another order of addition", list(0.1 + 0.2), list(0.3), ""},
		{"a number", list(1.0, 2.0), list(1.0, 3.0), ".data[1]: got 2, want 3"},
		{"null is no zero", list(nil), list(0.0), ".data[0]: got <nil>, want 0"},
		{"zero is no null", list(0.0), list(nil), ".data[0]: got 0, want <nil>"},
		{"a row too many", list(1.0, 2.0), list(1.0), ".data has 2 rows, want 1|.data[1] is too much: 2"},
		{"a row too few", list(), list("a"), ".data has 0 rows, want 1|.data[0] is missing, want a"},
		{"a member", map[string]any{}, map[string]any{"a": 1.0}, ".a is missing, want 1"},
		{"a member of another kind", map[string]any{"a": "1"}, map[string]any{"a": 1.0}, ".a: got 1, want 1"},
		{"exactly these members", map[string]any{"a": 1.0, "b": 2.0}, reference.Exact{"a": 1.0}, ".b is too much: 2"},
		{"no list", map[string]any{"data": nil}, list(), ".data: got <nil>, want []"},
	} {
		if got := strings.Join(differ("", test.got, test.want), "|"); got != test.found {
			t.Errorf("%s: got %q, want %q", test.name, got, test.found)
		}
	}
}

func TestBrokenPromisesAreFound(t *testing.T) {
	t.Parallel()
	object := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	rows := func(name string, row map[string]any) map[string]any { return object(name, []any{row}) }
	for _, test := range []struct {
		name, route string
		good, bad   map[string]any
	}{
		{"visitors and sessions", "/analytics/overview", object("uniqueVisitors", 2.0, "visitors", 2.0, "sessions", 2.0), object("visitors", 3.0, "sessions", 2.0)},
		{"unique visitors", "/analytics/overview", object(), object("uniqueVisitors", 2.0, "visitors", 1.0, "sessions", 1.0)},
		{"rows", "/analytics/breakdown", rows("data", object("visitors", 1.0, "sessions", 1.0)), rows("data", object("visitors", 2.0, "sessions", 1.0))},
		{"names", "/events/names", rows("data", object("users", 1.0, "count", 5.0)), rows("data", object("users", 2.0, "count", 1.0))},
		{"period 0", "/analytics/retention", rows("cohorts", object("size", 3.0, "periods", []any{3.0, 1.0})), rows("cohorts", object("size", 3.0, "periods", []any{2.0}))},
		{"more than came", "/analytics/retention", object(), rows("cohorts", object("size", 3.0, "periods", []any{3.0, 4.0}))},
		{"steps", "/funnels/{id}/results", rows("steps", object("entered", 3.0, "converted", 1.0, "dropOff", 2.0)), rows("steps", object("entered", 3.0, "converted", 1.0, "dropOff", 1.0))},
	} {
		if found := broken(test.route, test.good); len(found) > 0 {
			t.Errorf("%s: %q", test.name, found)
		}
		if found := broken(test.route, test.bad); len(found) == 0 {
			t.Errorf("%s: %v passed", test.name, test.bad)
		}
	}
}
