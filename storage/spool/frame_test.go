package spool

import (
	"bytes"
	"testing"

	"svc/domain/event"
)

// FuzzCutFrame checks that only complete frames with a correct checksum are read from any file, and that frames before
// noise are read back.
func FuzzCutFrame(f *testing.F) {
	f.Add([]byte("payload"), []byte{9, 0, 0, 0, 1, 0, 0, 0, 7, 7, 7, 7, 'h'}, uint16(3))
	f.Add([]byte{}, []byte{}, uint16(0))
	f.Fuzz(func(t *testing.T, payload, noise []byte, partition uint16) {
		file := append(appendFrame(nil, event.Part{Partition: int(partition), Payload: payload}), noise...)
		part, rest, ok := cutFrame(file)
		if !ok || part.Partition != int(partition) || !bytes.Equal(part.Payload, payload) || !bytes.Equal(rest, noise) {
			t.Fatalf("read %+v, %v", part, ok)
		}
		for {
			_, next, ok := cutFrame(rest)
			if !ok {
				return
			}
			if len(next) >= len(rest) {
				t.Fatal("reading does not go on")
			}
			rest = next
		}
	})
}
