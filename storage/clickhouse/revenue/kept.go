package revenue

import (
	"context"
	"slices"
	"sync"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/go-faster/city"

	"svc/domain"
	"svc/domain/person"
	"svc/domain/revenue"
	"svc/storage/clickhouse"
)

const (
	// chunkItems is the usual chunk of a store.
	chunkItems = 20_000
	// chunkBlocks and chunkSubjects limit the lists in one query.
	chunkBlocks, chunkSubjects = 1_000, 5_000
	// blockBytes is the approximate memory of a block's number.
	blockBytes = 40
	// itemBytes is the approximate memory of an item while the first ledger is computed.
	itemBytes = 200
)

// kept is a cached ledger, with the part of the store that it covers.
type kept struct {
	users int // guarded by the store's mutex

	mu     sync.Mutex // guards the following fields
	key    ledgerKey
	book   *revenue.LedgerBook
	ledger *revenue.Ledger
	// blocks has the blocks with items in the book. spans is the state of the store at that time.
	blocks map[uint64]bool
	spans  map[uint64]span
	erased int
	// load is the progress of the first read.
	load loading
	// words has one copy of each text that many items share.
	words map[string]string
}

// span summarizes the blocks of some hours. It changes if any of them comes or goes.
type span struct{ items, sum uint64 }

// loading is the progress of the first read.
type loading struct {
	begun, ended  bool
	kind, subject string // the last subject in the book
	items, all    uint64
}

func newKept(key ledgerKey) *kept {
	k := &kept{key: key}
	k.reset()
	return k
}

// reset drops all items.
func (k *kept) reset() {
	k.book, k.ledger, k.spans, k.load = revenue.NewLedgerBook(k.key.currency), nil, nil, loading{}
	k.blocks, k.words = map[uint64]bool{}, map[string]string{}
}

// bytes returns the approximate memory use.
func (k *kept) bytes() int {
	if k.ledger == nil {
		return len(k.blocks)*blockBytes + int(k.load.items)*itemBytes
	}
	return len(k.blocks)*blockBytes + k.ledger.Bytes()
}

// follow updates a ledger to the current state of the store. If the first read takes longer than the caller's time, it
// returns domain.CodeUnavailable, even if the caller only waited for the read of another caller.
func (db *Store) follow(ctx context.Context, k *kept, erased *person.ErasedVisitors) (*revenue.Ledger, error) {
	ledger, err := db.bring(ctx, k, erased)
	if !k.load.ended && domain.CodeOf(err) == domain.CodeQueryTimeout {
		return nil, domain.Errorf(domain.CodeUnavailable, "The billing items are being read for the first time since the start: %d of about %d. Ask again.", k.load.items, k.load.all)
	}
	return ledger, err
}

// bring reads the items that came since; the first time it reads all items.
func (db *Store) bring(ctx context.Context, k *kept, erased *person.ErasedVisitors) (*revenue.Ledger, error) {
	count := erased.Count(k.key.environment)
	spans, err := db.spans(ctx, k.key.environment)
	if err != nil {
		return nil, err
	}
	if len(spans) == 0 && len(k.blocks) > 0 { // the environment was emptied
		k.reset()
	}
	if !k.load.ended {
		if err := db.first(ctx, k, spans, erased); err != nil {
			return nil, err
		}
	}
	if k.ledger != nil && k.erased == count && k.same(spans) {
		return k.ledger, nil
	}
	if err := db.newBlocks(ctx, k, spans, erased); err != nil {
		return nil, err
	}
	if k.erased != count {
		if err := db.newErasures(ctx, k, erased); err != nil {
			return nil, err
		}
		k.erased = count
	}
	k.spans, k.ledger = spans, k.book.Ledger()
	return k.ledger, nil
}

// same reports whether the store has exactly the blocks that are in the book.
func (k *kept) same(spans map[uint64]span) bool {
	return len(k.changed(spans)) == 0
}

