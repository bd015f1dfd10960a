package domain

import (
	"math"
	"slices"
	"testing"
)

// TestTheNumberOfAnEnvironmentNamesItsShard checks that the numbers survive JSON, are never zero, and encode their
// shards for any random bits.
func TestTheNumberOfAnEnvironmentNamesItsShard(t *testing.T) {
	for _, chance := range []uint64{0, 1, 1 << 11, math.MaxUint64, 0x9E3779B97F4A7C15} {
		seen := map[uint64]bool{}
		for shard := range MaxShards {
			number := EnvironmentNumber(chance, shard)
			if ShardOf(number) != shard || number == 0 || number >= 1<<53 || seen[number] {
				t.Errorf("chance %x on shard %d is %x, of shard %d", chance, shard, number, ShardOf(number))
			}
			seen[number] = true
		}
		if was := chance>>11 | 1; EnvironmentNumber(chance, 0) != was {
			t.Errorf("a number on shard 0 is %x, and always was %x", EnvironmentNumber(chance, 0), was)
		}
	}
}

func TestLeastShard(t *testing.T) {
	on := func(shards ...int) (numbers []uint64) {
		for n, shard := range shards {
			numbers = append(numbers, EnvironmentNumber(uint64(n+1)<<40, shard))
		}
		return numbers
	}
	for _, c := range []struct {
		name   string
		shards int
		held   []uint64
		want   int
	}{
		{"one shard", 1, on(0, 0), 0},
		{"nothing yet", 3, nil, 0},
		{"a new shard", 2, on(0, 0, 0), 1},
		{"the first of equals", 3, on(0, 1, 2, 1), 0},
		{"shards that are not listed", 2, on(0, 5, 5), 1},
	} {
		if got := LeastShard(c.shards, ShardOf, slices.Values(c.held)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
