// Package protos is what crosses the wire: the records of the log, the calls of
// actors, and how events are placed on partitions. The .pb.go files are generated.
package protos

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
)

// spread is odd, so multiplying by it loses nothing of an environment's number.
const spread = 0x9e3779b97f4a7c15

// VisitorHash names a visitor of an environment by 64 bits.
func VisitorHash(environment uint64, visitor string) uint64 {
	return VisitorHashOf(environment, xxh3.HashString(visitor))
}

// VisitorHashOf is VisitorHash of a visitor whose XXH3 is known, as the store
// computes it.
func VisitorHashOf(environment, xxh3Sum uint64) uint64 { return xxh3Sum ^ environment*spread }

// PartitionOf returns the partition of the log that carries a visitor's events.
// Every event of one visitor of one environment is in the same one, in the
// order in which they were accepted.
func PartitionOf(environment uint64, visitor string, partitions int) int {
	return int(VisitorHash(environment, visitor) % uint64(partitions))
}

// EventKey names an event of an environment by 128 bits of its id.
func EventKey(environment uint64, id string) [2]uint64 {
	return EventKeyOf(environment, xxh3.HashString(id), xxhash.Sum64String(id))
}

// EventKeyOf is EventKey of an id whose XXH3 and XXH64 are known, as the store
// computes them.
func EventKeyOf(environment, xxh3Sum, xxh64Sum uint64) [2]uint64 {
	return [2]uint64{xxh3Sum ^ environment*spread, xxh64Sum}
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
