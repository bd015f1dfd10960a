package domain_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"svc/domain"
)

// zone returns a time zone.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestParseWindow(t *testing.T) {
	now := time.Date(2026, 11, 20, 22, 30, 0, 123_456_789, time.UTC) // 23:30 in Berlin.
	for _, test := range []struct {
		key, from, to string
		interval      domain.Interval
	}{
		{"", "2026-11-13T23:30:01+01:00", "2026-11-20T23:30:01+01:00", domain.Day},
		{"24h", "2026-11-19T23:30:01+01:00", "2026-11-20T23:30:01+01:00", domain.Hour},
		{"14d", "2026-11-06T23:30:01+01:00", "2026-11-20T23:30:01+01:00", domain.Day},
		{"30d", "2026-10-21T23:30:01+02:00", "2026-11-20T23:30:01+01:00", domain.Day}, // The clock was set back between.
		{"90d", "2026-08-22T23:30:01+02:00", "2026-11-20T23:30:01+01:00", domain.Day},
		{"12m", "2025-11-20T23:30:01+01:00", "2026-11-20T23:30:01+01:00", domain.Week},
		{"today", "2026-11-20T00:00:00+01:00", "2026-11-20T23:30:01+01:00", domain.Hour},
		{"yesterday", "2026-11-19T00:00:00+01:00", "2026-11-20T00:00:00+01:00", domain.Hour},
		{"custom:2026-10-25..2026-10-25", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00", domain.Hour}, // 25 hours.
		{"custom:2026-01-01..2026-01-03", "2026-01-01T00:00:00+01:00", "2026-01-04T00:00:00+01:00", domain.Day},
		{"custom:2025-01-01..2026-02-04", "2025-01-01T00:00:00+01:00", "2026-02-05T00:00:00+01:00", domain.Month}, // 400 days.
	} {
		window, problem := domain.ParseWindow(test.key, now, zone(t, "Europe/Berlin"))
		if problem != nil {
			t.Errorf("%s: %+v", test.key, problem)
			continue
		}
		show := func(at time.Time) string { return at.In(window.Location).Format(time.RFC3339Nano) }
		if show(window.From) != test.from || show(window.To) != test.to || window.Interval != test.interval {
			t.Errorf("%s: %s .. %s by %s", test.key, show(window.From), show(window.To), window.Interval)
		}
	}
}

