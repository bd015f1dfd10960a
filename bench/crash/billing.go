package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc/bench/harness"
)

// billing sends what a billing system says, into an environment in which nothing else is counted, through all kills: late, in no order and
// repeated. It asks for the revenue meanwhile, so that a ledger follows the blocks. Afterwards the rows are held to what was sent,
// and the revenue to the rows.
type billing struct {
	server *harness.Server
	store  string
	prefix string
	// base is before all items; what they announce has come to pass as well.
	base   time.Time
	random *rand.Rand
	// tickets allow so many items each.
	tickets chan int
	senders sync.WaitGroup

	mu       sync.Mutex // guards the rest
	fates    []fate
	acked    int
	problems []string
	// asked counts the answers with a revenue while the load ran.
	asked int
}

const (
	billingEnvironment = "development"
	// billingSpread is a prime number of instants: the n-th item has one of its own, far from those of its neighbours.
	billingSpread = 100_003
	billingStep   = 280 * time.Second // about 324 days in all
	billingDays   = 380               // from base until now
	// subscriptions are in the hands of half as many customers.
	billingSubscriptions = 80
	billingBatch         = 20
	// readPause is the time between two questions for the revenue.
	readPause = 200 * time.Millisecond
	// billingShare is how many events of the load there are for one item.
	billingShare = 20
	// currencies: one that is reported, one with rates, one without.
	reported, rated, unrated = "USD", "EUR", "GBP"
)

func newBilling(server *harness.Server, store string, seed uint64) *billing {
	return &billing{
		server: server, store: store, prefix: "bill-" + strconv.FormatUint(seed, 36) + "-", base: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -billingDays),
		random: rand.New(rand.NewPCG(seed, 1<<33)), tickets: make(chan int, 1000),
	}
}

// billingItem is one item as it is sent.
type billingItem struct {
	Type           string            `json:"type"`
	ID             string            `json:"id,omitempty"`
	Ts             string            `json:"ts,omitempty"`
	SubscriptionID string            `json:"subscriptionId,omitempty"`
	CustomerID     string            `json:"customerId,omitempty"`
	Plan           string            `json:"plan,omitempty"`
	Status         string            `json:"status,omitempty"`
	Currency       string            `json:"currency"`
	AmountCents    int64             `json:"amountCents,omitempty"`
	Quantity       int64             `json:"quantity,omitempty"`
	Interval       string            `json:"interval,omitempty"`
	Discounts      []billingDiscount `json:"discounts,omitempty"`
	TrialEndsAt    string            `json:"trialEndsAt,omitempty"`
	EndsAt         string            `json:"endsAt,omitempty"`
	PaymentID      string            `json:"paymentId,omitempty"`
	RefundID       string            `json:"refundId,omitempty"`
	To             string            `json:"to,omitempty"`
	Rate           json.Number       `json:"rate,omitempty"`
	Day            string            `json:"day,omitempty"`
}

type billingDiscount struct {
	PercentOff int    `json:"percentOff"`
	EndsAt     string `json:"endsAt"`
}

// item returns the n-th item, always the same, and the row that it becomes. The first one names the reporting currency, the second one the rate
// before all others.
func (b *billing) item(n int) (item billingItem, row billingRow) {
	random := rand.New(rand.NewPCG(uint64(n), 77))
	at := b.base.Add(24*time.Hour + time.Duration(n*7919%billingSpread)*billingStep)
	id := b.prefix + strconv.Itoa(n)
	item = billingItem{ID: id, Ts: stamp(at), Currency: currencyOf(random.IntN(billingSubscriptions))}
	row = billingRow{ID: id, Subject: id, Ts: at.UnixMilli()}
	kind := random.IntN(100)
	switch n {
	case 0:
		item.Currency, kind = reported, 75
	case 1:
		kind = 99
	}
	switch {
	case kind < 70:
		b.subscription(random, at, &item, &row)
	case kind < 90:
		item.Type, item.PaymentID, item.AmountCents = "payment", id, 1+random.Int64N(100_000)
		row.Cents = item.AmountCents
	case kind < 95:
		item.Type, item.RefundID, item.AmountCents = "refund", id, 1+random.Int64N(5_000)
		row.Cents = item.AmountCents
	default:
		b.rate(n, &item, &row)
	}
	row.Kind, row.Currency = item.Type, item.Currency
	return item, row
}

