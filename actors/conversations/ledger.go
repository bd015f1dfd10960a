package conversations

import (
	"context"
	"strconv"
	"time"

	"svc/actors/grain"
	"svc/domain"
)

// The ledger actor.
//
//	identity   the organization's slug
//	rank       2
//	owns       the head of the organization's ledger, so that every entry follows the previous one, and
//	           the position in each partition of the log of state up to which entries of changes are sealed
//	persists   entries, each once, in their own table; entity source, one for each partition
//	woken by   calls only
//	limits     none of its own; entries come in batches
//	stops      after five minutes without a message
//
// A change leaves its entry in the partition in which it was saved. The owner of that partition passes the entries on
// in order, again if it received no answer, and the ledger gives them their places.
const kindLedger = "ledger"

// The kinds of the entities that a ledger writes: entries by their sequences, sources by their partitions.
const (
	kindEntry  = "entry"
	kindSource = "source"
)

type ledger struct {
	org  string
	head domain.LedgerHead
	// next holds, by partition, the offset after the last sealed entry.
	next map[string]int64
}

var ledgerKind = grain.NewKind[*ledger](kindLedger, 2, 5*time.Minute)

type (
	sealEntries struct {
		// Left is ordered by the offsets of each partition.
		Left []domain.LeftEntry `json:"left"`
		// Unknown says that the ledger has no entry with an id of Left.
		Unknown bool `json:"unknown"`
	}
	sealedEntries struct {
		// Doubtful holds entries before the last sealed one of their partition. They are already sealed, unless the log
		// has begun again.
		Doubtful []domain.LeftEntry `json:"doubtful"`
	}
)

// The methods of the ledger actor.
var (
	ledgerAppend = grain.On(ledgerKind, "append", (*ledger).onAppend)
	ledgerSeal   = grain.On(ledgerKind, "seal", (*ledger).onSeal)
)

// Restore reads the last entry, which is the only one that the store returns, and the sources.
func (l *ledger) Restore(entities []domain.Entity) error {
	l.head, l.next = domain.LedgerHead{}, map[string]int64{}
	for _, entity := range entities {
		if entity.Kind == kindSource {
			next, err := grain.Decode[int64](entity)
			if err != nil {
				return err
			}
			l.next[entity.ID] = next
			continue
		}
		entry, err := grain.Decode[domain.LedgerEntry](entity)
		if err != nil {
			return err
		}
		if entry.Sequence > l.head.Sequence {
			l.head = entry.Head()
		}
	}
	return nil
}

// seal gives an entry the next place.
func (l *ledger) seal(now time.Time, entry domain.LedgerEntry) (domain.LedgerEntry, grain.Write) {
	entry.Org = l.org
	if entry.At.IsZero() {
		entry.At = now
	}
	entry = entry.Seal(l.head)
	l.head = entry.Head()
	return entry, grain.Put(kindEntry, strconv.FormatUint(entry.Sequence, 10), entry)
}

func (l *ledger) onAppend(now time.Time, entry domain.LedgerEntry) (grain.Outcome[domain.LedgerEntry], error) {
	entry, write := l.seal(now, entry)
	return grain.Answer(entry, write), nil
}

// onSeal seals entries that changes left.
func (l *ledger) onSeal(now time.Time, m sealEntries) (grain.Outcome[sealedEntries], error) {
	var answer sealedEntries
	var writes []grain.Write
	sources := map[string]int64{}
	for _, left := range m.Left {
		source := strconv.Itoa(left.Partition)
		if left.Offset < l.next[source] && !m.Unknown {
			answer.Doubtful = append(answer.Doubtful, left)
			continue
		}
		_, write := l.seal(now, left.Entry)
		writes = append(writes, write)
		l.next[source] = left.Offset + 1
		sources[source] = left.Offset + 1
	}
	for source, next := range sources {
		writes = append(writes, grain.Put(kindSource, source, next))
	}
	return grain.Answer(answer, writes...), nil
}

// Ledgers is the client of the ledger actors.
type Ledgers struct {
	Actors grain.Caller
	// Known returns which of some entry ids an organization's ledger has.
	Known func(ctx context.Context, org string, ids []string) (map[string]bool, error)
}

// Record appends an entry to the ledger of its organization; it is durable when Record
// returns nil.
func (l *Ledgers) Record(ctx context.Context, entry domain.LedgerEntry) error {
	_, err := ledgerAppend.Ask(ctx, l.Actors, entry.Org, entry)
	return err
}

// Seal gives the entries of changes their places in the ledger of an organization. The entries of one partition are in
// the order of their offsets. No entry may be skipped until Seal has returned nil for it. Entries that have a place
// retain it.
func (l *Ledgers) Seal(ctx context.Context, org string, left []domain.LeftEntry) error {
	message := sealEntries{Left: left}
	sealed, err := ledgerSeal.Ask(ctx, l.Actors, org, message)
	if err != nil || len(sealed.Doubtful) == 0 {
		return err
	}
	ids := make([]string, 0, len(sealed.Doubtful))
	for i := range sealed.Doubtful {
		ids = append(ids, sealed.Doubtful[i].Entry.ID)
	}
	known, err := l.Known(ctx, org, ids)
	if err != nil {
		return err
	}
	message.Left, message.Unknown = nil, true
	for _, one := range sealed.Doubtful {
		if !known[one.Entry.ID] {
			message.Left = append(message.Left, one)
		}
	}
	if len(message.Left) > 0 {
		_, err = ledgerSeal.Ask(ctx, l.Actors, org, message)
	}
	return err
}
