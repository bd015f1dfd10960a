package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"svc/bench/harness"
	"svc/bench/subscriptions"
)

// billing sends a billing system's items, into an environment in which nothing else is counted, through all kills:
// late, in no order and repeated. It reads the revenue meanwhile, so that a ledger follows the blocks. Afterwards the
// rows are compared with the sent items, and the revenue with the rows.
type billing struct {
	server *harness.Server
	store  string
	*subscriptions.History
	random *rand.Rand
	// tickets allow a number of items each.
	tickets chan int
	senders sync.WaitGroup

	mu       sync.Mutex // guards the rest
	fates    []subscriptions.Fate
	acked    int
	problems []string
	// asked counts the answers with a revenue while the load ran.
	asked int
}

const (
	billingEnvironment = "development"
	billingBatch       = 20
	// readPause is the time between two reads of the revenue.
	readPause = 200 * time.Millisecond
	// billingShare is the number of events of the load per item.
	billingShare = 20
)

func newBilling(server *harness.Server, store string, seed uint64) *billing {
	return &billing{
		server: server, store: store, History: subscriptions.NewHistory(seed),
		random: rand.New(rand.NewPCG(seed, 1<<33)), tickets: make(chan int, 1000),
	}
}

// prepare sends the first items and waits for their answer: the reporting currency must not depend on the load.
func (b *billing) prepare(ctx context.Context) error {
	conn := b.conn()
	defer conn.Close()
	if !b.deliver(ctx, conn, b.take(2), false) {
		return fmt.Errorf("sending the first billing items: %v", b.problems)
	}
	return nil
}

func (b *billing) conn() *harness.Conn {
	return harness.NewConn(b.server.Address, "/api/v1/revenue", b.server.Keys[billingEnvironment].Secret, harness.UserAgents()[0])
}

// take makes new items.
func (b *billing) take(count int) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	numbers := make([]int, 0, count)
	for range count {
		if len(b.fates) < subscriptions.Spread {
			numbers = append(numbers, len(b.fates))
			b.fates = append(b.fates, subscriptions.Unsent)
		}
	}
	return numbers
}

// start starts the sender, which ends after finish or with the context, and the reader, which ends with the sender.
func (b *billing) start(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	b.senders.Go(func() {
		defer cancel()
		conn := b.conn()
		defer conn.Close()
		for allowed := range b.tickets {
			for left := allowed; left > 0 && ctx.Err() == nil; {
				numbers := b.take(min(left, 1+b.random.IntN(billingBatch)))
				left -= max(len(numbers), 1)
				b.deliver(ctx, conn, numbers, true)
				if known := b.known(); b.random.IntN(4) == 0 {
					b.deliver(ctx, conn, []int{b.random.IntN(known), b.random.IntN(known)}, true)
				}
			}
		}
	})
	b.senders.Go(func() { b.read(ctx) })
}

func (b *billing) known() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.fates)
}

// finish makes the sender end once the allowed items are sent.
func (b *billing) finish(ctx context.Context) error {
	close(b.tickets)
	ended := make(chan struct{})
	go func() {
		b.senders.Wait()
		close(ended)
	}()
	return harness.Poll(ctx, "the last billing items", ackTime, 10*time.Millisecond, func(context.Context) (bool, string) {
		select {
		case <-ended:
			return true, ""
		default:
			return false, fmt.Sprintf("%d tickets left", len(b.tickets))
		}
	})
}

// deliver sends items until they are acknowledged or, if it may, gives up after a broken connection.
func (b *billing) deliver(ctx context.Context, conn *harness.Conn, numbers []int, mayGiveUp bool) bool {
	items := make([]subscriptions.Item, len(numbers))
	for at, n := range numbers {
		items[at], _ = b.Item(n)
	}
	body, err := json.Marshal(items)
	if err != nil {
		panic(err) // texts and numbers never fail
	}
	for ctx.Err() == nil && len(numbers) > 0 {
		reply, err := conn.Post(body)
		if !errors.Is(err, harness.ErrNotSent) {
			b.note(numbers, subscriptions.Unknown)
		}
		if err == nil && b.judge(reply, len(numbers)) {
			b.note(numbers, subscriptions.Acknowledged)
			return true
		}
		if err != nil && !errors.Is(err, harness.ErrNotSent) && mayGiveUp && b.random.IntN(3) == 0 {
			return false
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	return false
}

// note raises the fate of items.
func (b *billing) note(numbers []int, to subscriptions.Fate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range numbers {
		if b.fates[n] < to {
			b.fates[n] = to
			if to == subscriptions.Acknowledged {
				b.acked++
			}
		}
	}
}

// judge reports whether an answer acknowledges all items.
func (b *billing) judge(reply harness.Reply, size int) bool {
	switch reply.Status {
	case http.StatusAccepted:
		var answer struct {
			Accepted int               `json:"accepted"`
			Rejected []json.RawMessage `json:"rejected"`
		}
		if err := json.Unmarshal(reply.Body, &answer); err == nil && answer.Accepted == size && len(answer.Rejected) == 0 {
			return true
		}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return false
	}
	b.complain(fmt.Sprintf("%d billing items were answered %d %.300s", size, reply.Status, reply.Body))
	return false
}

func (b *billing) complain(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) < 20 {
		b.problems = append(b.problems, problem)
	}
}

// read reads the revenue repeatedly. There is no answer while the server is down, nor before the revenue is computed
// after a start.
func (b *billing) read(ctx context.Context) {
	for ctx.Err() == nil {
		err := b.server.Read(ctx, "/revenue/overview", url.Values{"env": {billingEnvironment}, "range": {"12m"}}, nil)
		switch {
		case err == nil:
			b.mu.Lock()
			b.asked++
			b.mu.Unlock()
		case strings.Contains(err.Error(), "status ") && !strings.Contains(err.Error(), "status 503"):
			b.complain(err.Error())
		}
		select {
		case <-time.After(readPause):
		case <-ctx.Done():
		}
	}
}

// check compares the stored items with the sent ones. It compares the revenue with the stored items twice: on the
// running server, and after a restart.
func (b *billing) check(ctx context.Context, found *findings) error {
	for _, problem := range b.problems {
		found.violate(answered, "%s", problem)
	}
	rows, err := b.Settled(ctx, b.store, b.fates)
	if err != nil {
		return err
	}
	b.CompareRows(b.fates, rows, found.violate)
	if err := b.compareRevenue(ctx, rows, found, "the revenue that followed"); err != nil {
		return err
	}
	b.server.Kill()
	if _, err := b.server.Open(ctx); err != nil {
		return fmt.Errorf("restarting: %w", err)
	}
	return b.compareRevenue(ctx, rows, found, "the revenue after a start")
}

func (b *billing) compareRevenue(ctx context.Context, rows []subscriptions.Row, found *findings, which string) error {
	moves, err := b.CompareRevenue(ctx, b.server, billingEnvironment, rows, which, found.violate)
	found.moves += moves
	return err
}
