package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"time"
)

const (
	// Sizes of the bytes before a value in a produce request: the length of the record set, the header of its one batch
	// (version 2), and the maximum header of the one record in the batch.
	setHeader    = 4
	batchHeader  = 61
	recordHeader = 14

	// blockHeader is the room that a block leaves before its value.
	blockHeader = setHeader + batchHeader + recordHeader

	// blockRecycled is the capacity in bytes of the largest buffer that is reused.
	blockRecycled = 256 << 10
)

// block is one record under construction: payloads are appended until it is sealed. Its deadline is the latest deadline
// of its waiters.
type block struct {
	buf      []byte
	sent     bytes.Reader
	waiters  []*waiter
	deadline time.Time

	size   int
	sealed []byte

	// unsure reports that an attempt may have appended the record.
	unsure bool
}

func newBlock() *block {
	return &block{buf: make([]byte, blockHeader, 4<<10)}
}

// add copies a payload to the end of the value.
func (b *block) add(payload []byte, deadline time.Time, w *waiter) {
	b.buf = append(b.buf, payload...)
	b.size += len(payload)
	b.waiters = append(b.waiters, w)
	if deadline.After(b.deadline) {
		b.deadline = deadline
	}
}

// seal ends the record and sets its time to now. No payload may be added afterwards. The record is complete after
// [block.stamp].
func (b *block) seal(now time.Time) {
	var fields, head [recordHeader]byte
	record := append(fields[:0], 0, 0, 0) // attributes, deltas of time and offset
	record = binary.AppendVarint(record, -1)
	record = binary.AppendVarint(record, int64(b.size))
	b.buf = append(b.buf, 0) // no headers
	length := binary.AppendVarint(head[:0], int64(len(record)+b.size+1))

	at := blockHeader - len(length) - len(record)
	copy(b.buf[at:], length)
	copy(b.buf[at+len(length):], record)
	at -= batchHeader
	sealBatch(b.buf[at:], now.UnixMilli())
	at -= setHeader
	b.sealed = b.buf[at:]
	binary.BigEndian.PutUint32(b.sealed, uint32(len(b.sealed)-setHeader))
}

// sealBatch writes the header of a batch that ends with its only record, except the fields that [block.stamp] writes.
func sealBatch(batch []byte, millis int64) {
	be := binary.BigEndian
	be.PutUint64(batch[0:], 0)                     // first offset
	be.PutUint32(batch[8:], uint32(len(batch)-12)) // length of the rest
	be.PutUint32(batch[12:], 1<<32-1)              // leader epoch, unknown
	batch[16] = 2                                  // version
	be.PutUint16(batch[21:], 0)                    // attributes
	be.PutUint32(batch[23:], 0)                    // last offset delta
	be.PutUint64(batch[27:], uint64(millis))       // first time
	be.PutUint64(batch[35:], uint64(millis))       // last time
	be.PutUint32(batch[57:], 1)                    // records
}

// stamp writes the producer identity, the sequence number and the checksum of the sealed record.
func (b *block) stamp(who identity, sequence int32) {
	be, batch := binary.BigEndian, b.sealed[setHeader:]
	be.PutUint64(batch[43:], uint64(who.id))
	be.PutUint16(batch[51:], uint16(who.epoch))
	be.PutUint32(batch[53:], uint32(sequence))
	be.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
}

// reader returns the sealed record set from its start. The reader is valid
// until the next call.
func (b *block) reader() *bytes.Reader {
	b.sent.Reset(b.sealed)
	return &b.sent
}

// reset prepares the block for new payloads. It reports whether the buffer is small enough to be reused.
func (b *block) reset() bool {
	clear(b.waiters)
	*b = block{buf: b.buf[:blockHeader], waiters: b.waiters[:0]}
	return cap(b.buf) <= blockRecycled
}
