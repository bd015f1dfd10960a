package svc_test

import (
	"testing"

	"svc"
)

// TestUsageCountsAdd adds items of two keys, and removes some again.
func TestUsageCountsAdd(t *testing.T) {
	t.Parallel()
	stored := svc.UsageKey{Environment: 7, Day: 20_000, Signal: svc.SignalEvents, Fate: svc.FateStored}
	invalid := stored
	invalid.Fate, invalid.Code = svc.FateInvalid, "too_long"
	var counts svc.UsageCounts
	counts.Add(svc.UsageCount{UsageKey: stored, Items: 3, Bytes: 300, Last: 5})
	counts.Add(svc.UsageCount{UsageKey: invalid, Items: 1, Last: 9})
	counts.Add(svc.UsageCount{UsageKey: stored, Items: -1, Bytes: -100, Last: 4})
	if len(counts) != 2 || counts[0] != (svc.UsageCount{UsageKey: stored, Items: 2, Bytes: 200, Last: 5}) || counts[1] != (svc.UsageCount{UsageKey: invalid, Items: 1, Last: 9}) {
		t.Errorf("the counts are %+v", counts)
	}
}

// BenchmarkUsageCountsAdd measures the accounting cost per folded item, in a block with items of five environments.
func BenchmarkUsageCountsAdd(b *testing.B) {
	var counts svc.UsageCounts
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		key := svc.UsageKey{Environment: uint64(n % 5), Day: 20_000, Signal: svc.SignalEvents, Fate: svc.FateStored}
		counts.Add(svc.UsageCount{UsageKey: key, Items: 1, Bytes: 200, Last: int64(n)})
	}
}
