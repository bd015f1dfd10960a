package domain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Interval is the width of a series' buckets.
type Interval string

// The intervals of analytics series.
const (
	Hour  Interval = "hour"
	Day   Interval = "day"
	Week  Interval = "week"
	Month Interval = "month"
)

// Values lists the intervals.
func (Interval) Values() []Interval { return []Interval{Hour, Day, Week, Month} }

// MaxWindowDays is the longest custom window (contract 32).
const MaxWindowDays = 400

// The years that a custom window may touch: the years that the store can represent.
const (
	minWindowYear = 1970
	maxWindowYear = 2199
)

// FilteredDays is the part of a window that a filtered read covers (Limits: filtered analytics reads).
const FilteredDays = 90

// hourDays is the window, in days, from which hours are too fine (contract 50).
const hourDays = 90

// Window is the span of time that a read covers: From is included, To is excluded.
type Window struct {
	// Key is the range word of the window, for example 7d.
	Key      string
	From, To time.Time
	// Interval is the window's default interval.
	Interval Interval
	// Location is the application's time zone; days begin at its midnights.
	Location *time.Location
}

// DefaultWindow is the window of a request that names no range (contract 32).
const DefaultWindow = "7d"

// WindowKeys lists the range words of analytics, the custom form last.
func WindowKeys() []string {
	return []string{"24h", "7d", "14d", "30d", "90d", "12m", "today", "yesterday", "custom:<YYYY-MM-DD>..<YYYY-MM-DD>"}
}

// ParseWindow parses a range word. Relative windows end with the second of now, so that equal requests of the same
// second are one query (docs/decisions/0032-read-raw-rows-by-numbers.md). Their length is exact by the local time of
// loc. Custom windows reach from the first day's midnight to the end of the last day.
func ParseWindow(key string, now time.Time, loc *time.Location) (Window, *FieldError) {
	if key == "" {
		key = DefaultWindow
	}
	local, end := now.In(loc), secondAfter(now).In(loc)
	window := Window{Key: key, To: end, Location: loc}
	switch key {
	case "24h":
		window.From = end.Add(-24 * time.Hour)
	case "7d", "14d", "30d", "90d":
		days := map[string]int{"7d": 7, "14d": 14, "30d": 30, "90d": 90}[key]
		window.From = end.AddDate(0, 0, -days)
	case "12m":
		window.From = end.AddDate(-1, 0, 0)
	case "today":
		window.From = Day.Floor(local)
	case "yesterday":
		window.To = Day.Floor(local)
		window.From = Day.Floor(window.To.AddDate(0, 0, -1))
	default:
		var problem *FieldError
		if window.From, window.To, problem = parseCustomWindow(key, loc); problem != nil {
			return Window{}, problem
		}
	}
	window.Interval = window.grain()
	return window, nil
}

// parseCustomWindow parses custom:<first day>..<last day>.
func parseCustomWindow(key string, loc *time.Location) (from, to time.Time, problem *FieldError) {
	invalid := func(format string, args ...any) (time.Time, time.Time, *FieldError) {
		return from, to, &FieldError{Field: "range", Code: "unknown_value", Message: fmt.Sprintf(format, args...), Allowed: WindowKeys()}
	}
	days, isCustom := strings.CutPrefix(key, "custom:")
	first, last, isSpan := strings.Cut(days, "..")
	if !isCustom || !isSpan {
		return invalid("Unknown range %q.", key)
	}
	begin, err := time.Parse(time.DateOnly, first)
	if err != nil {
		return invalid("The range's first day %q is not a date.", first)
	}
	end, err := time.Parse(time.DateOnly, last)
	if err != nil {
		return invalid("The range's last day %q is not a date.", last)
	}
	switch {
	case end.Before(begin):
		return invalid("The range ends before it begins.")
	case !end.Before(begin.AddDate(0, 0, MaxWindowDays)):
		return invalid("The range is longer than %d days.", MaxWindowDays)
	case begin.Year() < minWindowYear || end.Year() > maxWindowYear:
		return invalid("The range leaves the years %d to %d.", minWindowYear, maxWindowYear)
	}
	from = Midnight(begin.Year(), begin.Month(), begin.Day(), loc)
	return from, Midnight(end.Year(), end.Month(), end.Day()+1, loc), nil
}

