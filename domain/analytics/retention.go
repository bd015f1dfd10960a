package analytics

import (
	"slices"
	"time"

	"svc/domain"
)

// CohortIntervals lists the widths of cohorts.
func CohortIntervals() []domain.Interval { return []domain.Interval{domain.Week, domain.Month} }

// ParseCohortInterval parses the width of cohorts; the empty word is a week.
func ParseCohortInterval(word string) (domain.Interval, *domain.FieldError) {
	if word == "" {
		return domain.Week, nil
	}
	if slices.Contains(CohortIntervals(), domain.Interval(word)) {
		return domain.Interval(word), nil
	}
	return "", &domain.FieldError{
		Field: "cohortBy", Code: "unknown_value", Message: "Cohorts are made by week or month.",
		Allowed: []string{string(domain.Week), string(domain.Month)},
	}
}

// RetentionQuery selects cohorts and the visitors that returned.
type RetentionQuery struct {
	Scope
	CohortBy domain.Interval
	// Event is the only event that counts as activity; empty means any.
	Event string
}

// Cohort is the visitors whose first event ever was in the same period. If the read is filtered, they must also have an
// event in that period that passes the filters.
type Cohort struct {
	// From is the beginning of the period in the application's time zone.
	From time.Time
	Size uint64
	// Periods[n] counts the visitors that were active n periods later, up to the end of the window. The first one is
	// the size.
	Periods []uint64
}

// Retention is dense: a period without newcomers is a cohort of size zero.
type Retention struct {
	CohortBy domain.Interval
	Capped   bool
	Cohorts  []Cohort
}

// ActiveUsers holds rolling uniques for every local day of a window: of the day, and of the 7 and 30 days that end with
// it. Stickiness is DAU/MAU of the same day, 0 if MAU is 0.
type ActiveUsers struct {
	Capped                    bool
	DAU, WAU, MAU, Stickiness []Point
}

// The rolling windows of active users, in days.
const (
	WeeklyDays  = 7
	MonthlyDays = 30
)

// Gaps counts, for every active day of every visitor, the days since the visitor's previous active day: Gaps[day][gap]
// visitors. A gap of zero stands for no active day within MonthlyDays.
type Gaps map[int]*[MonthlyDays]uint64

// Add counts visitors that were active on a day and whose previous active day was gap days earlier.
func (g Gaps) Add(day, gap int, visitors uint64) {
	if g[day] == nil {
		g[day] = &[MonthlyDays]uint64{}
	}
	if gap >= MonthlyDays {
		gap = 0
	}
	g[day][gap] += visitors
}

// Rolling returns, for every day of [0, days), the number of visitors active on it or on the width-1 days before it. An
// active day counts its visitor for width days, except for the days that the previous active day already covers.
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
