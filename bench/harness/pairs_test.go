package main

import "testing"

// TestOutside holds the places to the table of the sign test: so many of n coins fall as rarely as one of twenty, both ways.
func TestOutside(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 15: 4, 20: 6, 30: 10, 40: 14} {
		if got := outside(n); got != want {
			t.Errorf("of %d values the median lies between those at place %d, want %d", n, got, want)
		}
	}
}
