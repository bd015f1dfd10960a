package demo

import (
	"math/rand/v2"
	"time"
)

// seed makes every demo the same.
const seed = 20261122

// day is one day of the demo; the first has the number 0.
type day struct {
	number int
	begin  time.Time
	random *rand.Rand
	visits []visit
}

// newDay returns a day with its visits.
func newDay(number int, until time.Time) *day {
	d := &day{number: number, begin: until.Truncate(24*time.Hour).AddDate(0, 0, number-days+1), random: rand.New(rand.NewPCG(seed, uint64(number)))}
	for _, who := range comers(number) {
		d.visits = append(d.visits, d.visit(who))
	}
	return d
}

// at returns an instant of the day, mostly about noon and seldom at night.
func (d *day) at() time.Time {
	share := 0.55 + (d.random.Float64()+d.random.Float64()+d.random.Float64()-1.5)*0.33
	return d.begin.Add(time.Duration(min(0.995, max(0.005, share)) * float64(24*time.Hour)))
}

// busy returns the relative traffic of a day: it grows from week to week, is lower at weekends, and is highest when the
// launch was in the news.
func busy(number int) float64 {
	factor := 1 + float64(number)/120
	if number%7 >= 5 {
		factor *= 0.55
	}
	if launch := number - 62; launch >= 0 && launch < 4 {
		factor *= 2.6 - 0.5*float64(launch)
	}
	return factor
}

// weighted is a choice and its weight.
type weighted[T any] struct {
	value  T
	weight float64
}

// pick chooses by weight; share lies between 0 and 1.
func pick[T any](share float64, of []weighted[T]) T {
	total := 0.0
	for _, one := range of {
		total += one.weight
	}
	left := share * total
	for _, one := range of {
		if left -= one.weight; left < 0 {
			return one.value
		}
	}
	return of[0].value
}
