package conversations

import (
	"context"
	"strconv"
	"time"

	"svc"
	"svc/actors/grain"
)

// The ledger actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       the head of the organization's ledger, so that every entry follows the
//	           one before
//	persists   entries, each once, in their own table
//	woken by   calls only
//	limits     none of its own; every entry is one small insert
//	stops      after five minutes without a message
const kindLedger = "ledger"

// kindEntry is the kind of the entities that a ledger writes; their ids are sequences.
const kindEntry = "entry"

type ledger struct {
	org  string
	head svc.LedgerHead
}

var ledgerKind = grain.NewKind[*ledger](kindLedger, 2, 5*time.Minute)

// The methods of the ledger actor.
var (
	ledgerAppend = grain.On(ledgerKind, "append", (*ledger).onAppend)
)

// Restore takes the last entry; the store hands over no other.
func (l *ledger) Restore(entities []svc.Entity) error {
	l.head = svc.LedgerHead{}
	for _, entity := range entities {
		entry, err := grain.Decode[svc.LedgerEntry](entity)
		if err != nil {
			return err
		}
		if entry.Sequence > l.head.Sequence {
			l.head = entry.Head()
		}
	}
	return nil
}

func (l *ledger) onAppend(now time.Time, entry svc.LedgerEntry) (grain.Outcome[svc.LedgerEntry], error) {
	entry.Org = l.org
	if entry.At.IsZero() {
		entry.At = now
	}
	entry = entry.Seal(l.head)
	l.head = entry.Head()
	return grain.Answer(entry, grain.Put(kindEntry, strconv.FormatUint(entry.Sequence, 10), entry)), nil
}

// Ledgers is the client of the ledger actors.
type Ledgers struct {
	Actors grain.Caller
}

// Record appends an entry to the ledger of its organization; it is durable when Record
// returns nil.
func (l *Ledgers) Record(ctx context.Context, entry svc.LedgerEntry) error {
	_, err := ledgerAppend.Ask(ctx, l.Actors, entry.Org, entry)
	return err
}
