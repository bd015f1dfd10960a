package pipeline

import "sync/atomic"

// Ownership is which partitions of the log this node owns, as the group
// coordinator last said. It is the cluster's placement.
type Ownership struct {
	// Lease says until when a generation may be trusted; nil trusts every one
	// until the next begins.
	Lease   Lease
	current atomic.Pointer[ownedPartitions]
}

// Lease is this member's standing with the group coordinator.
type Lease interface {
	// Holds reports whether no other node can own what this one owns in a
	// generation, as far as the coordinator was heard of lately.
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

// Generation returns the present generation, and whether there is one.
func (o *Ownership) Generation() (int32, bool) {
	current := o.present()
	if current == nil {
		return 0, false
	}
	return current.generation, true
}

// Partitions returns how many partitions this node owns.
func (o *Ownership) Partitions() int {
	if current := o.present(); current != nil {
		return len(current.partitions)
	}
	return 0
}

// present returns what is owned while the lease holds, else nil.
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
