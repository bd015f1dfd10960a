package process

import "testing"

// TestASmallHeapIsCollectedLessOften checks the allocation between two collections: four times the live heap, but at
// most 256 MiB unless the live heap is larger.
func TestASmallHeapIsCollectedLessOften(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]uint64{0: 0, 1 * mib: 4 * mib, 32 * mib: 128 * mib, 64 * mib: 256 * mib, 128 * mib: 256 * mib, 256 * mib: 256 * mib, 1024 * mib: 1024 * mib} {
		if got := live * uint64(garbagePercent(live)) / 100; got != want {
			t.Errorf("of %d MiB live, %d MiB may be allocated, want %d", live/mib, got/mib, want/mib)
		}
	}
}