// changed returns the spans that differ from the last state.
func (k *kept) changed(spans map[uint64]span) (numbers []uint64) {
	for number, now := range spans {
		if k.spans[number] != now {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// first reads all items. It continues after the last item of an earlier call.
func (db *Store) first(ctx context.Context, k *kept, spans map[uint64]span, erased *person.ErasedVisitors) error {
	if !k.load.begun {
		blocks, err := db.blocks(ctx, k.key.environment, spanNumbers(spans))
		if err != nil {
			return err
		}
		for _, block := range blocks {
			k.blocks[block] = true
		}
		k.spans, k.erased, k.load.begun = spans, erased.Count(k.key.environment), true
	}
	k.load.all = 0
	for _, s := range spans {
		k.load.all += s.items
	}
	args := clickhouse.Args{"environment": k.key.environment, "kind": k.load.kind, "subject": k.load.subject}
	if err := db.items(ctx, k, "billing.List", args, erased); err != nil {
		return err
	}
	k.load.ended = true
	return nil
}

func spanNumbers(spans map[uint64]span) []uint64 {
	numbers := make([]uint64, 0, len(spans))
	for number := range spans {
		numbers = append(numbers, number)
	}
	return numbers
}

// newBlocks applies the items that came since, with all other items of the same subscriptions and payments.
func (db *Store) newBlocks(ctx context.Context, k *kept, spans map[uint64]span, erased *person.ErasedVisitors) error {
	changed := k.changed(spans)
	if len(changed) == 0 {
		return nil
	}
	blocks, err := db.blocks(ctx, k.key.environment, changed)
	if err != nil {
		return err
	}
	blocks = slices.DeleteFunc(blocks, func(block uint64) bool { return k.blocks[block] })
	for chunk := range slices.Chunk(blocks, chunkBlocks) {
		if err := db.items(ctx, k, "billing.Changed", clickhouse.Args{"environment": k.key.environment, "blocks": chunk}, erased); err != nil {
			return err
		}
		for _, block := range chunk {
			k.blocks[block] = true
		}
	}
	return nil
}

// newErasures reads the subscriptions of erased customers again.
func (db *Store) newErasures(ctx context.Context, k *kept, erased *person.ErasedVisitors) error {
	ids := k.book.Subscribed(func(customer string) bool {
		return !erased.ErasedAt(k.key.environment, city.CH64([]byte(customer))).IsZero()
	})
	for chunk := range slices.Chunk(ids, chunkSubjects) {
		if err := db.items(ctx, k, "billing.Subscriptions", clickhouse.Args{"environment": k.key.environment, "subjects": chunk}, erased); err != nil {
			return err
		}
	}
	return nil
}

// items applies the items that a query returns by subject. It applies the items of one subject together.
func (db *Store) items(ctx context.Context, k *kept, query string, args clickhouse.Args, erased *person.ErasedVisitors) error {
	chunk := make([]revenue.BillingRow, 0, db.chunk)
	take := func() {
		if len(chunk) == 0 {
			return
		}
		k.book.Replace(chunk)
		last := &chunk[len(chunk)-1]
		k.load.kind, k.load.subject = string(last.Kind), last.Subject
		k.load.items += uint64(len(chunk))
		chunk = chunk[:0]
	}
	err := db.conn.Read(ctx, "reading billing items", db.queries[query], args, func(rows driver.Rows) (bool, error) {
		row, err := k.scan(rows)
		if err != nil {
			return false, err
		}
		if len(chunk) >= db.chunk {
			if last := &chunk[len(chunk)-1]; last.Kind != row.Kind || last.Subject != row.Subject {
				take()
			}
		}
		hideCustomer(&row, erased)
		chunk = append(chunk, row)
		return true, nil
	})
	if err != nil {
		return err // the chunk may lack items of its last subject
	}
	take()
	return nil
}

// scan reads one row.
func (k *kept) scan(rows driver.Rows) (revenue.BillingRow, error) {
	row := revenue.BillingRow{Environment: k.key.environment}
	var times, cents []uint64
	err := rows.Scan(
		(*string)(&row.Kind), &row.Subject, &row.ID, &row.Ts, &row.ReceivedAt, &row.Seq, &row.Customer, &row.Plan, (*string)(&row.Status),
		&row.Currency, &row.Cents, &times, &cents, &row.TrialEndMs, &row.EndMs, &row.Target, &row.Rate,
	)
	for n := range times {
		row.Changes = append(row.Changes, revenue.BillingChange{AtMs: int64(times[n]), Cents: int64(cents[n])})
	}
	row.Kind, row.Status = revenue.BillingKind(k.word(string(row.Kind))), revenue.SubscriptionStatus(k.word(string(row.Status)))
	row.Plan, row.Currency, row.Target = k.word(row.Plan), k.word(row.Currency), k.word(row.Target)
	return row, err
}

// maxWords limits the number of shared texts.
const maxWords = 10_000

func (k *kept) word(text string) string {
	if known, is := k.words[text]; is {
		return known
	}
	if len(k.words) < maxWords {
		k.words[text] = text
	}
	return text
}

// spans returns the spans of an environment, which change if items were stored since.
func (db *Store) spans(ctx context.Context, environment uint64) (map[uint64]span, error) {
	spans := map[uint64]span{}
	args := clickhouse.Args{"environment": environment}
	err := db.conn.Read(ctx, "looking for billing items", db.queries["billing.Spans"], args, func(rows driver.Rows) (bool, error) {
		var number uint64
		var s span
		err := rows.Scan(&number, &s.items, &s.sum)
		spans[number] = s
		return true, err
	})
	return spans, err
}

// blocks returns the numbers of the blocks of some spans.
func (db *Store) blocks(ctx context.Context, environment uint64, spans []uint64) (numbers []uint64, err error) {
	args := clickhouse.Args{"environment": environment, "spans": spans}
	err = db.conn.Read(ctx, "looking for billing items", db.queries["billing.Blocks"], args, func(rows driver.Rows) (bool, error) {
		var number uint64
		err := rows.Scan(&number)
		numbers = append(numbers, number)
		return true, err
	})
	return numbers, err
}
