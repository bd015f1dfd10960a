package domain_test

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"svc/domain"
)

func TestNesting(t *testing.T) {
	t.Parallel()
	open := func(n int) string { return strings.Repeat("[", n) }
	nested := func(n int) string { return open(n) + strings.Repeat("]", n) }
	for name, c := range map[string]struct {
		text string
		deep bool
	}{
		"A1: the body of the issue":             {`{"items":` + open(2_200_000), true},
		"the deepest list that is read":         {nested(64), false},
		"one level more":                        {nested(65), true},
		"objects":                               {strings.Repeat(`{"a":`, 65), true},
		"lists and objects in turn":             {strings.Repeat(`{"a":[`, 33), true},
		"spaces between":                        {strings.Repeat("[ \n\t", 65), true},
		"many lists, one after another":         {"[" + strings.Repeat(nested(60)+",", 100) + "1]", false},
		"brackets in a text":                    {`"` + open(100) + `"`, false},
		"brackets after an escaped quote":       {`"\"` + open(100) + `"`, false},
		"brackets after an escaped backslash":   {`"\\"` + open(65), true},
		"three backslashes and a quote":         {`"\\\"` + open(100) + `"`, false},
		"brackets after a text without an end":  {`["` + open(100), false},
		"a backslash at the end":                {open(65) + `"\`, true},
		"bytes that are not UTF-8":              {"\"\xff\xfe\"" + open(65), true},
		"a byte that is not UTF-8 in a text":    {"\"\xff" + open(100) + "\xff\"", false},
		"a NUL":                                 {"\x00" + open(65), true},
		"a name that ends in a backslash":       {`{"a\\":` + open(64), true},
		"a long text of backslashes":            {`["` + strings.Repeat(`\\\\`, 2<<20), false},
		"long members, 64 levels":               {strings.Repeat(`{"a long name that has ]}]}]} in it":`, 64), false},
		"long members, 65 levels":               {strings.Repeat(`{"a long name that has ]}]}]} in it":`, 65), true},
		"long members, open at the end":         {strings.Repeat(`{"a long name that has [[[[[[ in it":0},`, 99) + `"` + strings.Repeat("x", 9999) + open(99), false},
		"nothing":                               {"", false},
		"deep at the end of a long, flat body":  {"[" + strings.Repeat(`{"a":"b"},`, 10_000) + open(64), true},
		"a text of characters of several bytes": {`"ü[€[😀"` + nested(64), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if deep := domain.TooDeep([]byte(c.text)); deep != c.deep {
				t.Errorf("too deep is %v, want %v", deep, c.deep)
			}
			var into any
			if err := domain.DecodeJSON([]byte(c.text), &into); errors.Is(err, domain.ErrTooDeep) != c.deep {
				t.Errorf("decoding: %v", err)
			}
		})
	}
}

// FuzzNesting compares the scan with a decoder that reads token by token. If the decoder reads the input to its end,
// both find the same depth.
func FuzzNesting(f *testing.F) {
	debug.SetMaxStack(16 << 20)
	f.Add([]byte(strings.Repeat(`{"a\\":["\"[",`, 33)))
	f.Add([]byte(`[[],{"a":[[{}]]}]`))
	f.Add([]byte(strings.Repeat(`{"a long name of a member":{"another long name":[ "a text with ]}[{ in it",`, 33)))
	f.Add([]byte(strings.Repeat("[", 100_000)))
	f.Fuzz(func(t *testing.T, text []byte) {
		deep := domain.TooDeep(text)
		if !json.Valid(text) {
			return
		}
		decoder, level, most := json.NewDecoder(strings.NewReader(string(text))), 0, 0
		for {
			token, err := decoder.Token()
			if err != nil {
				break
			}
			switch token {
			case json.Delim('['), json.Delim('{'):
				level++
				most = max(most, level)
			case json.Delim(']'), json.Delim('}'):
				level--
			}
		}
		if deep != (most > domain.MaxNesting) {
			t.Errorf("%q has %d levels; too deep is %v", text, most, deep)
		}
	})
}
