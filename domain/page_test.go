package domain_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"svc/domain"
)

func TestParseLimit(t *testing.T) {
	for word, want := range map[string]int{"": 50, "1": 1, "200": 200, "201": 200, "0": -1, "-1": -1, "1.5": -1, "x": -1, " 1": -1, "99999999999999999999": 200, "-99999999999999999999": -1} {
		got, problem := domain.ParseLimit(word, 50, 200)
		if problem != nil {
			got = -1
			if problem.Field != "limit" || problem.Code != "invalid_value" {
				t.Errorf("%+v", problem)
			}
		}
		if got != want {
			t.Errorf("%q: %d, want %d", word, got, want)
		}
	}
}

func TestCursors(t *testing.T) {
	cursors, others := domain.NewCursors([]byte("one")), domain.NewCursors([]byte("two"))
	cursor := cursors.Encode("events", "1763640000000", "evt_1")
	forged := []byte(cursor)
	forged[4] ^= 1
	for name, test := range map[string]struct {
		cursors       *domain.Cursors
		scope, cursor string
		size          int
		want          []string
	}{
		"own":           {cursors, "events", cursor, 2, []string{"1763640000000", "evt_1"}},
		"same key":      {domain.NewCursors([]byte("one")), "events", cursor, 2, []string{"1763640000000", "evt_1"}},
		"other scope":   {cursors, "event", cursor, 2, nil},
		"other size":    {cursors, "events", cursor, 1, nil},
		"other key":     {others, "events", cursor, 2, nil},
		"forged":        {cursors, "events", string(forged), 2, nil},
		"cut":           {cursors, "events", cursor[:len(cursor)-2], 2, nil},
		"padded":        {cursors, "events", cursor + "=", 2, nil},
		"empty":         {cursors, "events", "", 2, nil},
		"other version": {cursors, "events", "AA" + cursor[2:], 2, nil},
		"line feed":     {cursors, "events", cursor[:5] + "\x00" + cursor[5:], 2, nil},
	} {
		got, err := test.cursors.Decode(test.scope, test.cursor, test.size)
		if !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) || err != nil && domain.CodeOf(err) != domain.CodeInvalidCursor {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// FuzzCursorsDecode checks that foreign cursors are refused, and that own cursors round-trip.
func FuzzCursorsDecode(f *testing.F) {
	cursors := domain.NewCursors([]byte("key"))
	f.Add("events", cursors.Encode("events", "1", "2"), "a", "b")
	f.Add("", base64.RawURLEncoding.EncodeToString([]byte("\x01[]0123456789ab")), "", "")
	f.Fuzz(func(t *testing.T, scope, cursor, first, second string) {
		if keyset, err := cursors.Decode(scope, cursor, 2); err == nil && cursors.Encode(scope, keyset...) != strings.NewReplacer("\r", "", "\n", "").Replace(cursor) {
			t.Errorf("%q opens %q", cursor, keyset)
		}
		if !utf8.ValidString(first) || !utf8.ValidString(second) {
			return
		}
		keyset, err := cursors.Decode(scope, cursors.Encode(scope, first, second), 2)
		if err != nil || !slices.Equal(keyset, []string{first, second}) {
			t.Errorf("%q %q come back as %q, %v", first, second, keyset, err)
		}
	})
}
