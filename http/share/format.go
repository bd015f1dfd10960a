package share

import (
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc/domain"
	"svc/domain/analytics"
)

// exact writes a count with commas between thousands.
func exact(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// short writes a count in at most four characters and a letter: 999, 1.2k, 12k, 3.4M. It never
// rounds up to 1000 of a unit.
func short(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10)
	}
	value := float64(n)
	for _, letter := range []string{"k", "M", "B", "T"} {
		value /= 1000
		rounded := math.Round(value*10) / 10
		if rounded >= 100 {
			rounded = math.Round(value)
		}
		if rounded < 1000 || letter == "T" {
			return strings.TrimSuffix(strconv.FormatFloat(rounded, 'f', 1, 64), ".0") + letter
		}
	}
	return ""
}

// percent writes a share of one as whole percents.
func percent(ratio float64) string { return strconv.Itoa(int(math.Round(ratio*100))) + "%" }

// length writes a duration in words.
func length(millis uint64) string {
	seconds := (millis + 500) / 1000
	switch hours, minutes := seconds/3600, seconds/60%60; {
	case hours > 0:
		return strconv.FormatUint(hours, 10) + "h " + strconv.FormatUint(minutes, 10) + "m"
	case minutes > 0:
		return strconv.FormatUint(minutes, 10) + "m " + strconv.FormatUint(seconds%60, 10) + "s"
	}
	return strconv.FormatUint(seconds, 10) + "s"
}

// readable writes a path with its escapes decoded. A path stays unchanged if decoding would make another path of it, or
// would reveal invisible characters.
func readable(path string) string {
	plain, err := url.PathUnescape(path)
	unseen := func(r rune) bool { return !unicode.IsPrint(r) }
	if err != nil || !utf8.ValidString(plain) || strings.ContainsFunc(plain, unseen) {
		return path
	}
	for _, mark := range []string{"/", "%", "?", "#", " "} {
		if strings.Contains(path, url.PathEscape(mark)) || strings.Contains(path, strings.ToLower(url.PathEscape(mark))) {
			return path
		}
	}
	return plain
}

// perVisit writes the page views of a session with one decimal.
func perVisit(h analytics.Headline) string {
	if h.Sessions == 0 {
		return "0"
	}
	return strconv.FormatFloat(float64(h.Pageviews)/float64(h.Sessions), 'f', 1, 64)
}

// change is the comparison of a number with the one before.
type change struct {
	// Direction is up, down or same; the page writes it in words next to the arrow.
	Direction, Text string
	// Good is yes, no, or empty if neither direction is better.
	Good   string
	Before string
}

// changeOf compares two numbers. If fewer is better, down is good.
func changeOf(now, before float64, shownBefore string, fewerIsBetter bool) *change {
	c := &change{Direction: "same", Text: "0%", Before: shownBefore}
	switch {
	case before == 0 && now > 0:
		c.Direction, c.Text = "up", "new"
	case now > before:
		c.Direction, c.Text = "up", points(100*(now-before)/before)
	case now < before:
		c.Direction, c.Text = "down", points(100*(before-now)/before)
	}
	if c.Direction != "same" {
		c.Good = map[bool]string{true: "yes", false: "no"}[(c.Direction == "up") != fewerIsBetter]
	}
	return c
}

// points writes a change in percent: one decimal below ten, whole above, in
// short form from a thousand.
func points(delta float64) string {
	switch {
	case delta < 10:
		return strings.TrimSuffix(strconv.FormatFloat(delta, 'f', 1, 64), ".0") + "%"
	case delta < 1000:
		return strconv.Itoa(int(math.Round(delta))) + "%"
	}
	return short(uint64(math.Round(delta))) + "%"
}

// bucketName names a bucket of a series, and marks one that the window cuts.
func bucketName(at time.Time, interval domain.Interval, window domain.Window) string {
	at = at.In(window.Location)
	var name string
	switch interval {
	case domain.Hour:
		name = at.Format("Mon 2 Jan, 15:04")
	case domain.Week:
		name = "Week of " + at.Format("2 Jan")
	case domain.Month:
		name = at.Format("January 2006")
	case domain.Day:
		name = at.Format("Mon 2 Jan")
	}
	if at.Before(window.From) || interval.Next(at).After(window.To) {
		name += " (in part)"
	}
	return name
}

// axisName names a bucket below the chart.
func axisName(at time.Time, interval domain.Interval, span string) string {
	switch {
	case interval == domain.Month:
		return at.Format("Jan")
	case interval == domain.Hour && span == "24h":
		return at.Format("15:04")
	}
	return at.Format("2 Jan")
}

// spanName names the days that a window covers.
func spanName(window domain.Window) string {
	from, to := window.From.In(window.Location), window.To.In(window.Location)
	switch {
	case window.Key == "24h":
		return from.Format("2 Jan, 15:04") + " – " + to.Format("2 Jan 2006, 15:04")
	case from.Year() != to.Year():
		return from.Format("2 Jan 2006") + " – " + to.Format("2 Jan 2006")
	}
	return from.Format("2 Jan") + " – " + to.Format("2 Jan 2006")
}
