package posthog

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// readTime reads the time of an event. said is false if the event has no time. The time is zero if it is not readable.
func readTime(raw json.RawMessage) (at time.Time, said bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	text = strings.TrimSpace(text)
	if text == "" || len(raw) == 0 {
		return time.Time{}, false
	}
	return timeOf(text), true
}

// timeLayouts are the forms in which clients write times. They cover ISO 8601 and its variants, the forms of
// programming languages, and the forms of HTTP and mail. A time without a zone is in UTC.
//
//nolint:gochecknoglobals // read only
var timeLayouts = makeTimeLayouts()

func makeTimeLayouts() []string {
	var layouts []string
	for _, day := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "20060102T150405"} {
		for _, zone := range []string{"Z07:00", "Z0700", "Z07", "", " Z07:00", " Z0700", " -0700 MST", " MST"} {
			layouts = append(layouts, day+zone)
		}
	}
	return append(layouts, time.DateOnly, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", time.RFC850, "2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST", "Mon Jan 2 2006 15:04:05 GMT-0700", time.ANSIC, time.UnixDate, time.RubyDate)
}

// timeOf reads a time. It returns zero if the text is not readable.
func timeOf(text string) time.Time {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at
	}
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return epochTime(number)
	}
	text, _, _ = strings.Cut(text, " (") // Texts of JavaScript end with the name of the zone.
	if iso := strings.ToUpper(text); len(iso) > 10 && iso[10] == 'T' {
		text = iso
	}
	for _, layout := range timeLayouts {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if name, offset := at.Zone(); offset == 0 && strings.HasSuffix(layout, "MST") && name != "UTC" && name != "GMT" && name != "Z" {
			return time.Time{} // This is the abbreviation of an unknown zone.
		}
		return at
	}
	return time.Time{}
}

// epochTime reads a number of seconds, milliseconds, microseconds or nanoseconds since 1970. The size of the number
// determines the unit: from 1973 on, the four ranges do not overlap.
func epochTime(number float64) time.Time {
	const earliest, latest = 1e8, 1e11 // In seconds these are the years 1973 and 5138.
	for scale := 1.0; scale <= 1e9; scale *= 1000 {
		if seconds := number / scale; seconds >= earliest && seconds < latest {
			whole, part := math.Modf(seconds)
			return time.Unix(int64(whole), int64(part*1e9)).UTC().Round(time.Millisecond)
		}
	}
	return time.Time{}
}

// MillisecondTime reads the send time in the query of posthog-js. It returns zero if the query has none.
func MillisecondTime(text string) time.Time {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
