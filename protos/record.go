package protos

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// Items returns how many items the bytes of a Record hold at most, without decoding them: all
// that stand before the first byte that is none of a Record.
func Items(record []byte) (items int) {
	for len(record) > 0 {
		_, _, n := protowire.ConsumeField(record)
		if n < 0 {
			break
		}
		record = record[n:]
		items++
	}
	return items
}
