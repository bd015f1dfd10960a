package ingest_test

import (
	"testing"

	"svc/domain/ingest"
)

// TestUsageCountsAdd adds items of two keys, and removes some again.
func TestUsageCountsAdd(t *testing.T) {
	t.Parallel()
	stored := ingest.UsageKey{Environment: 7, Day: 20_000, Signal: ingest.SignalEvents, Fate: ingest.FateStored}
	invalid := stored
	invalid.Fate, invalid.Code = ingest.FateInvalid, "too_long"
	var counts ingest.UsageCounts
	counts.Add(ingest.UsageCount{UsageKey: stored, Items: 3, Bytes: 300, Last: 5})
	counts.Add(ingest.UsageCount{UsageKey: invalid, Items: 1, Last: 9})
	counts.Add(ingest.UsageCount{UsageKey: stored, Items: -1, Bytes: -100, Last: 4})
	if len(counts) != 2 || counts[0] != (ingest.UsageCount{UsageKey: stored, Items: 2, Bytes: 200, Last: 5}) || counts[1] != (ingest.UsageCount{UsageKey: invalid, Items: 1, Last: 9}) {
		t.Errorf("the counts are %+v", counts)
	}
}

// BenchmarkUsageCountsAdd measures the accounting cost per folded item, in a block with items of five environments.
func BenchmarkUsageCountsAdd(b *testing.B) {
	var counts ingest.UsageCounts
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		key := ingest.UsageKey{Environment: uint64(n % 5), Day: 20_000, Signal: ingest.SignalEvents, Fate: ingest.FateStored}
		counts.Add(ingest.UsageCount{UsageKey: key, Items: 1, Bytes: 200, Last: int64(n)})
	}
}