// secondAfter returns the first whole second that is not before an instant.
func secondAfter(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

// grain returns the window's default interval (contract 32).
func (w Window) grain() Interval {
	switch length := w.To.Sub(w.From); {
	case length <= 48*time.Hour:
		return Hour
	case !w.To.After(w.From.AddDate(0, 0, 90)):
		return Day
	case !w.To.After(w.From.AddDate(1, 0, 0)):
		return Week
	}
	return Month
}

// Previous returns the equally long window immediately before. Its length is measured in local time, so that the days
// before a clock change are whole days; 24h is always exactly 24 hours.
func (w Window) Previous() Window {
	previous := w
	previous.To = w.From
	if w.Key == "24h" {
		previous.From = w.From.Add(-w.To.Sub(w.From))
		return previous
	}
	begin := onTheWall(w.From, w.Location)
	begin = begin.Add(-onTheWall(w.To, w.Location).Sub(begin))
	if begin.Equal(begin.Truncate(24 * time.Hour)) {
		previous.From = Midnight(begin.Year(), begin.Month(), begin.Day(), w.Location)
		return previous
	}
	previous.From = time.Date(begin.Year(), begin.Month(), begin.Day(), begin.Hour(), begin.Minute(), begin.Second(), begin.Nanosecond(), w.Location)
	return previous
}

// onTheWall returns the local time of a place at an instant, as an instant of UTC.
func onTheWall(t time.Time, loc *time.Location) time.Time {
	local := t.In(loc)
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
}

// Capped returns the part of the window that a filtered read covers and whether it is less than the whole window.
func (w Window) Capped() (Window, bool) {
	earliest := w.To.In(w.Location).AddDate(0, 0, -FilteredDays)
	if !w.From.Before(earliest) {
		return w, false
	}
	w.From = earliest
	return w, true
}

// Intervals lists the intervals into which the window may be divided.
func (w Window) Intervals() []Interval {
	if !w.To.Before(w.From.AddDate(0, 0, hourDays)) {
		return []Interval{Day, Week, Month}
	}
	return []Interval{Hour, Day, Week, Month}
}

// ParseInterval parses the interval of a series; the empty word is the window's default.
func (w Window) ParseInterval(word string) (Interval, *FieldError) {
	if word == "" {
		return w.Interval, nil
	}
	if slices.Contains(w.Intervals(), Interval(word)) {
		return Interval(word), nil
	}
	allowed := make([]string, 0, 4)
	for _, interval := range w.Intervals() {
		allowed = append(allowed, string(interval))
	}
	return "", &FieldError{
		Field: "interval", Code: "unknown_value",
		Message: fmt.Sprintf("The interval %q does not suit this range.", word), Allowed: allowed,
	}
}

// Buckets returns the beginnings of all buckets that the window touches; the first one may begin before From.
func (w Window) Buckets(interval Interval) []time.Time {
	var out []time.Time
	for t := interval.Floor(w.From.In(w.Location)); t.Before(w.To); t = interval.Next(t) {
		out = append(out, t)
	}
	return out
}

// Floor returns the beginning of the bucket that contains t, in t's location. Weeks begin on Monday.
func (i Interval) Floor(t time.Time) time.Time {
	year, month, day := t.Date()
	switch i {
	case Hour:
		// Truncating the elapsed minutes separates the two equal hours after the clock is set back.
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case Week:
		day -= (int(t.Weekday()) + 6) % 7
	case Month:
		day = 1
	case Day:
	}
	return Midnight(year, month, day, t.Location())
}

// Midnight returns the first instant of a day: the end of the previous day, found backwards from noon. If the clock is
// set forward at midnight, that is not 00:00. If it is set back to midnight, 00:00 happens twice, and time.Date may
// return the second one.
func Midnight(year int, month time.Month, day int, loc *time.Location) time.Time {
	noon := time.Date(year, month, day, 12, 0, 0, 0, loc)
	year, month, day = noon.Date()
	for at := noon; ; {
		_, offset := at.Zone()
		begin := time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Add(-time.Duration(offset) * time.Second).In(loc)
		if changed, _ := at.ZoneBounds(); changed.After(begin) {
			begin = changed
		}
		before := begin.Add(-1)
		if y, m, d := before.Date(); y != year || m != month || d != day {
			return begin
		}
		at = before
	}
}

// Next returns the beginning of the bucket after the one that begins at t.
func (i Interval) Next(t time.Time) time.Time {
	year, month, day := t.Date()
	switch i {
	case Hour:
		return i.Floor(t.Add(time.Hour))
	case Week:
		day += 7
	case Month:
		month, day = month+1, 1
	default:
		day++
	}
	next := Midnight(year, month, day, t.Location())
	for !next.After(t) { // The clock skipped the day, as Samoa's did in 2011.
		day++
		next = Midnight(year, month, day, t.Location())
	}
	return next
}

// Delta returns the change from previous to current as a percentage of the size of previous, with one decimal.
// It is positive if current is greater, also if previous is negative. It is nil if previous is zero or the
// change is no finite number.
func Delta(current, previous float64) *float64 {
	percent := math.Round((current-previous)/math.Abs(previous)*1000) / 10
	if previous == 0 || math.IsNaN(percent) || math.IsInf(percent, 0) {
		return nil
	}
	percent += 0 // A negative zero becomes zero.
	return &percent
}

// MonthOf names the UTC month of an instant, in which tokens and budgets are counted.
func MonthOf(now time.Time) string { return now.UTC().Format("2006-01") }
