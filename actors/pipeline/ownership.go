package pipeline

import "sync/atomic"

// Ownership holds the partitions of the log that this node owns, as the group coordinator last assigned them. It is the
// cluster's placement.
type Ownership struct {
	// Lease limits the time for which a generation is trusted. Nil trusts every generation until the next begins.
	Lease   Lease
	current atomic.Pointer[ownedPartitions]
}

// Lease is the membership of this node in the consumer group.
type Lease interface {
	// Holds reports whether no other node can own the partitions of this node in a generation, judged by the last
	// contact with the coordinator.
	Holds(generation int32) bool
}

type ownedPartitions struct {
	generation int32
	partitions map[int]bool
}

// Owned returns the generation, and whether this node owns a partition in it.
func (o *Ownership) Owned(partition int) (uint32, bool) {
	current := o.present()
	if current == nil || !current.partitions[partition] {
		return 0, false
	}
	return uint32(current.generation), true
}

// Generation returns the current generation, and whether there is one.
func (o *Ownership) Generation() (int32, bool) {
	current := o.present()
	if current == nil {
		return 0, false
	}
	return current.generation, true
}

// Partitions returns the number of partitions that this node owns.
func (o *Ownership) Partitions() int {
	if current := o.present(); current != nil {
		return len(current.partitions)
	}
	return 0
}

// present returns the owned partitions while the lease holds, else nil.
func (o *Ownership) present() *ownedPartitions {
	current := o.current.Load()
	if current == nil || o.Lease != nil && !o.Lease.Holds(current.generation) {
		return nil
	}
	return current
}

func (o *Ownership) begin(generation int32, partitions []int) {
	owned := &ownedPartitions{generation: generation, partitions: map[int]bool{}}
	for _, partition := range partitions {
		owned.partitions[partition] = true
	}
	o.current.Store(owned)
}
