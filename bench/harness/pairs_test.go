package harness

import "testing"

// TestOutside compares the places with the table of the sign test, two-sided at 5 %.
func TestOutside(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 15: 4, 20: 6, 30: 10, 40: 14} {
		if got := outside(n); got != want {
			t.Errorf("of %d values the median lies between those at place %d, want %d", n, got, want)
		}
	}
}

func TestCompareTakesTheMedianOfThePairs(t *testing.T) {
	figures, floor := []float64{6, 20, 9, 8, 30, 12}, []float64{2, 10, 3, 2, 10, 3}
	if got, want := Compare(figures, floor), (Pairs{Median: 3, Low: 2, High: 4, N: 6}); got != want {
		t.Errorf("the pairs are %+v, want %+v", got, want)
	}
	if got, want := Compare(figures, floor).Line("a read", "of the bare one"), "a read: 3.000 of the bare one, 6 pairs, 95 % between 2.000 and 4.000."; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got, want := Compare(figures[:2], floor[:2]).Line("a read", "of the bare one"), "a read: 2.500 of the bare one, 2 pairs."; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
