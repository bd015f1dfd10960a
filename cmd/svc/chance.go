package main

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/oklog/ulid/v2"

	"svc/actors/grain"
	"svc/actors/pipeline"
)

// newRandom returns the process's source of ids and secrets.
func newRandom() grain.Random {
	return grain.Random{
		ID: func(prefix string) string { return prefix + ulid.Make().String() },
		Bytes: func(n int) []byte {
			random := make([]byte, n)
			_, _ = rand.Read(random) // never fails: the runtime ends the process instead
			return random
		},
	}
}

// newBlockID returns a number for a block.
func (n *node) newBlockID(now time.Time) uint64 {
	return pipeline.NewBlockNumber(now, binary.LittleEndian.Uint32(n.random.Bytes(4)))
}
