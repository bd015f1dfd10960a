package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
)

// errCorrupt reports bytes that are not a batch.
var errCorrupt = errors.New("the log has bytes that are no batch of records")

// Bits in the attributes of a batch.
const (
	compressed = 0x07
	control    = 0x20
)

// cursor decodes a broker's bytes of one partition into entries. It is not safe for concurrent use.
type cursor struct {
	at Position
	// barrier is called with each barrier and its offset. It may be nil.
	barrier func(Reign, int64)
}

// read returns the entries of encoded batches and moves on past them. It omits barriers. An incomplete batch at the end
// comes again with the next answer.
func (c *cursor) read(raw []byte) (entries []Entry, err error) {
	be := binary.BigEndian
	for len(raw) >= batchHead {
		length := int(int32(be.Uint32(raw[lengthAt:]))) + lengthAt + 4
		if length < batchHead || raw[versionAt] != 2 {
			return nil, errCorrupt
		}
		if length > len(raw) {
			break
		}
		batch := raw[:length]
		raw = raw[length:]
		base := int64(be.Uint64(batch))
		end := base + int64(be.Uint32(batch[lastAt:])) + 1
		if end <= c.at.Offset {
			continue
		}
		if entries, err = c.readBatch(entries, batch, base); err != nil {
			return nil, fmt.Errorf("reading the batch at offset %d: %w", base, err)
		}
		c.at.Offset = end
	}
	return entries, nil
}

// readBatch appends the entries of a batch.
func (c *cursor) readBatch(entries []Entry, batch []byte, base int64) ([]Entry, error) {
	be := binary.BigEndian
	if crc32.Checksum(batch[attributesAt:], crc32.MakeTable(crc32.Castagnoli)) != be.Uint32(batch[crcAt:]) {
		return nil, fmt.Errorf("%w: the checksum differs", errCorrupt)
	}
	attributes := be.Uint16(batch[attributesAt:])
	if attributes&control != 0 {
		return entries, nil
	}
	raw := batch[batchHead:]
	if codec := attributes & compressed; codec != 0 {
		var err error
		if raw, err = kgo.DefaultDecompressor().Decompress(raw, kgo.CompressionCodecType(codec)); err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
	}
	fields := fields{rest: raw}
	for range be.Uint32(batch[countAt:]) {
		r, err := fields.record()
		if err != nil {
			return nil, err
		}
		offset := base + r.delta
		if offset < c.at.Offset {
			continue
		}
		if r.kind == barrier {
			c.at.Reign = r.reign
			if c.barrier != nil {
				c.barrier(r.reign, offset)
			}
			continue
		}
		entries = append(entries, Entry{
			Record: Record{Key: string(r.key), Value: cloneValue(r.value)}, Offset: offset,
			Free: r.kind == free,
			Void: r.kind == owned && c.at.Reign != 0 && r.reign != c.at.Reign,
		})
	}
	return entries, nil
}

// cloneValue copies a value; nil stays nil.
func cloneValue(value []byte) []byte {
	if value == nil {
		return nil
	}
	return append(make([]byte, 0, len(value)), value...)
}

// encodedRecord is a record of a batch. Its byte slices refer to the batch.
type encodedRecord struct {
	delta      int64
	key, value []byte
	kind       kind
	reign      Reign
}

// fields reads the fields of records. After the first error all fields are zero.
type fields struct {
	rest []byte
	bad  bool
}

// record reads the next record.
func (f *fields) record() (r encodedRecord, err error) {
	length := f.number()
	body := fields{rest: f.take(length), bad: f.bad}
	body.take(1)  // attributes
	body.number() // time
	r.delta = body.number()
	r.key = body.bytes()
	r.value = body.bytes()
	known := false
	for left := body.number(); left > 0 && !body.bad; left-- {
		name, value := body.bytes(), body.bytes()
		if string(name) == headerName && len(value) == headerSize {
			r.kind, r.reign, known = kind(value[0]), Reign(binary.BigEndian.Uint64(value[1:])), true
		}
	}
	if body.bad {
		return encodedRecord{}, errCorrupt
	}
	if !known || r.kind > barrier {
		return encodedRecord{}, fmt.Errorf("%w: a record of another writer, or of a later version", errCorrupt)
	}
	return r, nil
}

// number reads a varint.
func (f *fields) number() int64 {
	value, n := binary.Varint(f.rest)
	if f.bad || n <= 0 {
		f.bad = true
		return 0
	}
	f.rest = f.rest[n:]
	return value
}

// take reads n bytes.
func (f *fields) take(n int64) []byte {
	if f.bad || n < 0 || n > int64(len(f.rest)) {
		f.bad = true
		return nil
	}
	taken := f.rest[:n:n]
	f.rest = f.rest[n:]
	return taken
}

// bytes reads a length and that many bytes. The length -1 means nil.
func (f *fields) bytes() []byte {
	n := f.number()
	if n == -1 {
		return nil
	}
	return f.take(n)
}
