package main

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/actors"
)

// newChance returns the process's source of ids and secrets.
func newChance() actors.Chance {
	return actors.Chance{
		ID: func(prefix string) string { return prefix + ulid.Make().String() },
		Bytes: func(n int) []byte {
			random := make([]byte, n)
			_, _ = rand.Read(random) // never fails: the runtime ends the process instead
			return random
		},
	}
}

// newBlockID returns a number for a block: the instant in milliseconds, then 22
// random bits, so that numbers of any two runs and nodes differ.
func (n *node) newBlockID(now time.Time) uint64 {
	return uint64(now.UnixMilli())<<22 | uint64(binary.LittleEndian.Uint32(n.chance.Bytes(4)))>>10
}