// TestThePreviousWindowBeginsOnTheWall tests windows before, across and after clock changes.
func TestThePreviousWindowBeginsOnTheWall(t *testing.T) {
	for _, test := range []struct{ zone, now, key, from, to string }{
		{"Europe/Berlin", "2026-03-31T12:00:00+02:00", "custom:2026-03-30..2026-03-30", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"Europe/Berlin", "2026-03-31T12:00:00+02:00", "yesterday", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"Europe/Berlin", "2026-03-31T12:00:00+02:00", "custom:2026-03-29..2026-03-29", "2026-03-28T00:00:00+01:00", "2026-03-29T00:00:00+01:00"},
		{"Europe/Berlin", "2026-10-27T12:00:00+01:00", "custom:2026-10-26..2026-10-26", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"Europe/Berlin", "2026-04-01T12:00:00+02:00", "7d", "2026-03-18T12:00:00+01:00", "2026-03-25T12:00:00+01:00"},
		{"Europe/Berlin", "2026-04-07T12:00:00+02:00", "7d", "2026-03-24T12:00:00+01:00", "2026-03-31T12:00:00+02:00"},
		{"Europe/Berlin", "2026-03-29T12:00:00+02:00", "24h", "2026-03-27T11:00:00+01:00", "2026-03-28T11:00:00+01:00"},
		{"Europe/Berlin", "2026-03-30T09:30:00+02:00", "today", "2026-03-29T14:30:00+02:00", "2026-03-30T00:00:00+02:00"},
		{"Africa/Cairo", "2026-04-26T12:00:00+03:00", "custom:2026-04-25..2026-04-25", "2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"}, // no midnight
		{"Asia/Kathmandu", "2026-04-26T12:00:00+05:45", "custom:2026-04-20..2026-04-24", "2026-04-15T00:00:00+05:45", "2026-04-20T00:00:00+05:45"},
		{"UTC", "2026-03-10T12:00:00Z", "12m", "2024-03-10T12:00:00Z", "2025-03-10T12:00:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		window, problem := domain.ParseWindow(test.key, now, zone(t, test.zone))
		if problem != nil {
			t.Errorf("%s: %+v", test.key, problem)
			continue
		}
		previous := window.Previous()
		show := func(at time.Time) string { return at.In(window.Location).Format(time.RFC3339Nano) }
		if show(previous.From) != test.from || show(previous.To) != test.to {
			t.Errorf("%s at %s: %s .. %s, want %s .. %s", test.key, test.now, show(previous.From), show(previous.To), test.from, test.to)
		}
	}
}

func TestParseWindowRefuses(t *testing.T) {
	for _, key := range []string{
		"8d", "7D", " 7d", "custom:", "custom:2026-01-01", "custom:2026-01-01..", "custom:..2026-01-01", "custom:2026-02-30..2026-03-01",
		"custom:2026-01-02..2026-01-01", "custom:2025-01-01..2026-02-05", "custom:2026-1-1..2026-1-2", "custom:1969-12-31..1970-01-01", "custom:2199-12-31..2200-01-01",
		"custom:2026-01-01..2026-01-02..2026-01-03",
	} {
		window, problem := domain.ParseWindow(key, day(), time.UTC)
		if problem == nil || problem.Field != "range" || problem.Code != "unknown_value" || !slices.Equal(problem.Allowed, domain.WindowKeys()) {
			t.Errorf("%s: %+v %+v", key, window, problem)
		}
	}
}

func TestBucketsOverClockChanges(t *testing.T) {
	for _, test := range []struct {
		zone, key string
		interval  domain.Interval
		count     int
		first     string
	}{
		{"Europe/Berlin", "custom:2026-10-25..2026-10-25", domain.Hour, 25, "2026-10-25T00:00:00+02:00"},
		{"Europe/Berlin", "custom:2026-03-29..2026-03-29", domain.Hour, 23, "2026-03-29T00:00:00+01:00"},
		{"Europe/Berlin", "custom:2026-10-24..2026-10-26", domain.Day, 3, "2026-10-24T00:00:00+02:00"},
		{"America/Santiago", "custom:2026-09-05..2026-09-07", domain.Day, 3, "2026-09-05T00:00:00-04:00"}, // No 00:00 on the 6th.
		{"America/Santiago", "custom:2026-09-06..2026-09-06", domain.Hour, 23, "2026-09-06T01:00:00-03:00"},
		{"America/Havana", "custom:2026-03-08..2026-03-08", domain.Hour, 23, "2026-03-08T01:00:00-04:00"},
		{"Atlantic/Azores", "custom:2026-03-28..2026-03-30", domain.Day, 3, "2026-03-28T00:00:00-01:00"},
		{"Atlantic/Azores", "custom:2026-10-25..2026-10-25", domain.Hour, 25, "2026-10-25T00:00:00Z"},
		{"Asia/Beirut", "custom:2026-03-28..2026-03-30", domain.Day, 3, "2026-03-28T00:00:00+02:00"},
		{"Pacific/Apia", "custom:2011-12-28..2011-12-31", domain.Day, 3, "2011-12-28T00:00:00-10:00"}, // No 30th at all.
		{"Australia/Lord_Howe", "custom:2026-04-05..2026-04-05", domain.Hour, 25, "2026-04-05T00:00:00+11:00"},
		{"UTC", "custom:2026-11-01..2026-11-20", domain.Week, 4, "2026-10-26T00:00:00Z"},
		{"UTC", "custom:2026-01-31..2026-03-01", domain.Month, 3, "2026-01-01T00:00:00Z"},
	} {
		window, problem := domain.ParseWindow(test.key, day(), zone(t, test.zone))
		if problem != nil {
			t.Fatal(problem)
		}
		buckets := window.Buckets(test.interval)
		if len(buckets) != test.count || buckets[0].Format(time.RFC3339) != test.first {
			t.Errorf("%s %s by %s: %d from %v", test.zone, test.key, test.interval, len(buckets), buckets)
		}
	}
}

func TestCappedAndIntervals(t *testing.T) {
	for key, want := range map[string]struct {
		capped bool
		finest domain.Interval
	}{"24h": {false, domain.Hour}, "30d": {false, domain.Hour}, "90d": {false, domain.Day}, "12m": {true, domain.Day}, "custom:2026-01-01..2026-04-01": {true, domain.Day}, "custom:2026-01-01..2026-03-31": {false, domain.Day}, "custom:2026-01-01..2026-03-30": {false, domain.Hour}} {
		window, problem := domain.ParseWindow(key, day(), zone(t, "Europe/Berlin"))
		if problem != nil {
			t.Fatal(problem)
		}
		cut, capped := window.Capped()
		if capped != want.capped || !cut.To.Equal(window.To) || cut.From.Before(window.From) || window.Intervals()[0] != want.finest {
			t.Errorf("%s: %v %v", key, capped, window.Intervals())
		}
		if _, problem := window.ParseInterval("hour"); (problem == nil) != (want.finest == domain.Hour) {
			t.Errorf("%s: %+v", key, problem)
		}
		if own, problem := window.ParseInterval(""); problem != nil || own != window.Interval {
			t.Errorf("%s: %s %+v", key, own, problem)
		}
	}
}

func TestDelta(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	for _, test := range []struct {
		now, before float64
		want        *float64
	}{
		{5, 0, nil},
		{0, 0, nil},
		{0, 4, number(-100)},
		{6, 4, number(50)},
		{1, 3, number(-66.7)},
		{2, 3, number(-33.3)},
		{10001, 10000, number(0)},
		{9999, 10000, number(0)},
		{1, 8, number(-87.5)},
		{math.NaN(), 1, nil},
		{math.Inf(1), 1, nil},
		{1e300, 1e-300, nil},
		{1e18, 1, number(1e20)},
	} {
		got := domain.Delta(test.now, test.before)
		if (got == nil) != (test.want == nil) || got != nil && (*got != *test.want || math.Signbit(*got) != math.Signbit(*test.want)) {
			t.Errorf("%v from %v: %v", test.now, test.before, got)
		}
	}
}

func FuzzParseWindow(f *testing.F) {
	zones := []string{"UTC", "Europe/Berlin", "America/Santiago", "Pacific/Apia", "Asia/Kathmandu", "Africa/Casablanca", "America/Nuuk", "Asia/Gaza", "Antarctica/Troll"}
	for i, key := range []string{"", "7d", "12m", "yesterday", "custom:2026-01-01..2026-03-01", "custom:2011-12-29..2011-12-31", "custom:9999-99-99.."} {
		f.Add(key, int64(1_760_000_000_000), uint8(i))
	}
	f.Fuzz(func(t *testing.T, key string, millis int64, place uint8) {
		now := time.UnixMilli(millis % (1 << 42)).UTC()
		window, problem := domain.ParseWindow(key, now, zone(t, zones[int(place)%len(zones)]))
		if problem != nil {
			return
		}
		if !strings.HasPrefix(key, "custom:") && window.To.After(now) || window.From.After(window.To) {
			t.Fatalf("%s at %v: %v .. %v", key, now, window.From, window.To)
		}
		for _, interval := range window.Intervals() {
			buckets := window.Buckets(interval)
			for i := 1; i < len(buckets); i++ {
				if !buckets[i].After(buckets[i-1]) || !interval.Floor(buckets[i]).Equal(buckets[i]) {
					t.Fatalf("%s by %s: %v", key, interval, buckets[i-1:i+1])
				}
			}
			if len(buckets) > 25*100 || len(buckets) > 0 && buckets[0].After(window.From) {
				t.Fatalf("%s by %s: %d buckets", key, interval, len(buckets))
			}
		}
	})
}

// TestDaysBeginAtTheirFirstInstant walks through years in which clocks were set forward and back at midnight: a day
// begins at or before each of its instants, and right after the previous day.
func TestDaysBeginAtTheirFirstInstant(t *testing.T) {
	for _, name := range []string{"Asia/Gaza", "Asia/Amman", "Asia/Beirut", "America/Havana", "America/Sao_Paulo", "America/Santiago", "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "Africa/Cairo"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for at := time.Date(2011, 12, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2017; at = at.Add(30 * time.Minute) {
			local := at.In(loc)
			begin := domain.Day.Floor(local)
			if begin.After(local) || !sameDay(begin, local) || sameDay(begin.Add(-1), local) || !domain.Day.Next(begin).After(local) {
				if wrong++; wrong <= 3 {
					t.Errorf("%s: the day of %s begins at %s, the next at %s", name, local, begin, domain.Day.Next(begin))
				}
			}
		}
	}
}

func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }
