package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// kind is the kind of a record.
type kind byte

const (
	owned   kind = iota // counts within the reign of its writer
	free                // always counts
	barrier             // begins a reign
)

// A record has one header, with its kind and its reign.
const (
	headerName = "r"
	headerSize = 1 + 8
)

// Positions in the header of a batch (version 2), and the size of the header.
const (
	lengthAt, versionAt, crcAt, attributesAt, lastAt, firstTimeAt = 8, 16, 17, 21, 23, 27
	lastTimeAt, producerAt, epochAt, sequenceAt, countAt          = 35, 43, 51, 53, 57
	batchHead                                                     = 61
)

// recordRoom is the maximum size of a record without its key and value.
const recordRoom = 48

// batchRoom is the space for records in the largest batch.
const batchRoom = largestBatch - batchHead

// barrierKey returns the key of the barrier of a reign. Every barrier has its own key, so that compaction retains all
// of them.
func barrierKey(reign Reign) string {
	return string(binary.BigEndian.AppendUint64([]byte("\x00barrier/"), uint64(reign)))
}

// errKey reports a malformed key.
var errKey = errors.New("the key of a record is empty or begins with a zero byte")

// sizeOf returns the maximum size of records in a batch, or an error if they cannot be appended.
func sizeOf(records []Record) (size int, err error) {
	for _, r := range records {
		if r.Key == "" || r.Key[0] == 0 {
			return 0, errKey
		}
		size += len(r.Key) + len(r.Value) + recordRoom
	}
	if size > batchRoom {
		return 0, fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	}
	return size, nil
}

// encode returns records as one batch without producer fields, see [stamp].
func encode(what kind, reign Reign, records []Record, now time.Time) []byte {
	be := binary.BigEndian
	size := batchHead
	for _, r := range records {
		size += len(r.Key) + len(r.Value) + recordRoom
	}
	out := make([]byte, batchHead, size)
	for n, r := range records {
		out = appendRecord(out, n, what, reign, r)
	}
	millis := uint64(now.UnixMilli())
	be.PutUint32(out[lengthAt:], uint32(len(out)-lengthAt-4))
	be.PutUint32(out[lengthAt+4:], 1<<32-1) // leader epoch, unknown
	out[versionAt] = 2
	be.PutUint32(out[lastAt:], uint32(len(records)-1))
	be.PutUint64(out[firstTimeAt:], millis)
	be.PutUint64(out[lastTimeAt:], millis)
	be.PutUint32(out[countAt:], uint32(len(records)))
	return out
}

// appendRecord appends a record; place is its index in the batch.
func appendRecord(out []byte, place int, what kind, reign Reign, r Record) []byte {
	var body [recordRoom]byte
	head := append(body[:0], 0, 0) // attributes, delta of time
	head = binary.AppendVarint(head, int64(place))
	head = binary.AppendVarint(head, int64(len(r.Key)))
	valueLength := int64(-1)
	if r.Value != nil {
		valueLength = int64(len(r.Value))
	}
	var lengthBuffer [binary.MaxVarintLen64]byte
	length := binary.AppendVarint(lengthBuffer[:0], valueLength)
	const tail = 1 + 1 + len(headerName) + 1 + headerSize // number of headers, name, value

	out = binary.AppendVarint(out, int64(len(head)+len(r.Key)+len(length)+len(r.Value)+tail))
	out = append(out, head...)
	out = append(out, r.Key...)
	out = append(out, length...)
	out = append(out, r.Value...)
	out = binary.AppendVarint(out, 1)
	out = binary.AppendVarint(out, int64(len(headerName)))
	out = append(out, headerName...)
	out = binary.AppendVarint(out, headerSize)
	out = append(out, byte(what))
	return binary.BigEndian.AppendUint64(out, uint64(reign))
}

// identity is a producer's id, epoch and next sequence number. With the sequence number the broker recognises a batch
// that is sent again.
type identity struct {
	id       int64
	epoch    int16
	sequence int32
}

// stamp writes the producer, the sequence number and the checksum into a batch.
func stamp(batch []byte, who identity) {
	be := binary.BigEndian
	be.PutUint64(batch[producerAt:], uint64(who.id))
	be.PutUint16(batch[epochAt:], uint16(who.epoch))
	be.PutUint32(batch[sequenceAt:], uint32(who.sequence))
	be.PutUint32(batch[crcAt:], crc32.Checksum(batch[attributesAt:], crc32.MakeTable(crc32.Castagnoli)))
}
