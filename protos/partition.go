// Package protos is what crosses the wire: the records of the log, the calls of
// actors, and how events are placed on partitions. The .pb.go files are generated.
package protos

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// VisitorHash names a visitor of an environment by 64 bits.
func VisitorHash(environment uint64, visitor string) uint64 {
	return xxh3.HashStringSeed(visitor, environment)
}

// PartitionOf returns the partition of the log that carries a visitor's events.
// Every event of one visitor of one environment is in the same one, in the
// order in which they were accepted.
func PartitionOf(environment uint64, visitor string, partitions int) int {
	return int(VisitorHash(environment, visitor) % uint64(partitions))
}

// EventKey names an event of an environment by 128 bits of its id.
func EventKey(environment uint64, id string) [2]uint64 {
	sum := xxh3.HashString128Seed(id, environment)
	return [2]uint64{sum.Hi, sum.Lo}
}

// eventField is the tag of Record.events on the wire: field 1, length-delimited.
const eventField = 1<<3 | 2

// AppendRecord appends an event to the bytes of a Record.
func AppendRecord(record []byte, event *Event) ([]byte, error) {
	size := event.SizeVT()
	record = append(record, eventField)
	record = binary.AppendUvarint(record, uint64(size))
	start := len(record)
	if cap(record)-start < size {
		grown := make([]byte, start, 2*cap(record)+size)
		copy(grown, record)
		record = grown
	}
	record = record[:start+size]
	if _, err := event.MarshalToSizedBufferVT(record[start:]); err != nil {
		return record[:start], err
	}
	return record, nil
}
