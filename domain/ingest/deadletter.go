package ingest

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ErrRefused is the error of a store that refuses rows for good, however often they are sent.
var ErrRefused = errors.New("the store refuses the rows")

// LetterKind is the kind of a dead letter.
type LetterKind string

// Kinds of dead letters: single items of a record, or a whole unreadable record.
const (
	LetterEvent   LetterKind = "event"
	LetterBilling LetterKind = "billing"
	LetterError   LetterKind = "error"
	LetterPoint   LetterKind = "point"
	LetterRecord  LetterKind = "record"
)

// LetterTime is the retention of dead letters.
const LetterTime = 30 * 24 * time.Hour

// DeadLetter is an item that was accepted but could not be folded or stored. It is retained as it was accepted, so that
// it can be sent through the log again.
type DeadLetter struct {
	// Block is the number of the item's block. Partition and Offset identify its log record, and Item is its place
	// among the items of its kind in the record.
	Block     uint64
	Partition int
	Offset    int64
	Item      int
	Kind      LetterKind
	// Environment is the number of the sending environment, 0 if it cannot be read.
	Environment uint64
	At          time.Time
	// Reason is the refusal of the store, or the error of the fold.
	Reason string
	// Payload is the value of a log record that holds only this item.
	Payload []byte
}

// ID identifies the letter. The same item of the same block always has the same id.
func (l *DeadLetter) ID() string {
	return strings.Join([]string{strconv.FormatUint(l.Block, 36), strconv.Itoa(l.Partition), strconv.FormatInt(l.Offset, 10), string(l.Kind), strconv.Itoa(l.Item)}, "-")
}

// LetterRow is a dead letter in a list.
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

// LetterCount is the number of waiting dead letters of one kind and environment.
type LetterCount struct {
	App         string     `json:"app,omitempty"`
	Env         string     `json:"env,omitempty"`
	Environment uint64     `json:"environment,string"`
	Kind        LetterKind `json:"kind"`
	Letters     uint64     `json:"letters"`
	Oldest      time.Time  `json:"oldest"`
	Newest      time.Time  `json:"newest"`
}

// LetterEnd is the end of a dead letter that no longer waits.
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