// rate makes the only rate of a day.
func (b *billing) rate(n int, item *billingItem, row *billingRow) {
	day := b.base
	if n > 1 {
		day = b.base.AddDate(0, 0, 1+n%(billingDays-2))
	}
	rate := 10_000 + int64(day.YearDay())*13
	*item = billingItem{Type: "rate", Currency: rated, To: reported, Day: day.Format(time.DateOnly), Rate: json.Number(fmt.Sprintf("%d.%04d", rate/10_000, rate%10_000))}
	*row = billingRow{ID: reported + item.Day, Subject: rated, Ts: day.UnixMilli(), Target: reported, Rate: rate * 100_000_000}
}

// subscription makes a change of a subscription. What it announces has an instant of its own, too.
func (b *billing) subscription(random *rand.Rand, at time.Time, item *billingItem, row *billingRow) {
	number := random.IntN(billingSubscriptions)
	item.Type, item.SubscriptionID, item.CustomerID = "subscription", fmt.Sprint(b.prefix, "sub-", number), fmt.Sprint("payer-", number/2)
	item.Plan, item.Currency = []string{"Solo", "Team", "Whole"}[random.IntN(3)], currencyOf(number)
	item.AmountCents, item.Quantity, item.Interval = 24*(1+random.Int64N(500)), 1+random.Int64N(3), "month"
	row.Subject, row.Customer, row.Plan, row.Cents = item.SubscriptionID, item.CustomerID, item.Plan, item.AmountCents*item.Quantity
	if random.IntN(3) == 0 {
		item.Interval = "year"
		row.Cents /= 12
	}
	switch state := random.IntN(100); {
	case state < 60:
		item.Status = "active"
	case state < 67:
		item.Status = "past_due"
	case state < 79:
		item.Status = "trialing"
		ends := at.Add(7*24*time.Hour + time.Millisecond)
		item.TrialEndsAt, row.TrialEnd = stamp(ends), ends.UnixMilli()
	case state < 86:
		item.Status = "paused"
	default:
		item.Status = "canceled"
	}
	if random.IntN(8) == 0 {
		ends := at.Add(9*24*time.Hour + 2*time.Millisecond)
		item.EndsAt, row.Ended = stamp(ends), ends.UnixMilli()
	}
	if random.IntN(8) == 0 {
		ends := at.Add(5*24*time.Hour + 3*time.Millisecond)
		item.Discounts = []billingDiscount{{50, stamp(ends)}}
		row.ChangeMs, row.ChangeCents = []int64{ends.UnixMilli()}, []int64{row.Cents}
		row.Cents /= 2
	}
	row.Status = item.Status
}

func stamp(at time.Time) string { return at.Format(harness.TimeFormat) }

// currencyOf spreads currencies over subscriptions.
func currencyOf(number int) string {
	return []string{reported, reported, reported, rated, unrated, rated}[number%6]
}

// prepare sends the first items and waits for their answer: what the reporting currency is must not depend on the load.
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
		if len(b.fates) < billingSpread {
			numbers = append(numbers, len(b.fates))
			b.fates = append(b.fates, unsent)
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

// finish has the sender end once what it was allowed is sent.
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

// deliver sends items until they are acknowledged, or, where it may, gives up after a connection broke.
func (b *billing) deliver(ctx context.Context, conn *harness.Conn, numbers []int, mayGiveUp bool) bool {
	items := make([]billingItem, len(numbers))
	for at, n := range numbers {
		items[at], _ = b.item(n)
	}
	body, err := json.Marshal(items)
	if err != nil {
		panic(err) // texts and numbers never fail
	}
	for ctx.Err() == nil && len(numbers) > 0 {
		reply, err := conn.Post(body)
		if !errors.Is(err, harness.ErrNotSent) {
			b.note(numbers, unknown)
		}
		if err == nil && b.judge(reply, len(numbers)) {
			b.note(numbers, acknowledged)
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
func (b *billing) note(numbers []int, to fate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range numbers {
		if b.fates[n] < to {
			b.fates[n] = to
			if to == acknowledged {
				b.acked++
			}
		}
	}
}

// judge says whether an answer acknowledges all items.
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

// read asks for the revenue again and again. There is none while the server is away, and none before it is counted after a start.
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
