package sourcemaps_test

import (
	"testing"
	"time"

	"svc/storage/sourcemaps"
)

// TestFunctionMaps checks maps of Metro and Hermes. Their scopes name the functions. A broken map loses only the names.
func TestFunctionMaps(t *testing.T) {
	t.Parallel()
	const head = `{"version":3,"sources":["input.js"],"names":[],"mappings":"AAAA,UACE,UAEA","x_facebook_sources":`
	for name, tc := range map[string]struct {
		functions string
		want      [3]string
	}{
		"O2 two functions":   {`[[{"names":["<global>","foo"],"mappings":"AAA,OC;CDE"}]]`, [3]string{"<global>", "foo", "<global>"}},
		"O2 in one group":    {`[[{"names":["<global>","foo"],"mappings":"AAA,ECC,GAE"}]]`, [3]string{"<global>", "foo", "foo"}},
		"further numbers":    {`[[{"names":["<global>","foo"],"mappings":"AAAA,ECCCC"}]]`, [3]string{"<global>", "foo", "foo"}},
		"a source without":   {`[null]`, [3]string{}},
		"no sources":         {`null`, [3]string{}},
		"another form":       {`{"a":1}`, [3]string{}},
		"a name that is not": {`[[{"names":["a"],"mappings":"AAA,AEA"}]]`, [3]string{}},
		"a broken number":    {`[[{"names":["a"],"mappings":"A!"}]]`, [3]string{}},
		"a negative line":    {`[[{"names":["a"],"mappings":"AAF"}]]`, [3]string{}},
	} {
		store := &shelf{maps: map[string][]byte{"app_1 k": []byte(head + tc.functions + "}")}}
		maps := sourcemaps.New(sourcemaps.Config{Store: store, MaxBytes: 1 << 20, Now: time.Now})
		for i, column := range []int{1, 11, 21} {
			got, err := maps.Resolve(t.Context(), "app_1", []string{"k"}, sourcemaps.Place{Line: 1, Column: column})
			if err != nil || got.Function != tc.want[i] || got.File != "input.js" {
				t.Errorf("%s, column %d: %+v, %v, want %q", name, column, got, err, tc.want[i])
			}
		}
	}
}
