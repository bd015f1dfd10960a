package svc

const (
	// MaxShards bounds the stores that share the rows of environments.
	MaxShards = 64
	// shardBits hold a shard in the number of an environment; above them stands chance.
	shardBits = 6
)

// EnvironmentNumber makes the number of an environment that lives on a shard of 53 random bits, so
// that every JSON reader keeps it exactly. The number says where the environment lives unless it was
// moved: those of shard 0 are odd, and of the others the bits above the lowest hold the shard.
func EnvironmentNumber(chance uint64, shard int) uint64 {
	chance >>= 11
	if shard == 0 {
		return chance | 1
	}
	return chance&^(1<<(shardBits+1)-1) | uint64(shard)<<1
}

// ShardOf returns the shard that the number of an environment names: its items are in the partitions of that
// shard, and its rows are there, too, unless they were moved.
func ShardOf(environment uint64) int {
	if environment&1 == 1 {
		return 0
	}
	return int(environment >> 1 & (MaxShards - 1))
}

// LeastShard returns the shard of the fewest environments among a number of shards, the first of
// those that have equally few. Environments of other shards do not count; of says where one lives.
func LeastShard(shards int, of func(environment uint64) int, environments func(yield func(environment uint64) bool)) int {
	if shards < 2 {
		return 0
	}
	held := make([]int, shards)
	for environment := range environments {
		if shard := of(environment); shard < shards {
			held[shard]++
		}
	}
	least := 0
	for shard, count := range held {
		if count < held[least] {
			least = shard
		}
	}
	return least
}

// LogShape says how the log of events is divided: each shard has as many partitions as actors are placed
// by, those of shard 0 first. So a shard that is away holds up nothing but its own partitions, and a
// further shard leaves every item in the partition in which it was.
type LogShape struct{ Partitions, Shards int }

// Total returns the number of partitions of the log.
func (s LogShape) Total() int { return s.Partitions * max(1, s.Shards) }

// Of returns the partition of the log for an item of an environment, from its place among as many
// partitions as a shard has.
func (s LogShape) Of(environment uint64, place int) int {
	if shard := ShardOf(environment); shard < s.Shards {
		return shard*s.Partitions + place
	}
	return place
}

// Place returns the place of a partition among those of its shard, which is also the partition of the
// actors that live where it is owned.
func (s LogShape) Place(partition int) int { return partition % s.Partitions }
