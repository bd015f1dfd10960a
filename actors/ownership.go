package actors

import "sync/atomic"

// Ownership is which partitions of the log this node owns, as the group
// coordinator last said. It is the cluster's placement.
type Ownership struct {
	current atomic.Pointer[ownedPartitions]
}

type ownedPartitions struct {
	generation int32
	partitions map[int]bool
}

// Owned returns the generation, and whether this node owns a partition in it.
func (o *Ownership) Owned(partition int) (uint32, bool) {
	current := o.current.Load()
	if current == nil || !current.partitions[partition] {
		return 0, false
	}
	return uint32(current.generation), true
}

// Generation returns the present generation, and whether there is one.
func (o *Ownership) Generation() (int32, bool) {
	current := o.current.Load()
	if current == nil {
		return 0, false
	}
	return current.generation, true
}

// Partitions returns how many partitions this node owns.
func (o *Ownership) Partitions() int {
	if current := o.current.Load(); current != nil {
		return len(current.partitions)
	}
	return 0
}

func (o *Ownership) begin(generation int32, partitions []int) {
	owned := &ownedPartitions{generation: generation, partitions: map[int]bool{}}
	for _, partition := range partitions {
		owned.partitions[partition] = true
	}
	o.current.Store(owned)
}

func (o *Ownership) end() { o.current.Store(nil) }
