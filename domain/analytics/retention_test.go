package analytics

import (
	"math/rand/v2"
	"slices"
	"testing"

	"svc/domain"
)

// TestRollingCountsEveryActiveVisitorOnce compares with sets over random histories.
func TestRollingCountsEveryActiveVisitorOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		const before, days = MonthlyDays - 1, 20
		gaps, active := Gaps{}, map[int]map[int]bool{}
		for visitor := range 40 {
			last, known := 0, false
			for day := -before; day < days; day++ {
				if random.IntN(1+visitor) > 1 {
					continue
				}
				gap := 0
				if known {
					gap = day - last
				}
				gaps.Add(day, gap, 1)
				last, known = day, true
				if active[day] == nil {
					active[day] = map[int]bool{}
				}
				active[day][visitor] = true
			}
		}
		for _, width := range []int{1, WeeklyDays, MonthlyDays} {
			want := make([]uint64, days)
			for day := range days {
				seen := map[int]bool{}
				for back := range width {
					for visitor := range active[day-back] {
						seen[visitor] = true
					}
				}
				want[day] = uint64(len(seen))
			}
			if got := gaps.Rolling(width, days); !slices.Equal(got, want) {
				t.Fatalf("width %d: got %v, want %v", width, got, want)
			}
		}
	}
}

func TestParseCohortInterval(t *testing.T) {
	for word, want := range map[string]domain.Interval{"": domain.Week, "week": domain.Week, "month": domain.Month, "day": "", "Week": ""} {
		if got, problem := ParseCohortInterval(word); got != want || (problem != nil) != (want == "") {
			t.Errorf("%q: %q, %v", word, got, problem)
		}
	}
}
