package cluster

import (
	"fmt"
	"testing"
)

func TestHashPartitionIsEven(t *testing.T) {
	const names, partitions = 100_000, 16
	schemes := map[string]func(n int) string{
		"counted":    func(n int) string { return fmt.Sprintf("application/org-%d/app", n) },
		"one number": func(n int) string { return fmt.Sprint(n) },
		"hex":        func(n int) string { return fmt.Sprintf("token/%064x", n) },
	}
	for name, scheme := range schemes {
		t.Run(name, func(t *testing.T) {
			var counts [partitions]int
			for n := range names {
				counts[HashPartition(scheme(n), partitions)]++
			}
			for partition, got := range counts {
				if mean := names / partitions; got < mean*9/10 || got > mean*11/10 {
					t.Errorf("partition %d has %d names, want %d within 10 %%", partition, got, mean)
				}
			}
		})
	}
}

// TestHashPartitionIsStable fixes the placement: another function would move actors away from the data that they stored
// under a generation's ownership.
func TestHashPartitionIsStable(t *testing.T) {
	tests := []struct {
		name string
		n    int
		want int
	}{
		{"", 16, 11},
		{"a", 1, 0},
		{"a", 16, 8},
		{"organization/acme", 16, 2},
		{"organization/acme", 12, 6},
		{"application/acme/shop", 16, 4},
		{"user/ünï", 7, 5},
		{"token/0000000000000000000000000000000000000000000000000000000000000000", 1024, 933},
	}
	for _, test := range tests {
		if got := HashPartition(test.name, test.n); got != test.want {
			t.Errorf("HashPartition(%q, %d) = %d, want %d", test.name, test.n, got, test.want)
		}
	}
}

func TestAKindPlacesItsIdentities(t *testing.T) {
	hashed := Kind{Name: "thing"}
	if got, want := hashed.partitionOf("a", 16), HashPartition("thing/a", 16); got != want {
		t.Errorf("a hashed identity is in partition %d, want %d", got, want)
	}
	named := Kind{Name: "thing", Partition: func(identity string, partitions int) int { return len(identity) % partitions }}
	if got := named.partitionOf("abcde", 4); got != 1 {
		t.Errorf("a placed identity is in partition %d, want 1", got)
	}
}
