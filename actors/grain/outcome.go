package grain

import "svc"

// Outcome is the result of handling one message.
type Outcome[R any] struct {
	// Answer is sent as JSON once the writes are durable.
	Answer R
	Effects
}

// Effects are what an outcome does besides answering.
type Effects struct {
	Writes  []Write
	Wakeups []svc.Wakeup
	// Happened and About replace the kind and the subject of the ledger entry that the call brought,
	// where they are not empty. The subject is otherwise the one that the call named, or else the
	// first thing written.
	Happened svc.LedgerKind
	About    string
	// Entries are further lines for ledgers, of what no caller asked for. They are saved with the writes.
	Entries []svc.LedgerEntry
	// Repeated says that what the call asks for was done before, under the same id, and that what it
	// leaves was left then.
	Repeated bool
	// After runs once the writes are durable, before the answer is sent, with their version.
	After func(svc.Version)
}

// Answer returns the outcome of an answer and what it writes.
func Answer[R any](answer R, writes ...Write) Outcome[R] {
	return Outcome[R]{Answer: answer, Effects: Effects{Writes: writes}}
}

// Again returns the outcome of a call whose thing is there already, under the id that the call names.
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
