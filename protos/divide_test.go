package protos

import (
	"bytes"
	"strings"
	"testing"
)

// TestDivide splits records between their items. No item may be lost or changed.
func TestDivide(t *testing.T) {
	var record []byte
	var err error
	for _, size := range []int{10, 300, 290, 5, 2000, 1, 400, 400, 400} {
		if record, err = AppendRecord(record, &Event{Id: strings.Repeat("x", size)}); err != nil {
			t.Fatal(err)
		}
		if record, err = AppendPoint(record, &MetricPoint{Name: strings.Repeat("y", size/2)}); err != nil {
			t.Fatal(err)
		}
	}
	const limit = 1000
	parts := Divide(record, limit)
	if !bytes.Equal(bytes.Join(parts, nil), record) || len(parts) < len(record)/limit {
		t.Fatalf("%d parts are not the record", len(parts))
	}
	for n, part := range parts {
		var decoded Record
		if err := decoded.UnmarshalVTUnsafe(part); err != nil {
			t.Fatal(err)
		}
		if items := len(decoded.Events) + len(decoded.Points); len(part) > limit && items != 1 {
			t.Errorf("part %d has %d bytes and %d items", n, len(part), items)
		}
	}
	if broken := []byte{0xff, 0xff}; len(Divide(broken, 1)) != 1 {
		t.Error("what is no record was divided")
	}
}
