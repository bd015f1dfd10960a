package datadir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// taken returns the number of bytes that a file occupies on disk.
func taken(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// TestTheReserveTakesItsSpace holds and releases a reserve. It also takes over a reserve that an earlier process left
// complete or cut off.
func TestTheReserveTakesItsSpace(t *testing.T) {
	dir := t.TempDir()
	const size = 3<<20 + 4096
	path := filepath.Join(dir, reserveName)
	r := NewReserve(dir, size)
	if r.Held() {
		t.Error("an empty folder holds a reserve")
	}
	if err := r.Hold(); err != nil || !r.Held() || taken(t, path) < size {
		t.Fatalf("held %t, %d bytes are taken, %v", r.Held(), taken(t, path), err)
	}
	if next := NewReserve(dir, size); !next.Held() {
		t.Error("the next process does not know the reserve")
	}
	for range 2 {
		if err := r.Release(); err != nil || r.Held() || taken(t, path) != 0 {
			t.Errorf("after giving it up: held %t, %d bytes are taken, %v", r.Held(), taken(t, path), err)
		}
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil { // same length, occupies nothing
		t.Fatal(err)
	}
	hollow := NewReserve(dir, size)
	if hollow.Held() {
		t.Error("a hollow file counts as a reserve")
	}
	if err := hollow.Hold(); err != nil || taken(t, path) < size {
		t.Errorf("%d bytes are taken, %v", taken(t, path), err)
	}
}

func TestAReserveThatDoesNotFitLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	r := NewReserve(filepath.Join(dir, "missing"), 1)
	if err := r.Hold(); err == nil || r.Held() {
		t.Errorf("held %t, %v", r.Held(), err)
	}
}
