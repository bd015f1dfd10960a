package cluster

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Kind is one row of the table of actor kinds.
type Kind struct {
	Name string
	// Rank orders the kinds: an actor may call only kinds of a lower rank.
	Rank int
	// Idle is how long an activation stays in memory without a message. Zero means forever.
	Idle time.Duration
	// InFlight limits the requests of the kind that are under way on a node. Further requests are refused as
	// unavailable. Zero means DefaultInFlight.
	InFlight int
	// Stays means that an activation does not stop at the end of its partition's ownership. It must hold nothing that
	// the next generation does not replace.
	Stays bool
	// New creates the actor of an identity. It performs no I/O.
	New func(identity string) actor.Actor
	// Partition returns the partition of an identity. If it is nil, the identity is hashed.
	Partition func(identity string, partitions int) int
}

// DefaultInFlight is the default limit of requests under way per kind.
const DefaultInFlight = 4096

// Placement reports which partitions of the log this node owns.
type Placement interface {
	// Owned returns the generation of the ownership of a partition, and reports whether this node owns it now.
	Owned(partition int) (generation uint32, owned bool)
}

// partitionOf returns the partition of an identity of the kind.
func (k *Kind) partitionOf(identity string, partitions int) int {
	if k.Partition != nil {
		return k.Partition(identity, partitions)
	}
	return HashPartition(k.Name+"/"+identity, partitions)
}

// HashPartition maps a name to one of n partitions, evenly.
func HashPartition(name string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	// The finalizer of splitmix64 spreads FNV's weak low bits.
	x := h.Sum64()
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(n))
}

func indexKinds(kinds []Kind) (map[string]*Kind, error) {
	index := make(map[string]*Kind, len(kinds))
	for i := range kinds {
		kind := kinds[i]
		if kind.Name == "" || kind.New == nil {
			return nil, fmt.Errorf("kind %d has no name or no constructor", i)
		}
		if index[kind.Name] != nil {
			return nil, fmt.Errorf("kind %q is listed twice", kind.Name)
		}
		if kind.InFlight == 0 {
			kind.InFlight = DefaultInFlight
		}
		index[kind.Name] = &kind
	}
	return index, nil
}
