package flag_test

import (
	"math"
	"testing"

	"svc/domain/flag"
)

// TestWilsonIntervals compares the interval with Table I of R. G. Newcombe, Two-sided confidence intervals for the
// single proportion: comparison of seven methods, Statistics in Medicine 17 (1998), method 3.
func TestWilsonIntervals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		successes, trials uint64
		low, high         float64
	}{
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{0, 20, 0, 0.1611},
		{1, 29, 0.0061, 0.1718},
		{0, 0, 0, 1},
		{20, 20, 1 - 0.1611, 1},
	} {
		if low, high := flag.Wilson95(tc.successes, tc.trials); math.Abs(low-tc.low) > 5e-5 || math.Abs(high-tc.high) > 5e-5 {
			t.Errorf("%d of %d is %.4f to %.4f, the table has %.4f to %.4f", tc.successes, tc.trials, low, high, tc.low, tc.high)
		}
	}
}

// TestAWinnerNeedsTheData expects a winner if the difference to each other variant is clear, and otherwise the missing
// data.
func TestAWinnerNeedsTheData(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		arms         []flag.Arm
		variant, why string
	}{
		"one variant":           {[]flag.Arm{{"a", 1000, 500}}, "", "one_variant"},
		"none":                  {nil, "", "one_variant"},
		"a small arm":           {[]flag.Arm{{"a", 99, 99}, {"b", 1000, 0}}, "", "too_few_exposures"},
		"equal":                 {[]flag.Arm{{"a", 1000, 100}, {"b", 1000, 100}}, "", "no_clear_difference"},
		"nobody converts":       {[]flag.Arm{{"a", 100, 0}, {"b", 100, 0}}, "", "no_clear_difference"},
		"a small difference":    {[]flag.Arm{{"a", 1000, 110}, {"b", 1000, 100}}, "", "no_clear_difference"},
		"a clear difference":    {[]flag.Arm{{"a", 1000, 100}, {"b", 1000, 150}}, "b", ""},
		"all against none":      {[]flag.Arm{{"a", 100, 0}, {"b", 100, 100}}, "b", ""},
		"one of three is near":  {[]flag.Arm{{"a", 1000, 100}, {"b", 1000, 150}, {"c", 1000, 145}}, "", "no_clear_difference"},
		"best of three":         {[]flag.Arm{{"a", 1000, 100}, {"b", 1000, 200}, {"c", 1000, 145}}, "b", ""},
		"clear but for several": {[]flag.Arm{{"a", 500, 50}, {"b", 500, 71}, {"c", 500, 50}, {"d", 500, 50}, {"e", 500, 50}}, "", "no_clear_difference"},
		"clear of one other":    {[]flag.Arm{{"a", 500, 50}, {"b", 500, 71}}, "b", ""},
	} {
		if variant, why := flag.Winner(tc.arms); variant != tc.variant || why != tc.why {
			t.Errorf("%s: the winner is %q for %q, not %q for %q", name, variant, why, tc.variant, tc.why)
		}
	}
}
