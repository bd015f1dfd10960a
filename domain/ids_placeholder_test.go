package domain

import (
	"strings"
	"testing"
)

// TestPlaceholderIDs checks ids that identify no person, in the forms that clients send. It also checks real ids that
// look like them.
func TestPlaceholderIDs(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"undefined", "null", "none", "nil", "NaN", "0", "-1", "true", "false", "[object Object]", "anonymous", "guest", "unknown", "distinct_id", "anonymous_id",
		"id", "email", "user", "not_authenticated", "00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000", "(null)", "<nil>", "%!s(<nil>)", "0.0", "-0",
		"[object Undefined]", "distinctId", "anonymousId", "userId", "{{distinct_id}}", "${id}", CookielessID,
	} {
		for form, id := range map[string]string{
			"as it is": word, "upper case": strings.ToUpper(word), "title": strings.ToUpper(word[:1]) + word[1:], "spaces": " " + word + "\t\n", "quotes": `"` + word + `"`,
			"single quotes": "'" + word + "'", "escaped quotes": `\"` + word + `\"`, "no-break space": "\u00a0" + word, "zero width": "\ufeff" + word + "\u200b",
		} {
			if !IsPlaceholderID(id) {
				t.Errorf("%s, %s: %q is taken as an id", word, form, id)
			}
		}
	}
	for _, id := range []string{"", " ", "\t", "\u00a0\u2003", `""`, "''", "{}", "[]", "-", "--", "00", "...", "?", "\x00"} {
		if !IsPlaceholderID(id) {
			t.Errorf("%q is taken as an id", id)
		}
	}
	for _, id := range []string{
		"1", "-2", "10", "0x1", "a", "ada", "undefined-1", "user-1", "user1", "nullable", "nilsson", "idris", "True Blood", "guest@acme.example", "anonymous-7", "[1]", "🙂", "Ω", "id_7",
		"00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff", "email@example.com", strings.Repeat("x", 200), "nobody", "noneuser", "müller",
	} {
		if IsPlaceholderID(id) {
			t.Errorf("%q is refused", id)
		}
	}
}

// BenchmarkPlaceholderID checks ids in the forms that events carry.
func BenchmarkPlaceholderID(b *testing.B) {
	for name, id := range map[string]string{"uuid": "0192f7a4-6c1e-7b7e-9d3a-1f6f4f0f9f60", "short": "user-17"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if IsPlaceholderID(id) {
					b.Fatal(id)
				}
			}
		})
	}
}
