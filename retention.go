package svc

import (
	"slices"
	"time"
)

// CohortIntervals lists the widths of cohorts.
func CohortIntervals() []Interval { return []Interval{Week, Month} }

// ParseCohortInterval reads the width of cohorts; the empty word is a week.
func ParseCohortInterval(word string) (Interval, *FieldError) {
	if word == "" {
		return Week, nil
	}
	if slices.Contains(CohortIntervals(), Interval(word)) {
		return Interval(word), nil
	}
	return "", &FieldError{
		Field: "cohortBy", Code: "unknown_value", Message: "Cohorts are made by week or month.",
		Allowed: []string{string(Week), string(Month)},
	}
}

// RetentionQuery asks which visitors came back.
type RetentionQuery struct {
	AnalyticsScope
	CohortBy Interval
	// Event is the only event that counts as activity; empty means any.
	Event string
}

// Cohort is the visitors whose first-ever event fell in the same period and, where the
// read is filtered, who caused an event in that period which passes the filters.
type Cohort struct {
	// From is the beginning of the period in the application's time zone.
	From time.Time
	Size uint64
	// Periods counts who was active so many periods later, up to the end of the window.
	// The first one is the size.
	Periods []uint64
}

// Retention is dense: a period without newcomers is a cohort of size zero.
type Retention struct {
	CohortBy Interval
	Capped   bool
	Cohorts  []Cohort
}

// ActiveUsers holds rolling uniques for every local day of a window: those of the day,
// and of the 7 and 30 days that end with it. Stickiness is DAU/MAU of the same day, 0
// where there is no MAU.
type ActiveUsers struct {
	Capped                    bool
	DAU, WAU, MAU, Stickiness []Point
}

// The rolling windows of active users, in days.
const (
	WeeklyDays  = 7
	MonthlyDays = 30
)

// Gaps counts, for every active day of every visitor, the days since the visitor's
// active day before it: Gaps[day][gap] visitors, where a gap of zero stands for none
// within MonthlyDays.
type Gaps map[int]*[MonthlyDays]uint64

// Add counts visitors who were active on a day and, before it, last so many days ago.
func (g Gaps) Add(day, gap int, visitors uint64) {
	if g[day] == nil {
		g[day] = &[MonthlyDays]uint64{}
	}
	if gap >= MonthlyDays {
		gap = 0
	}
	g[day][gap] += visitors
}

// Rolling returns, for every day of [0, days), who was active on it or on the width-1
// days before it. An active day makes its visitor count for width days; those
// that the active day before covers already are left out.
func (g Gaps) Rolling(width, days int) []uint64 {
	changes := make([]int64, days+1)
	for day, gaps := range g {
		for gap, visitors := range gaps {
			begin := day
			if gap > 0 {
				begin = max(day, day-gap+width)
			}
			end := min(day+width, days)
			if begin = max(begin, 0); begin < end {
				changes[begin] += int64(visitors)
				changes[end] -= int64(visitors)
			}
		}
	}
	out, active := make([]uint64, days), int64(0)
	for day := range out {
		active += changes[day]
		out[day] = uint64(active)
	}
	return out
}
