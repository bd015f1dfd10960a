package flags

import (
	"testing"
	"time"

	"svc/domain/flag"
)

// TestStaleFlags stores evaluations of flags on days before today, and reads which flags are stale, with the reasons.
func TestStaleFlags(t *testing.T) {
	store, _ := open(t)
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	type served map[int][]string // variants by number of days ago
	days := func(first, last int, variants ...string) served {
		all := served{}
		for ago := last; ago <= first; ago++ {
			all[ago] = variants
		}
		return all
	}
	for name, tc := range map[string]struct {
		served   served
		changed  int // days ago
		archived bool
		want     string
	}{
		"never-evaluated":       {nil, 40, false, "unused"},
		"new":                   {nil, 29, false, ""},
		"long-ago":              {days(60, 31, "on"), 90, false, "unused"},
		"today-only":            {days(0, 0, "on"), 90, false, ""},
		"one-for-everyone":      {days(40, 0, "on"), 90, false, "settled"},
		"off-for-everyone":      {days(40, 0, ""), 90, false, "settled"},
		"one-since-a-change":    {days(40, 0, "on"), 10, false, ""},
		"two":                   {days(40, 0, "on", "off"), 90, false, ""},
		"another-once":          {served{30: {"on"}, 20: {"off"}, 0: {"on"}}, 90, false, ""},
		"another-before-that":   {served{45: {"off"}, 30: {"on"}, 0: {"on"}}, 90, false, "settled"},
		"one-for-twenty-days":   {days(20, 0, "on"), 90, false, ""},
		"archived":              {nil, 90, true, ""},
		"archived-and-settled":  {days(40, 0, "on"), 90, true, ""},
		"thirty-days-precisely": {nil, 30, false, "unused"},
	} {
		var counts []flag.Count
		for ago, variants := range tc.served {
			for _, variant := range variants {
				counts = append(counts, flag.Count{Environment: 7, Flag: name, Variant: variant, Day: now.AddDate(0, 0, -ago).Truncate(day), Count: 3})
			}
		}
		if err := store.AppendFlagCounts(t.Context(), name, counts); err != nil {
			t.Fatal(err)
		}
		readings, err := store.FlagReadings(t.Context(), 7, now)
		if err != nil {
			t.Fatal(err)
		}
		reading, flag := readings[name], flag.Flag{Key: name, Archived: tc.archived, UpdatedAt: now.AddDate(0, 0, -tc.changed)}
		if got := reading.Stale(&flag, now); got != tc.want {
			t.Errorf("%s is %q, not %q (%+v)", name, got, tc.want, reading)
		}
		for n := range reading.Spark {
			if want := uint64(3 * len(tc.served[len(reading.Spark)-1-n])); reading.Spark[n] != want {
				t.Errorf("%s: the line is %v, its place %d should be %d", name, reading.Spark, n, want)
			}
		}
	}
}

// TestCountsAreAddedOnce repeats a write under its token, and then adds another write.
func TestCountsAreAddedOnce(t *testing.T) {
	store, _ := open(t)
	now := time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC)
	counts := []flag.Count{{Environment: 7, Flag: "nav", Variant: "on", Day: now.Truncate(day), Count: 5}}
	for _, word := range []string{"one", "one", "two"} {
		if err := store.AppendFlagCounts(t.Context(), word, counts); err != nil {
			t.Fatal(err)
		}
	}
	readings, err := store.FlagReadings(t.Context(), 7, now)
	if err != nil || readings["nav"].Spark[6] != 10 {
		t.Errorf("the readings are %+v: %v", readings, err)
	}
}
