package harness

import (
	"fmt"
	"math"
	"slices"
)

// Pairs is the ratio of figures to others that were measured in turns with them.
type Pairs struct {
	// Median is the median of the ratios of the pairs.
	Median float64
	// Low and High enclose the true median with a probability of 95 %; both are 0 if there are too few pairs.
	Low, High float64
	N         int
}

// Compare divides each figure by that of its turn. Both lists have one value per turn, and there is at least one turn.
func Compare(figures, floor []float64) Pairs {
	ratios := make([]float64, len(figures))
	for n := range ratios {
		ratios[n] = figures[n] / floor[n]
	}
	slices.Sort(ratios)
	n := len(ratios)
	p := Pairs{Median: (ratios[(n-1)/2] + ratios[n/2]) / 2, N: n}
	if out := outside(n); out > 0 {
		p.Low, p.High = ratios[out-1], ratios[n-out]
	}
	return p
}

// Line describes the result in words; of is the reference.
func (p Pairs) Line(name, of string) string {
	line := fmt.Sprintf("%s: %.3f %s, %d pairs", name, p.Median, of, p.N)
	if p.High > 0 {
		line += fmt.Sprintf(", 95 %% between %.3f and %.3f", p.Low, p.High)
	}
	return line + "."
}

// outside returns a place, counted from 1. Of n sorted values, the ones at this place from either end enclose the true
// median with a probability of at least 95 %, by the sign test (Conover, Practical Nonparametric Statistics, section
// 3.2). It is 0 if n values are too few.
func outside(n int) (place int) {
	likely := math.Ldexp(1, -n) // the probability of exactly place values below the median
	for tail := likely; 2*tail <= 0.05; tail += likely {
		place++
		likely *= float64(n-place+1) / float64(place)
	}
	return place
}
