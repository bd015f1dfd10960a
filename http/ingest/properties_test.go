package ingest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"svc/domain/event"
)

func TestPlainJSON(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                                                 `{}`,
		`{"plan":"pro","n":1.50}`:                            `{"plan":"pro","n":1.50}`,
		"{ \"a b\" :\t[ 1 ,\r\n true ] }":                    `{"a b":[1,true]}`,
		`{"\u00fc":"\u00DF \u4e2d"}`:                         `{"ü":"ß 中"}`,
		`{"u":"https:\/\/x.io\/a"}`:                          `{"u":"https://x.io/a"}`,
		`{"e":"\ud83c\udf89!"}`:                              `{"e":"🎉!"}`,
		`{"e":"ada\u0040acme.example"}`:                      `{"e":"ada@acme.example"}`,
		`{"q":"\u0022 \u005c \" \\ \\u00df \n\u000a\u001F"}`: `{"q":"\u0022 \u005c \" \\ \\u00df \n\u000a\u001F"}`,
		`{"lone":"\ud83c \udf89 \ud83c\ud83c\udf89 \ud83c"}`: `{"lone":"\ud83c \udf89 \ud83c🎉 \ud83c"}`,
	} {
		got := string(plainJSON(nil, []byte(raw)))
		if got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
		if plain := measureJSON([]byte(raw)).plain; plain && got != raw {
			t.Errorf("%s is not plain: it becomes %s", raw, got)
		}
	}
}

// FuzzPlainJSON checks that the values stay the same, and that a plain text stays unchanged.
func FuzzPlainJSON(f *testing.F) {
	f.Add([]byte(`{"\u00fc" : ["\ud83c\udf89", "\ud83c", "\\u00df", " \/ "]}`))
	f.Add([]byte("{\"a\":\n{\"b\": -1.5e3}, \"\\u0022\":\"\\u000a\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var before, after any
		if json.Unmarshal(raw, &before) != nil {
			return
		}
		plain := plainJSON(nil, raw)
		if err := json.Unmarshal(plain, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q: %v", raw, plain, err)
		}
		if again := plainJSON(nil, plain); string(again) != string(plain) || len(plain) > len(raw) {
			t.Errorf("%q became %q, and that %q", raw, plain, again)
		}
		if measureJSON(raw).plain && string(plain) != string(raw) {
			t.Errorf("%q is plain and became %q", raw, plain)
		}
	})
}

func TestAGroupIsTheCompanyOfAPerson(t *testing.T) {
	long := strings.Repeat("x", event.MaxIDBytes+1)
	for _, test := range []struct{ id, traits, want, code string }{
		{"acme-1", `{"name":" Acme ","plan":"pro"}`, `{"$group":"acme-1","company":"Acme","group":{"name":" Acme ","plan":"pro"}}`, ""},
		{"acme-1", `{"name":7}`, `{"$group":"acme-1","company":"acme-1","group":{"name":7}}`, ""},
		{"acme-1", `null`, `{"$group":"acme-1","company":"acme-1"}`, ""},
		{"acme-1", ``, `{"$group":"acme-1","company":"acme-1"}`, ""},
		{"", `{}`, "", "missing_value"},
		{long, `{}`, "", "too_long"},
		{"acme-1", `"Acme"`, "", "invalid_value"},
	} {
		traits, code, _ := groupTraits(&item{GroupID: test.id, Traits: json.RawMessage(test.traits)})
		same := test.want == "" && traits == nil
		if test.want != "" {
			var got, want any
			same = json.Unmarshal(traits, &got) == nil && json.Unmarshal([]byte(test.want), &want) == nil && reflect.DeepEqual(got, want)
		}
		if !same || code != test.code {
			t.Errorf("%q %s: %s, %q", test.id, test.traits, traits, code)
		}
	}
}
