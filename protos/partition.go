// Package protos holds the messages on the wire: the records of the log, the calls of
// actors, and how events are placed on partitions. The .pb.go files are generated.
package protos

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/encoding/protowire"
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

// PartitionOf returns the partition of the log that carries what a name of an environment
// stands for, in the order in which it was accepted.
func PartitionOf(environment uint64, name string, partitions int) int {
	return int(VisitorHash(environment, name) % uint64(partitions))
}

// DerivedSession begins the ids of sessions that no client named. The number of the thread follows.
const DerivedSession = "ses_"

// Thread returns the number of the thread of an event: the events among which its visit is found. Those of one
// session id are one thread. Without a session id, those of one device are, and without a device those of one
// known id. So a login in the middle of a visit does not change the thread. A derived session id names its thread.
func Thread(environment uint64, session, anonymous, distinct string) uint64 {
	name := session
	if name == "" {
		name = anonymous
	}
	if name == "" {
		name = distinct
	}
	if thread, derived := derivedThread(environment, session); derived {
		return thread
	}
	return VisitorHash(environment, name)
}

// derivedThread returns the thread that a derived session id names.
func derivedThread(environment uint64, session string) (thread uint64, derived bool) {
	words, derived := strings.CutPrefix(session, DerivedSession)
	if !derived {
		return 0, false
	}
	number, _, _ := strings.Cut(words, "_")
	sum, err := strconv.ParseUint(number, 36, 64)
	return VisitorHashOf(environment, sum), err == nil
}

// PartitionOfThread returns the partition of the log that carries the events of a thread, in the order in which they
// were accepted.
func PartitionOfThread(thread uint64, partitions int) int { return int(thread % uint64(partitions)) }

// SessionHash names a session of a visitor by the XXH3 of its id, as the store computes it.
func SessionHash(id string) uint64 { return xxh3.HashString(id) }

// PartitionOfIssue returns the partition of the log that carries the
// occurrences of an issue, by the issue's number. The issue's actor lives where
// that partition is owned.
func PartitionOfIssue(issue uint64, partitions int) int { return int(issue % uint64(partitions)) }

// PartitionOfMetric returns the partition of the log that carries the points of a
// metric of an environment: all its series are in the same one.
func PartitionOfMetric(environment uint64, name string, partitions int) int {
	return PartitionOf(environment, name, partitions)
}

// PartitionOfBilling returns the partition of the log that carries what is said of a subscription, payment or rate of an
// environment.
func PartitionOfBilling(environment uint64, subject string, partitions int) int {
	return PartitionOf(environment, subject, partitions)
}

// PartitionOfTally returns the partition of the log that carries the tallies of a source.
func PartitionOfTally(source string, partitions int) int {
	return int(xxh3.HashString(source) % uint64(partitions))
}

// SeriesNumber names a series of an environment by its metric's name and its labels,
// keys and values in turn and sorted by key.
func SeriesNumber(environment uint64, name string, labels []string) uint64 {
	h := xxh3.New()
	_, _ = h.WriteString(name)
	for _, word := range labels {
		_, _ = h.Write([]byte{0})
		_, _ = h.WriteString(word)
	}
	return VisitorHashOf(environment, h.Sum64())
}

// EventKey names an event by 128 bits. Two events are the same if their thread, visitor and id are the same, so an
// id need not be unique beyond its visitor.
func EventKey(environment, thread uint64, visitor, id string) [2]uint64 {
	return EventKeyOf(thread, VisitorHash(environment, visitor), xxh3.HashString(id), xxhash.Sum64String(id))
}

// EventKeyOf is EventKey if the hash of the visitor and XXH3 and XXH64 of the id are known.
func EventKeyOf(thread, visitor, xxh3Sum, xxh64Sum uint64) [2]uint64 {
	return KeyOf(visitor^bits.RotateLeft64(thread, 24), xxh3Sum, xxh64Sum)
}

// OccurrenceKey names an occurrence by 128 bits: by its issue, which belongs to one environment, its visitor and its id.
func OccurrenceKey(issue uint64, visitor, id string) [2]uint64 {
	return KeyOf(VisitorHash(issue, visitor), xxh3.HashString(id), xxhash.Sum64String(id))
}

