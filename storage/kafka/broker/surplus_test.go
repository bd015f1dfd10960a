package broker

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSurplusCountsWholeFiles measures a partition with given files.
func TestSurplusCountsWholeFiles(t *testing.T) {
	b := &Broker{dir: t.TempDir()}
	if before, err := b.Surplus("a b", 3, 1); before != 0 || err != nil {
		t.Errorf("of no partition: %d, %v", before, err)
	}
	dir := partitionDir(b.dir, "a b", 3)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{
		"00000000000000000000.dat": 100, "00000000000000000050.dat": 100, "00000000000000000090.dat": 30,
		"00000000000000000090.idx": 500, "snapshot.json": 500,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for keep, want := range map[int64]int64{30: 90, 31: 50, 130: 50, 131: 0, 1000: 0} {
		if before, err := b.Surplus("a b", 3, keep); before != want || err != nil {
			t.Errorf("keeping %d bytes: below %d may go, want %d (%v)", keep, before, want, err)
		}
	}
}
