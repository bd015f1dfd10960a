package spool

import (
	"encoding/binary"
	"hash/crc32"

	"svc/domain/event"
)

// A frame holds one part: length of the payload, partition, checksum over these two and the payload, payload. Numbers
// are little-endian.
const frameHeader = 12

// maxFrame limits the payload of a frame. A larger length is noise from a torn write.
const maxFrame = 64 << 20

//nolint:gochecknoglobals // a table of constants
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a part to a buffer.
func appendFrame(out []byte, part event.Part) []byte {
	start := len(out)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(part.Payload)))
	out = binary.LittleEndian.AppendUint32(out, uint32(part.Partition))
	sum := crc32.Update(crc32.Checksum(out[start:], castagnoli), castagnoli, part.Payload)
	out = binary.LittleEndian.AppendUint32(out, sum)
	return append(out, part.Payload...)
}

// cutFrame reads the first part of a buffer. ok is false at the end and at a torn write. The part's payload is a slice
// of the buffer.
func cutFrame(in []byte) (part event.Part, rest []byte, ok bool) {
	if len(in) < frameHeader {
		return event.Part{}, nil, false
	}
	size := binary.LittleEndian.Uint32(in)
	if size > maxFrame || uint64(len(in)) < frameHeader+uint64(size) {
		return event.Part{}, nil, false
	}
	payload := in[frameHeader : frameHeader+size]
	if crc32.Update(crc32.Checksum(in[:8], castagnoli), castagnoli, payload) != binary.LittleEndian.Uint32(in[8:]) {
		return event.Part{}, nil, false
	}
	return event.Part{Partition: int(binary.LittleEndian.Uint32(in[4:])), Payload: payload}, in[frameHeader+size:], true
}
