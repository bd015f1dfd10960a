// Package protos has the messages on the wire, which are the records of the log and the calls of actors. It also maps
// events to partitions. The .pb.go files are generated.
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

// spread is odd, so multiplication by it is a bijection on environment numbers.
const spread = 0x9e3779b97f4a7c15

// VisitorHash returns a 64-bit hash of a visitor of an environment.
func VisitorHash(environment uint64, visitor string) uint64 {
	return VisitorHashOf(environment, xxh3.HashString(visitor))
}

// VisitorHashOf is VisitorHash for a visitor with a known XXH3, as the store computes it.
func VisitorHashOf(environment, xxh3Sum uint64) uint64 { return xxh3Sum ^ environment*spread }

// PartitionOf returns the partition of the log for a name of an environment. Everything about that name is in this
// partition, in the order of acceptance.
func PartitionOf(environment uint64, name string, partitions int) int {
	return int(VisitorHash(environment, name) % uint64(partitions))
}

// DerivedSession is the prefix of session ids that no client set. The number of the thread follows.
const DerivedSession = "ses_"

// Thread returns the number of an event's thread. A visit is found among the events of one thread. Events with the same
// session id form one thread. Without a session id, events of the same device do, and without a device, events of the
// same known id. A login in the middle of a visit therefore does not change the thread. A derived session id names its
// thread.
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

// derivedThread returns the thread of a derived session id.
func derivedThread(environment uint64, session string) (thread uint64, derived bool) {
	words, derived := strings.CutPrefix(session, DerivedSession)
	if !derived {
		return 0, false
	}
	number, _, _ := strings.Cut(words, "_")
	sum, err := strconv.ParseUint(number, 36, 64)
	return VisitorHashOf(environment, sum), err == nil
}

// PartitionOfThread returns the partition of the log with the events of a thread, in the order of acceptance.
func PartitionOfThread(thread uint64, partitions int) int { return int(thread % uint64(partitions)) }

// SessionHash returns the XXH3 of a session id, as the store computes it.
func SessionHash(id string) uint64 { return xxh3.HashString(id) }

// PartitionOfIssue returns the partition of the log with the occurrences of an issue. The owner of that partition also
// runs the issue's actor.
func PartitionOfIssue(issue uint64, partitions int) int { return int(issue % uint64(partitions)) }

// PartitionOfMetric returns the partition of the log with the points of a metric of an environment. All series of the
// metric are in the same partition.
func PartitionOfMetric(environment uint64, name string, partitions int) int {
	return PartitionOf(environment, name, partitions)
}

// PartitionOfBilling returns the partition of the log with the items of a subscription, payment or rate of an
// environment.
func PartitionOfBilling(environment uint64, subject string, partitions int) int {
	return PartitionOf(environment, subject, partitions)
}

// PartitionOfTally returns the partition of the log with the tallies of a source.
func PartitionOfTally(source string, partitions int) int {
	return int(xxh3.HashString(source) % uint64(partitions))
}

// SeriesNumber returns the number of a series of an environment, from the metric's name and the labels. labels has keys
// and values in turn, sorted by key.
func SeriesNumber(environment uint64, name string, labels []string) uint64 {
	h := xxh3.New()
	_, _ = h.WriteString(name)
	for _, word := range labels {
		_, _ = h.Write([]byte{0})
		_, _ = h.WriteString(word)
	}
	return VisitorHashOf(environment, h.Sum64())
}

// EventKey returns a 128-bit key of an event. Two events are the same if their thread, visitor and id are the same, so
// an id need not be unique beyond its visitor.
func EventKey(environment, thread uint64, visitor, id string) [2]uint64 {
	return EventKeyOf(thread, VisitorHash(environment, visitor), xxh3.HashString(id), xxhash.Sum64String(id))
}

// EventKeyOf is EventKey for a known hash of the visitor and known XXH3 and XXH64 of the id.
func EventKeyOf(thread, visitor, xxh3Sum, xxh64Sum uint64) [2]uint64 {
	return KeyOf(visitor^bits.RotateLeft64(thread, 24), xxh3Sum, xxh64Sum)
}

// OccurrenceKey returns a 128-bit key of an occurrence, from its issue, its visitor and its id. An issue belongs to one
// environment.
func OccurrenceKey(issue uint64, visitor, id string) [2]uint64 {
	return KeyOf(VisitorHash(issue, visitor), xxh3.HashString(id), xxhash.Sum64String(id))
}

// PointKey returns a 128-bit key of a metric point, from its series and its id. A series belongs to one environment.
func PointKey(series uint64, id string) [2]uint64 {
	return KeyOf(series, xxh3.HashString(id), xxhash.Sum64String(id))
}

// InstantKey is PointKey with the point's timestamp as its id, for series with at most one point per timestamp.
func InstantKey(series uint64, tsMs int64) [2]uint64 { return KeyOf(series, 0, uint64(tsMs)) }

// BillingKey returns a 128-bit key of a billing item, from its kind, its subject and its id.
func BillingKey(environment uint64, kind, subject, id string) [2]uint64 {
	return BillingKeyOf(VisitorHash(environment, subject), xxh3.HashString(kind), xxh3.HashString(id), xxhash.Sum64String(id))
}

// BillingKeyOf is BillingKey for a known hash of the subject, XXH3 of the kind, and XXH3 and XXH64 of the id.
func BillingKeyOf(subject, kind, xxh3Sum, xxh64Sum uint64) [2]uint64 {
	return KeyOf(subject^bits.RotateLeft64(kind, 24), xxh3Sum, xxh64Sum)
}

// KeyOf returns the key for a known hash of the owner (the visitor, or the series) and known XXH3 and XXH64 of the id,
// as the store computes them.
func KeyOf(owner, xxh3Sum, xxh64Sum uint64) [2]uint64 {
	return [2]uint64{xxh3Sum ^ bits.RotateLeft64(owner*spread, 32), xxh64Sum ^ owner}
}

// Divide splits the bytes of a Record into Records of at most limit bytes, in order. An item that exceeds limit gets a
// Record of its own. Bytes that are not a Record are returned unchanged.
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

// Tags of Record's fields on the wire: field number, length-delimited.
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

// appendRoom appends the header of a field and room for its content. The content begins at start.
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
