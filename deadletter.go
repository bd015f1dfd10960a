package svc

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrRefused is why a store did not take rows, and will not however often they are sent.
var ErrRefused = errors.New("the store refuses the rows")

// LetterKind says what a dead letter is.
type LetterKind string

// Kinds of dead letters: single items of a record, or the whole of one that cannot be read.
const (
	LetterEvent   LetterKind = "event"
	LetterBilling LetterKind = "billing"
	LetterError   LetterKind = "error"
	LetterPoint   LetterKind = "point"
	LetterRecord  LetterKind = "record"
)

// LetterTime is how long dead letters are kept.
const LetterTime = 30 * 24 * time.Hour

// DeadLetter is an item that was accepted and could not be folded or stored. It is kept as it was
// accepted, so that it can be sent through the log again.
type DeadLetter struct {
	// Block is the number of the block that it was taken out of, Partition and Offset name its
	// record, and Item its place among the items of its kind in it.
	Block     uint64
	Partition int
	Offset    int64
	Item      int
	Kind      LetterKind
	// Environment is the number of the environment that sent it, 0 where that cannot be read.
	Environment uint64
	At          time.Time
	// Reason is the refusal of the store, or what went wrong in the fold.
	Reason string
	// Payload is the bytes of a record of the log that holds the item alone.
	Payload []byte
}

// ID names the letter. The same item of the same block has the same one.
func (l *DeadLetter) ID() string {
	return strings.Join([]string{strconv.FormatUint(l.Block, 36), strconv.Itoa(l.Partition), strconv.FormatInt(l.Offset, 10), string(l.Kind), strconv.Itoa(l.Item)}, "-")
}

// LetterRow is a dead letter as it is listed.
type LetterRow struct {
	ID          string     `json:"id"`
	App         string     `json:"app,omitempty"`
	Env         string     `json:"env,omitempty"`
	Environment uint64     `json:"environment,string"`
	Kind        LetterKind `json:"kind"`
	At          time.Time  `json:"at"`
	Reason      string     `json:"reason"`
	Bytes       uint64     `json:"bytes"`
}

// LetterCount is how many dead letters of one kind wait for one environment.
type LetterCount struct {
	App         string     `json:"app,omitempty"`
	Env         string     `json:"env,omitempty"`
	Environment uint64     `json:"environment,string"`
	Kind        LetterKind `json:"kind"`
	Letters     uint64     `json:"letters"`
	Oldest      time.Time  `json:"oldest"`
	Newest      time.Time  `json:"newest"`
}

// LetterEnd says what became of a dead letter that waits no more.
type LetterEnd string

// Ends of dead letters.
const (
	LetterReplayed LetterEnd = "replayed"
	LetterDropped  LetterEnd = "dropped"
)

// RefusedRow is a row of a block that the store refuses, by its place among the rows of its kind.
type RefusedRow struct {
	Kind   LetterKind
	Row    int
	Reason string
}
