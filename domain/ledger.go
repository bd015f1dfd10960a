package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// LedgerKind is the kind of an entry, as <area>.<object>.<verb>.
type LedgerKind string

// LedgerEntry is one line of an organization's audit ledger. Entries are never changed or removed: each carries a hash
// over itself and the previous hash, so that any change is detected.
type LedgerEntry struct {
	// ID distinguishes the entries of one change from other entries, independent of their place. Entries of earlier
	// versions have no ID.
	ID string `json:"id,omitempty"`
	// Sequence counts the organization's entries from 1, without a gap.
	Sequence uint64     `json:"sequence"`
	At       time.Time  `json:"at"`
	Org      string     `json:"org"`
	App      string     `json:"app,omitempty"`
	Kind     LedgerKind `json:"kind"`
	// Actor is the person that did it, also if an assistant acted for them.
	Actor LedgerActor `json:"actor"`
	// Subject is the id of the changed object.
	Subject string `json:"subject,omitempty"`
	// Reason is a person's explanation.
	Reason    string `json:"reason,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	// Metadata is a JSON object with further details, or nil.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Previous string          `json:"previous"`
	Hash     string          `json:"hash,omitempty"`
}

// LeftEntry is an entry that a change wrote to the log of state, with its position there. It has no place in its ledger
// yet.
type LeftEntry struct {
	Partition int         `json:"partition"`
	Offset    int64       `json:"offset"`
	Entry     LedgerEntry `json:"entry"`
}

// LedgerActor is a person.
type LedgerActor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Seal returns the entry with its place after a head. The zero head is the beginning of a ledger.
func (e LedgerEntry) Seal(head LedgerHead) LedgerEntry {
	e.Sequence, e.Previous, e.At = head.Sequence+1, head.Hash, e.At.UTC().Truncate(time.Millisecond)
	e.Hash = e.digest()
	return e
}

// Head returns the head after which the next entry follows.
func (e *LedgerEntry) Head() LedgerHead { return LedgerHead{Sequence: e.Sequence, Hash: e.Hash} }

// LedgerHead is the last place of a ledger.
type LedgerHead struct {
	Sequence uint64 `json:"sequence"`
	Hash     string `json:"hash"`
}

// digest is SHA-256, in hex, over the entry as JSON without its hash.
func (e LedgerEntry) digest() string {
	e.Hash = ""
	encoded, err := json.Marshal(e)
	if err != nil {
		// Only invalid JSON in the metadata fails, and then nothing may match.
		encoded = fmt.Appendf(nil, "%d %v", e.Sequence, err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// Follows reports whether the entry follows a head unchanged.
func (e *LedgerEntry) Follows(head LedgerHead) bool {
	return e.Sequence == head.Sequence+1 && e.Previous == head.Hash && e.Hash == e.digest()
}

// LedgerCheck is the result of verifying a ledger.
type LedgerCheck struct {
	Head LedgerHead
	// BrokenAt is the sequence of the first entry that does not follow the previous one, zero if all do.
	BrokenAt uint64
}

// Add verifies the next entry of the ledger, in the order of the sequence.
func (c *LedgerCheck) Add(e *LedgerEntry) {
	if c.BrokenAt == 0 && !e.Follows(c.Head) {
		c.BrokenAt = c.Head.Sequence + 1
	}
	if c.BrokenAt == 0 {
		c.Head = e.Head()
	}
}