// PointKey names a metric point by 128 bits: by its series, which belongs to one
// environment, and its id.
func PointKey(series uint64, id string) [2]uint64 {
	return KeyOf(series, xxh3.HashString(id), xxhash.Sum64String(id))
}

// InstantKey is PointKey of a point whose instant is its id, for series that have one
// point an instant.
func InstantKey(series uint64, tsMs int64) [2]uint64 { return KeyOf(series, 0, uint64(tsMs)) }

// BillingKey names a billing item by 128 bits: by its kind, its subject and its id.
func BillingKey(environment uint64, kind, subject, id string) [2]uint64 {
	return BillingKeyOf(VisitorHash(environment, subject), xxh3.HashString(kind), xxh3.HashString(id), xxhash.Sum64String(id))
}

// BillingKeyOf is BillingKey if the hash of the subject, XXH3 of the kind and XXH3 and XXH64 of the id are known.
func BillingKeyOf(subject, kind, xxh3Sum, xxh64Sum uint64) [2]uint64 {
	return KeyOf(subject^bits.RotateLeft64(kind, 24), xxh3Sum, xxh64Sum)
}

// KeyOf is a key whose hash of the owner (the visitor, or the series) and XXH3 and
// XXH64 of the id are known, as the store computes them.
func KeyOf(owner, xxh3Sum, xxh64Sum uint64) [2]uint64 {
	return [2]uint64{xxh3Sum ^ bits.RotateLeft64(owner*spread, 32), xxh64Sum ^ owner}
}

// Divide cuts the bytes of a Record into Records of at most limit bytes, in order. An item
// that alone is longer stands alone; what is no Record is returned whole.
func Divide(record []byte, limit int) [][]byte {
	var out [][]byte
	start, at := 0, 0
	for at < len(record) {
		_, _, n := protowire.ConsumeField(record[at:])
		if n < 0 {
			return [][]byte{record}
		}
		if at+n-start > limit && at > start {
			out = append(out, record[start:at])
			start = at
		}
		at += n
	}
	return append(out, record[start:])
}

// Tags of Record's fields on the wire: number, length-delimited.
const (
	eventField      = 1<<3 | 2
	occurrenceField = 2<<3 | 2
	pointField      = 3<<3 | 2
	billingField    = 5<<3 | 2
)

// AppendRecord appends an event to the bytes of a Record.
func AppendRecord(record []byte, event *Event) ([]byte, error) {
	size := event.SizeVT()
	record, start := appendRoom(record, eventField, size)
	if _, err := event.MarshalToSizedBufferVT(record[start:]); err != nil {
		return record[:start], err
	}
	return record, nil
}

// AppendOccurrence appends an occurrence to the bytes of a Record.
func AppendOccurrence(record []byte, occurrence *Occurrence) ([]byte, error) {
	size := occurrence.SizeVT()
	record, start := appendRoom(record, occurrenceField, size)
	if _, err := occurrence.MarshalToSizedBufferVT(record[start:]); err != nil {
		return record[:start], err
	}
	return record, nil
}

// AppendPoint appends a metric point to the bytes of a Record.
func AppendPoint(record []byte, point *MetricPoint) ([]byte, error) {
	size := point.SizeVT()
	record, start := appendRoom(record, pointField, size)
	if _, err := point.MarshalToSizedBufferVT(record[start:]); err != nil {
		return record[:start], err
	}
	return record, nil
}

// AppendBilling appends a billing item to the bytes of a Record.
func AppendBilling(record []byte, billing *Billing) ([]byte, error) {
	size := billing.SizeVT()
	record, start := appendRoom(record, billingField, size)
	if _, err := billing.MarshalToSizedBufferVT(record[start:]); err != nil {
		return record[:start], err
	}
	return record, nil
}

// appendRoom appends the head of a field and room for its content, which begins
// at start.
func appendRoom(record []byte, field byte, size int) (grown []byte, start int) {
	record = append(record, field)
	record = binary.AppendUvarint(record, uint64(size))
	start = len(record)
	if cap(record)-start < size {
		larger := make([]byte, start, 2*cap(record)+size)
		copy(larger, record)
		record = larger
	}
	return record[:start+size], start
}
