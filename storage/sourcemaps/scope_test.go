package sourcemaps

import (
	"strings"
	"testing"
)

// The position of each case is the mark @, which the test removes.
func TestFunction(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ source, want string }{
		"top level":                {"const a = 1;\n@f();", ""},
		"declaration":              {"export function pay(a: number): number {\n  if (a < 0) {\n    @throw 1;\n  }\n}", "pay"},
		"async generator":          {"async function* rows<T>(a: T) { @x }", "rows"},
		"after a function":         {"function a() { }\nfunction b() { @x }", "b"},
		"arrow":                    {"export const load = async (id: string): Promise<void> => {\n @x }", "load"},
		"arrow of one":             {"const half = n => { return @n }", "half"},
		"member":                   {"api.charge = function (a) { @x }", "charge"},
		"property":                 {"const o = { charge: function () { @x }, other() { } }", "charge"},
		"method":                   {"class Cart {\n  total = 0;\n  async add(item: Item): Promise<Cart> {\n    for (const x of y) { @z }\n  }\n}", "add"},
		"private method":           {"class C { static #sum(a, b) { return @a } }", "#sum"},
		"method after another":     {"class C { a() { return 1 } b() { @x } }", "b"},
		"callback":                 {"function outer() { list.map((x) => { @y }) }", "outer"},
		"statement is no function": {"while (x) { @y }", ""},
		"catch":                    {"function f() { try { } catch (e) { @x } }", "f"},
		"brace in a text":          {"function a() { const s = '{'; @x }", "a"},
		"brace in a template":      {"function a() { const s = `{${ g({}) }{`; @x }\n", "a"},
		"brace in a regexp":        {"function a() { return s.match(/[/{]{2}/) @ }", "a"},
		"division":                 {"function a() { return b / c / d + '}' @ }", "a"},
		"brace in a comment":       {"function a() { // }\n /* } */ @x }", "a"},
		"default parameter":        {"function a(o = {}) { @x }", "a"},
		"unclosed text":            {"function a() { const s = 'x\n @y }", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _, _ := strings.Cut(tc.source, "@")
			line := strings.Count(before, "\n") + 1
			column := len(before) - strings.LastIndexByte(before, '\n') - 1
			if got := function(strings.Replace(tc.source, "@", "", 1), line, column); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestFunctionOutsideOfTheText(t *testing.T) {
	t.Parallel()
	for _, place := range [][2]int{{3, 0}, {100, 100}} {
		if got := function("function a() {\n}", place[0], place[1]); got != "" {
			t.Errorf("at %v: got %q", place, got)
		}
	}
}

// FuzzFunction checks that the search for a function ends for any text.
func FuzzFunction(f *testing.F) {
	f.Add("function a() { const s = `{${ g({}) }{`; /[/{]{2}/ }", 1, 40)
	f.Fuzz(func(_ *testing.T, source string, line, column int) {
		function(source, max(line, 1), max(column, 0))
	})
}
