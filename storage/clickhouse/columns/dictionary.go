package columns

import (
	"math"

	"github.com/ClickHouse/ch-go/proto"
)

// Parts of the Native format of a LowCardinality column.
const (
	dictionaryVersion = 1
	// dictionaryFlags mean that the block contains the dictionary.
	dictionaryFlags = 1<<9 | 1<<10
)

// Dictionary is a LowCardinality(String) column under construction. It refers to the strings until the next reset. The
// zero value is ready for use.
type Dictionary struct {
	index   map[string]uint32
	values  proto.ColStr
	keys    []uint32
	last    string
	lastKey uint32
}

// Append adds a row. Empty strings and repetitions of the previous row need no look-up.
func (d *Dictionary) Append(s string) {
	if s == "" {
		d.keys = append(d.keys, 0)
		return
	}
	if s != d.last {
		d.last, d.lastKey = s, d.key(s)
	}
	d.keys = append(d.keys, d.lastKey)
}

// key returns the number of a string. The empty string has the number 0.
func (d *Dictionary) key(s string) uint32 {
	if key, known := d.index[s]; known {
		return key
	}
	if d.index == nil {
		d.index = map[string]uint32{}
	}
	if d.values.Rows() == 0 {
		d.values.Append("")
	}
	key := uint32(d.values.Rows())
	d.values.Append(s)
	d.index[s] = key
	return key
}

func (d *Dictionary) reset() {
	clear(d.index)
	d.values.Reset()
	d.keys = d.keys[:0]
	d.last, d.lastKey = "", 0
}

// EncodeColumn writes the column in the Native format of revision 0.
func (d *Dictionary) EncodeColumn(b *proto.Buffer) {
	if d.values.Rows() == 0 {
		d.values.Append("")
	}
	size := d.values.Rows()
	width := proto.KeyUInt32
	switch {
	case size <= math.MaxUint8:
		width = proto.KeyUInt8
	case size <= math.MaxUint16:
		width = proto.KeyUInt16
	}
	b.PutInt64(dictionaryVersion)
	b.PutInt64(dictionaryFlags | int64(width))
	b.PutInt64(int64(size))
	d.values.EncodeColumn(b)
	b.PutInt64(int64(len(d.keys)))
	switch width {
	case proto.KeyUInt8:
		for _, key := range d.keys {
			b.Buf = append(b.Buf, byte(key))
		}
	case proto.KeyUInt16:
		for _, key := range d.keys {
			b.Buf = append(b.Buf, byte(key), byte(key>>8))
		}
	default:
		for _, key := range d.keys {
			b.PutUInt32(key)
		}
	}
}

// Row returns the string of a row.
func (d *Dictionary) Row(i int) string {
	if d.keys[i] == 0 {
		return ""
	}
	return d.values.Row(int(d.keys[i]))
}
