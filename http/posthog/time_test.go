package posthog

import (
	"encoding/json"
	"testing"
	"time"
)

// TestTimes reads times in the forms that clients write. Each means 16:30 on 27 November 2026 in UTC, unless its case
// states another time.
func TestTimes(t *testing.T) {
	t.Parallel()
	meant := time.Date(2026, 11, 27, 4, 30, 0, 0, time.UTC)
	for name, raw := range map[string]string{
		"UTC": `"2026-11-27T04:30:00Z"`, "lower case": `"2026-11-27t04:30:00z"`, "offset": `"2026-11-27T10:00:00+05:30"`, "fraction": `"2026-11-27T04:30:00.000Z"`,
		"comma": `"2026-11-27T04:30:00,000Z"`, "PHP": `"2026-11-27T10:00:00+0530"`, "Python": `"2026-11-27 04:30:00+00:00"`, "RFC 1123": `"Fri, 27 Nov 2026 04:30:00 GMT"`,
		"Python with microseconds": `"2026-11-27 04:30:00.000000+00:00"`, "naive": `"2026-11-27T04:30:00"`, "naive with a space": `"2026-11-27 04:30:00"`, "Ruby": `"2026-11-27 10:00:00 +0530"`,
		"Ruby UTC": `"2026-11-27 04:30:00 UTC"`, "Go": `"2026-11-27 04:30:00 +0000 UTC"`, "minutes": `"2026-11-27T04:30Z"`, "basic": `"20261127T043000Z"`, "hours": `"2026-11-27T05:30:00+01"`,
		"RFC 1123 with an offset": `"Fri, 27 Nov 2026 10:00:00 +0530"`, "one digit": `"Fri, 27 Nov 2026 04:30:00 +0000"`, "mail": `"27 Nov 2026 04:30:00 +0000"`,
		"JavaScript": `"Fri Nov 27 2026 10:00:00 GMT+0530 (India Standard Time)"`, "C": `"Fri Nov 27 04:30:00 2026"`, "seconds": `1795753800`, "seconds as text": `"1795753800"`,
		"seconds with a fraction": `1795753800.0`, "milliseconds": `1795753800000`, "milliseconds as text": `"1795753800000"`, "microseconds": `1795753800000000`, "nanoseconds": `1795753800000000000`,
		"spaces": `" 2026-11-27T04:30:00Z "`,
	} {
		if at, said := readTime(json.RawMessage(raw)); !said || !at.Equal(meant) {
			t.Errorf("%s: %s is %v", name, raw, at)
		}
	}
	if at, said := readTime(json.RawMessage(`1795753800.25`)); !said || !at.Equal(meant.Add(250*time.Millisecond)) {
		t.Errorf("a fraction of a second is %v", at)
	}
	for _, raw := range []string{`"yesterday"`, `"Fri, 27 Nov 2026 04:30:00 EST"`, `"2026-13-01T00:00:00Z"`, `"27/11/2026"`, `0`, `-1`, `12345`, `1e300`, `"NaN"`, `"Infinity"`, `true`, `{}`, `[1]`} {
		if at, said := readTime(json.RawMessage(raw)); !said || !at.IsZero() {
			t.Errorf("%s is %v, %v", raw, at, said)
		}
	}
	for _, raw := range []string{``, `null`, `""`, `" "`} {
		if at, said := readTime(json.RawMessage(raw)); said || !at.IsZero() {
			t.Errorf("%q says %v", raw, at)
		}
	}
}
