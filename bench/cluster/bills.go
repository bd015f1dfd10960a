package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"svc/bench/subscriptions"
)

// The client of this file sends a billing system's items through any node: late, in no order and repeated. Another
// client meanwhile reads the revenue from any node, so that each node's ledger follows the blocks while nodes die and
// partitions move. At rest, the stored items equal the sent ones. Every node answers the figures and movements that
// plain loops compute from the stored rows.

const (
	// billEnvironment is an environment in which nothing else is sent.
	billEnvironment = "staging"
	// billPause is the time between two requests with items, revenuePause the time between two reads. billsAtOnce
	// limits the items of a request.
	billPause, revenuePause = 50 * time.Millisecond, 150 * time.Millisecond
	billsAtOnce             = 10
)

// bills is the history that is sent.
type bills struct {
	*subscriptions.History

	mu    sync.Mutex
	fates []subscriptions.Fate
	// asked counts the revenue reads that were answered meanwhile, moved the compared movements.
	asked, moved int
}

// take returns the numbers of count new items.
func (b *bills) take(count int) (numbers []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range count {
		if len(b.fates) < subscriptions.Spread {
			numbers = append(numbers, len(b.fates))
			b.fates = append(b.fates, subscriptions.Unsent)
		}
	}
	return numbers
}

// note raises the fate of items.
func (b *bills) note(numbers []int, to subscriptions.Fate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range numbers {
		b.fates[n] = max(b.fates[n], to)
	}
}

// startBills sends the first items, which determine the reporting currency, and begins to send the others.
func (l *load) startBills(ctx context.Context, seed uint64, random *rand.Rand) error {
	l.bills = &bills{History: subscriptions.NewHistory(seed)}
	own, other := rand.New(rand.NewPCG(random.Uint64(), 8)), rand.New(rand.NewPCG(random.Uint64(), 9))
	if err := l.bill(ctx, l.bills.take(2), own); err != nil {
		return err
	}
	l.wg.Go(func() {
		for ctx.Err() == nil {
			numbers := l.bills.take(1 + own.IntN(billsAtOnce))
			if own.IntN(4) == 0 { // an old item again
				numbers = append(numbers, own.IntN(numbers[0]))
			}
			if err := l.bill(ctx, numbers, own); err != nil && ctx.Err() == nil {
				l.problem("%v", err)
				return
			}
			time.Sleep(billPause)
		}
	})
	l.wg.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(revenuePause) {
			at := l.any(other)
			status, _ := l.call(ctx, at, http.MethodGet, "/apps/acme/web/revenue/overview?env="+billEnvironment+"&range=12m", at.Token, nil)
			if status == http.StatusOK {
				l.bills.mu.Lock()
				l.bills.asked++
				l.bills.mu.Unlock()
			}
		}
	})
	return nil
}

// bill sends items through any node until they are acknowledged.
func (l *load) bill(ctx context.Context, numbers []int, random *rand.Rand) error {
	items := make([]subscriptions.Item, len(numbers))
	for at, n := range numbers {
		items[at], _ = l.bills.Item(n)
	}
	body, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("encoding billing items: %w", err)
	}
	for ctx.Err() == nil {
		l.bills.note(numbers, subscriptions.Unknown)
		at := l.any(random)
		status, answer := l.call(ctx, at, http.MethodPost, "/revenue", at.Keys[billEnvironment].Secret, body)
		if status == http.StatusAccepted {
			var said struct {
				Accepted int               `json:"accepted"`
				Rejected []json.RawMessage `json:"rejected"`
			}
			if err := json.Unmarshal(answer, &said); err != nil || said.Accepted != len(numbers) || len(said.Rejected) > 0 {
				return fmt.Errorf("%d billing items were answered %.300s", len(numbers), answer)
			}
			l.bills.note(numbers, subscriptions.Acknowledged)
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

// checkBills compares the stored items with the sent ones, and the revenue of every node with the stored items.
func (l *load) checkBills(ctx context.Context) {
	b := l.bills
	violate := func(kind, format string, args ...any) { l.problem("%s: %s", kind, fmt.Sprintf(format, args...)) }
	rows, err := b.Settled(ctx, l.nodes.store, b.fates)
	if err != nil {
		l.problem("%v", err)
		return
	}
	b.CompareRows(b.fates, rows, violate)
	for _, n := range l.nodes.all {
		moved, err := b.CompareRevenue(ctx, n.Server, billEnvironment, rows, "the revenue through "+n.name, violate)
		if err != nil {
			l.problem("the revenue through %s: %v", n.name, err)
		}
		b.moved += moved
	}
	if b.moved == 0 || b.asked == 0 {
		l.problem("%d revenues were answered meanwhile, and %d movements compared", b.asked, b.moved)
	}
}
