package sourcemaps_test

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"svc/storage/sourcemaps"
)

// broken has files that are not source maps, with the expected reason for each.
var broken = map[string]struct{ content, reason string }{
	"no JSON":                  {`{`, "no JSON"},
	"a page":                   {`<!doctype html>`, "no JSON"},
	"65 levels":                {`{"version":3,"sources":[],"mappings":"","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "nested deeper than 64"},
	"another version":          {`{"version":2,"sources":[],"mappings":""}`, "version is 2"},
	"no mappings":              {`{"version":3,"sources":[]}`, "no mappings"},
	"mappings are no text":     {`{"version":3,"sources":[],"mappings":7}`, "no JSON of a source map"},
	"a source that is missing": {`{"version":3,"sources":["a.ts"],"mappings":"ACAA"}`, "line 1, segment 1 of the mappings: it names the source 1 of 1"},
	"a source before all":      {`{"version":3,"sources":["a.ts"],"mappings":"AAAA;;ADAA"}`, "line 3, segment 1 of the mappings: it names the source -1 of 1"},
	"a name that is missing":   {`{"version":3,"sources":["a.ts"],"names":["f"],"mappings":"AAAA,AAAAC"}`, "segment 2 of the mappings: it names the name 1 of 1"},
	"a line before the first":  {`{"version":3,"sources":["a.ts"],"mappings":"AADA"}`, "it comes from line -1"},
	"a column before line":     {`{"version":3,"sources":["a.ts"],"mappings":"DAAA"}`, "it is at column -1"},
	"two numbers":              {`{"version":3,"sources":["a.ts"],"mappings":"AA"}`, "it has 2 numbers"},
	"six numbers":              {`{"version":3,"sources":["a.ts"],"names":["f"],"mappings":"AAAAAA"}`, "more than 5 numbers"},
	"half a number":            {`{"version":3,"sources":["a.ts"],"mappings":"AAAg"}`, "ends within a number"},
	"an endless number":        {`{"version":3,"sources":["a.ts"],"mappings":"AAAggggggggggggggggggA"}`, "more than 35 bits"},
	"a strange digit":          {`{"version":3,"sources":["a.ts"],"mappings":"AA!A"}`, `it holds '!'`},
	"a section elsewhere":      {`{"version":3,"sections":[{"offset":{"line":0,"column":0},"url":"b.map"}]}`, "section 0 holds no map"},
	"sections in a section":    {`{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":{"version":3,"sections":[]}}]}`, "section 0 is an index map itself"},
	"sections out of order":    {`{"version":3,"sections":[{"offset":{"line":2,"column":0},"map":{"version":3,"mappings":""}},{"offset":{"line":1,"column":0},"map":{"version":3,"mappings":""}}]}`, "section 1 begins before"},
	"a section before all":     {`{"version":3,"sections":[{"offset":{"line":-1,"column":0},"map":{"version":3,"mappings":""}}]}`, "section 0 begins at line -1"},
	"a broken section":         {`{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":{"version":3,"sources":["a.ts"],"mappings":"ACAA"}}]}`, "section 0: line 1, segment 1"},
}

func TestCheckRefusesWhatCannotBeResolved(t *testing.T) {
	t.Parallel()
	for name, tc := range broken {
		if err := sourcemaps.Check([]byte(tc.content)); err == nil || !strings.Contains(err.Error(), tc.reason) {
			t.Errorf("%s: %v, want %q", name, err, tc.reason)
		}
	}
	for name, content := range map[string]string{
		"empty":            `{"version":3,"sources":[],"names":[],"mappings":""}`,
		"nothing mapped":   `{"version":3,"sources":[],"names":[],"mappings":"A,C;;E"}`,
		"no source file":   `{"version":3,"sources":[null],"sourcesContent":[null],"mappings":"AAAA"}`,
		"guarded":          ")]}'\n" + `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`,
		"an index of none": `{"version":3,"sections":[]}`,
	} {
		if err := sourcemaps.Check([]byte(content)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestABrokenMapFailsNobody has a store with maps that were stored before uploads were checked.
func TestABrokenMapFailsNobody(t *testing.T) {
	t.Parallel()
	store := &shelf{maps: map[string][]byte{}}
	maps := sourcemaps.New(sourcemaps.Config{Store: store, MaxBytes: 1 << 20, Now: time.Now})
	for name, tc := range broken {
		store.maps["app_1 "+name] = []byte(tc.content)
		got, err := maps.Resolve(t.Context(), "app_1", []string{name}, sourcemaps.Place{Line: 1, Column: 1})
		if got != (sourcemaps.Place{}) || err == nil || !strings.Contains(err.Error(), tc.reason) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestIndexMaps joins two bundles on one line and one after them, as tools do.
func TestIndexMaps(t *testing.T) {
	t.Parallel()
	const index = `{"version":3,"sections":[
		{"offset":{"line":0,"column":0},"map":{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA,UACA"}},
		{"offset":{"line":0,"column":100},"map":{"version":3,"sources":["b.ts"],"names":["pay"],"mappings":"AAAAA;AACA"}},
		{"offset":{"line":2,"column":5},"map":{"version":3,"sources":["c.ts"],"sourceRoot":"src","names":[],"mappings":"KAEA"}}]}`
	store := &shelf{maps: map[string][]byte{"app_1 k": []byte(index)}}
	maps := sourcemaps.New(sourcemaps.Config{Store: store, MaxBytes: 1 << 20, Now: time.Now})
	for at, want := range map[sourcemaps.Place]string{
		{Line: 1, Column: 1}:   "a.ts:1",
		{Line: 1, Column: 60}:  "a.ts:2",
		{Line: 1, Column: 100}: "a.ts:2",
		{Line: 1, Column: 101}: "b.ts:1",
		{Line: 2, Column: 1}:   "b.ts:2",
		{Line: 3, Column: 3}:   "",
		{Line: 3, Column: 8}:   "", // after the start of the section, before its first segment
		{Line: 3, Column: 11}:  "src/c.ts:3",
		{Line: 4, Column: 1}:   "",
	} {
		got, err := maps.Resolve(t.Context(), "app_1", []string{"k"}, at)
		shown := ""
		if err == nil {
			shown = got.File + ":" + string(rune('0'+got.Line))
		}
		if shown != want {
			t.Errorf("%d:%d is %q (%v), want %q", at.Line, at.Column, shown, err, want)
		}
	}
}

// TestAnEndedReadingIsNotBelieved lets one caller give up, and another one ask at once.
func TestAnEndedReadingIsNotBelieved(t *testing.T) {
	t.Parallel()
	maps, store, _ := opened(t, 1<<20)
	at := sourcemaps.Place{Line: 3, Column: 34}
	store.failing = true
	if _, err := maps.Resolve(t.Context(), "app_1", []string{"debug:a"}, at); err == nil {
		t.Fatal("resolved without a store")
	}
	store.failing = false
	if _, err := maps.Resolve(t.Context(), "app_1", []string{"debug:a"}, at); err != nil {
		t.Errorf("after the store came back: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add([]byte(`{"version":3,"sections":[{"map":`+strings.Repeat("[", 1<<20)), 1, 1)
	for _, tc := range broken {
		f.Add([]byte(tc.content), 1, 1)
	}
	f.Fuzz(func(t *testing.T, content []byte, line, column int) {
		if sourcemaps.Check(content) != nil {
			return
		}
		store := &shelf{maps: map[string][]byte{"app_1 k": content}}
		maps := sourcemaps.New(sourcemaps.Config{Store: store, MaxBytes: 1 << 20, Now: time.Now})
		if _, err := maps.Resolve(t.Context(), "app_1", []string{"k"}, sourcemaps.Place{Line: line, Column: column}); err != nil && strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("a map that passed cannot be read: %v", err)
		}
	})
}
