package state

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"
)

// batchAt returns records as a batch that a broker stored at an offset.
func batchAt(offset byte, what kind, reign Reign, records ...Record) []byte {
	batch := encode(what, reign, records, time.UnixMilli(1))
	stamp(batch, identity{1, 2, 3})
	batch[7] = offset
	return batch
}

// TestACursorReadsBatches reads a log with all kinds of records, from several positions and cut off within a batch.
func TestACursorReadsBatches(t *testing.T) {
	t.Parallel()
	log := [][]byte{
		batchAt(0, barrier, 7, Record{barrierKey(7), nil}),
		batchAt(1, owned, 7, Record{"a", []byte("1")}, Record{"b", nil}),
		batchAt(3, owned, 6, Record{"a", []byte("void")}),
		batchAt(5, free, 0, Record{"f", []byte{}}), // offset 4 was compacted away
		batchAt(6, barrier, 8, Record{barrierKey(8), []byte("name")}),
		batchAt(7, owned, 7, Record{"a", []byte("late")}),
	}
	all := []Entry{
		{Record: Record{"a", []byte("1")}, Offset: 1},
		{Record: Record{"b", nil}, Offset: 2},
		{Record: Record{"a", []byte("void")}, Offset: 3, Void: true},
		{Record: Record{"f", []byte{}}, Offset: 5, Free: true},
		{Record: Record{"a", []byte("late")}, Offset: 7, Void: true},
	}
	whole := bytes.Join(log, nil)
	for name, test := range map[string]struct {
		raw  []byte
		from Position
		want []Entry
		at   Position
	}{
		"from the start":             {whole, Position{}, all, Position{8, 8}},
		"from within a batch":        {whole, Position{2, 7}, all[1:], Position{8, 8}},
		"under another reign":        {bytes.Join(log[2:4], nil), Position{3, 6}, []Entry{{Record: Record{"a", []byte("void")}, Offset: 3}, all[3]}, Position{6, 6}},
		"cut off in the last batch":  {whole[:len(whole)-1], Position{}, all[:4], Position{7, 8}},
		"cut off in the last header": {whole[:len(whole)-len(log[5])+5], Position{}, all[:4], Position{7, 8}},
		"nothing":                    {nil, Position{4, 7}, nil, Position{4, 7}},
	} {
		c := cursor{at: test.from}
		got, err := c.read(test.raw)
		if err != nil || !reflect.DeepEqual(got, test.want) || c.at != test.at {
			t.Errorf("%s: %v up to %v, %v; want %v up to %v", name, got, c.at, err, test.want, test.at)
		}
	}
}

// FuzzCursor reads damaged batches with a valid checksum: the cursor reads nothing beyond their ends.
func FuzzCursor(f *testing.F) {
	f.Add(batchAt(1, owned, 7, Record{"a", []byte("1")}, Record{"b", nil}))
	f.Add(batchAt(1, barrier, 7, Record{barrierKey(7), nil}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) >= batchHead {
			raw[attributesAt+1] &^= compressed
			stamp(raw, identity{1, 1, 1})
		}
		c := cursor{}
		if _, err := c.read(raw); err != nil && !errors.Is(err, errCorrupt) {
			t.Error(err)
		}
	})
}
