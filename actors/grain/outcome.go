package grain

import "svc/domain"

// Outcome is the result of handling one message.
type Outcome[R any] struct {
	// Answer is sent as JSON once the writes are durable.
	Answer R
	Effects
}

// Effects are the effects of an outcome in addition to its answer.
type Effects struct {
	Writes  []Write
	Wakeups []domain.Wakeup
	// Happened and About replace the kind and the subject of the call's ledger entry, unless they are empty. Without
	// About, the subject is the one that the call named, or else the first entity written.
	Happened domain.LedgerKind
	About    string
	// Entries are further ledger entries, for changes that no caller asked for. They are saved with the writes.
	Entries []domain.LedgerEntry
	// Repeated says that an earlier call with the same id did the same and saved its trail.
	Repeated bool
	// After runs once the writes are durable and before the answer is sent. It receives the version of the writes.
	After func(domain.Version)
}

// Answer returns an outcome with an answer and writes.
func Answer[R any](answer R, writes ...Write) Outcome[R] {
	return Outcome[R]{Answer: answer, Effects: Effects{Writes: writes}}
}

// Again returns the outcome of a repeated call: an earlier one created the thing under the id that the call names.
func Again[R any](answer R) Outcome[R] {
	return Outcome[R]{Answer: answer, Effects: Effects{Repeated: true}}
}

// Write stores one entity of the actor; a nil value deletes it.
type Write struct {
	Kind, ID string
	Value    any
}

// Put stores an entity.
func Put(kind, id string, value any) Write { return Write{Kind: kind, ID: id, Value: value} }

// Delete removes an entity.
func Delete(kind, id string) Write { return Write{Kind: kind, ID: id} }
