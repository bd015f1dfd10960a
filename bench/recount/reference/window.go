package reference

import (
	"fmt"
	"strings"
	"time"
)

// Window is a span of time with its default interval.
type Window struct {
	From, To time.Time
	Grain    string
	// Exact is true for 24h, which is 24 hours long even if the clock changes.
	Exact bool
}

// Stamp is a time in the format of answers.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Window parses a range word for a request at now; relative ranges end with its second.
func (d *Data) Window(word string, now time.Time) (Window, error) {
	if now = now.In(d.Zone); now.Nanosecond() > 0 {
		now = now.Truncate(time.Second).Add(time.Second)
	}
	w := Window{To: now}
	days := map[string]int{"7d": 7, "14d": 14, "30d": 30, "90d": 90}
	switch {
	case word == "24h":
		w.From, w.Exact = now.Add(-24*time.Hour), true
	case days[word] > 0:
		w.From = now.AddDate(0, 0, -days[word])
	case word == "12m":
		w.From = now.AddDate(-1, 0, 0)
	case word == "today":
		w.From = d.floor(now, "day")
	case word == "yesterday":
		w.To = d.floor(now, "day")
		w.From = d.floor(w.To.Add(-time.Hour), "day")
	default:
		first, last, found := strings.Cut(strings.TrimPrefix(word, "custom:"), "..")
		begin, err := time.Parse(time.DateOnly, first)
		end, err2 := time.Parse(time.DateOnly, last)
		if !found || err != nil || err2 != nil {
			return w, fmt.Errorf("%q is no range", word)
		}
		// Every day has a noon, even if the clock changes at midnight.
		w.From = d.floor(time.Date(begin.Year(), begin.Month(), begin.Day(), 12, 0, 0, 0, d.Zone), "day")
		w.To = d.floor(time.Date(end.Year(), end.Month(), end.Day()+1, 12, 0, 0, 0, d.Zone), "day")
	}
	w.Grain = w.grain()
	return w, nil
}

func (w Window) grain() string {
	switch {
	case w.To.Sub(w.From) <= 48*time.Hour:
		return "hour"
	case !w.To.After(w.From.AddDate(0, 0, 90)):
		return "day"
	case !w.To.After(w.From.AddDate(0, 12, 0)):
		return "week"
	}
	return "month"
}

// Intervals returns the intervals into which the window may be divided.
func (w Window) Intervals() []string {
	if !w.To.Before(w.From.AddDate(0, 0, 90)) {
		return []string{"day", "week", "month"}
	}
	return []string{"hour", "day", "week", "month"}
}

// Capped is the part of the window that a filtered read covers.
func (w Window) Capped(filters map[string]string) (Window, bool) {
	earliest := w.To.AddDate(0, 0, -90)
	if len(filters) == 0 || !w.From.Before(earliest) {
		return w, false
	}
	w.From = earliest
	return w, true
}

// previous returns the begin of the equally long window before w. The wall clock measures the length, so that a window
// of three days is preceded by three days even if the clock changed.
func (d *Data) previous(w Window) time.Time {
	if w.Exact {
		return w.From.Add(-w.To.Sub(w.From))
	}
	wall := func(t time.Time) time.Time {
		t = t.In(d.Zone)
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	}
	from := wall(w.From)
	from = from.Add(-wall(w.To).Sub(from))
	if from.Equal(from.Truncate(24 * time.Hour)) {
		return d.floor(time.Date(from.Year(), from.Month(), from.Day(), 12, 0, 0, 0, d.Zone), "day")
	}
	return time.Date(from.Year(), from.Month(), from.Day(), from.Hour(), from.Minute(), from.Second(), from.Nanosecond(), d.Zone)
}

// quarter divides every boundary between hours and days, in all present zones.
const quarter = 15 * time.Minute

// floor is the beginning of the hour, day, week or month that holds t.
func (d *Data) floor(t time.Time, interval string) time.Time {
	t = t.In(d.Zone)
	switch interval {
	case "hour":
		within := time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
		return t.Add(-within)
	case "week":
		for d.floor(t, "day").Weekday() != time.Monday {
			t = d.floor(t, "day").Add(-time.Hour)
		}
	case "month":
		for d.floor(t, "day").Day() != 1 {
			t = d.floor(t, "day").Add(-time.Hour)
		}
	}
	return d.midnight(t)
}

// midnight walks back in quarters of an hour while the day stays the same.
func (d *Data) midnight(t time.Time) time.Time {
	year, month, day := t.Date()
	key := [3]int{year, int(month), day}
	if begin, known := d.days.Load(key); known {
		return begin.(time.Time)
	}
	begin := t.Truncate(quarter)
	for {
		y, m, other := begin.Add(-quarter).Date()
		if y != year || m != month || other != day {
			break
		}
		begin = begin.Add(-quarter)
	}
	d.days.Store(key, begin)
	return begin
}

// next is the beginning of the bucket after the one that begins at t.
func (d *Data) next(t time.Time, interval string) time.Time {
	step := map[string]time.Duration{"hour": quarter, "day": time.Hour, "week": 24 * time.Hour, "month": 24 * time.Hour}[interval]
	for after := t.Add(step); ; after = after.Add(step) {
		if begin := d.floor(after, interval); begin.After(t) {
			return begin
		}
	}
}

// buckets are the beginnings of all buckets that a window touches.
func (d *Data) buckets(w Window, interval string) []time.Time {
	var all []time.Time
	for t := d.floor(w.From, interval); t.Before(w.To); t = d.next(t, interval) {
		all = append(all, t)
	}
	return all
}
