package issue_test

import (
	"slices"
	"testing"

	"svc/domain/issue"
)

func TestSourceMapKeys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given issue.SourceMap
		want  []string
	}{
		"both":             {issue.SourceMap{DebugID: "AB", URL: "~/a.js", Release: "1", Dist: "x"}, []string{"debug:ab", "file:1\x00x\x00~/a.js"}},
		"debug id":         {issue.SourceMap{DebugID: "ab", URL: "~/a.js"}, []string{"debug:ab"}},
		"file":             {issue.SourceMap{URL: "~/a.js", Release: "1"}, []string{"file:1\x00\x00~/a.js"}},
		"not to be found":  {issue.SourceMap{Release: "1"}, nil},
		"nothing is known": {issue.SourceMap{}, nil},
	} {
		if got := tc.given.Keys(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestFileURL(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"https://example.com/js/app.js?v=1#x": "~/js/app.js",
		"app:///main.js":                      "~/main.js",
		"~/js/app.js":                         "~/js/app.js",
		"https://example.com":                 "~/",
		"dist/app.js":                         "dist/app.js",
		"":                                    "",
	} {
		if got := issue.FileURL(given); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}
