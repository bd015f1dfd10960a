package domain

const (
	// MaxShards limits the stores among which the environments are divided.
	MaxShards = 64
	// shardBits is the number of bits for the shard in an environment's number; the bits above are random.
	shardBits = 6
)

// EnvironmentNumber makes the number of an environment on a shard. It has at most 53 bits, so that every JSON reader
// represents it exactly. The number determines the shard unless the environment was moved: numbers of shard 0 are odd.
// In the numbers of other shards, the bits above the lowest contain the shard.
func EnvironmentNumber(chance uint64, shard int) uint64 {
	chance >>= 11
	if shard == 0 {
		return chance | 1
	}
	return chance&^(1<<(shardBits+1)-1) | uint64(shard)<<1
}

// ShardOf returns the shard in the number of an environment. The environment's items are in the partitions of that
// shard, and so are its rows, unless they were moved.
func ShardOf(environment uint64) int {
	if environment&1 == 1 {
		return 0
	}
	return int(environment >> 1 & (MaxShards - 1))
}

// LeastShard returns the shard with the fewest environments among a number of shards, the first one if several have
// equally few. Environments of other shards do not count; of returns the shard of an environment.
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

// LogShape is the division of the event log. Each shard has as many partitions as there are for actors; the partitions
// of shard 0 come first. So an unavailable shard delays only its own partitions, and an additional shard leaves every
// item in its partition.
type LogShape struct{ Partitions, Shards int }

// Total returns the number of partitions of the log.
func (s LogShape) Total() int { return s.Partitions * max(1, s.Shards) }

// Of returns the log partition for an item of an environment, from its place among the partitions of a shard.
func (s LogShape) Of(environment uint64, place int) int {
	if shard := ShardOf(environment); shard < s.Shards {
		return shard*s.Partitions + place
	}
	return place
}

// Place returns the place of a partition within its shard. It is also the partition of the actors that run on the owner
// of the log partition.
func (s LogShape) Place(partition int) int { return partition % s.Partitions }
