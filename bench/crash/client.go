package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc/bench/harness"
)

const (
	clients  = 8
	maxBatch = 50
	// retryPause is how long a client waits after a failure.
	retryPause = 5 * time.Millisecond
)

// load is a set of clients that send as fast as they are answered, within a budget of events, and retry every failure.
type load struct {
	ledger *ledger
	server *harness.Server
	// fresh is the number of new events that the clients may still send; closed ends them.
	mu     sync.Mutex
	wake   *sync.Cond
	fresh  int
	closed bool

	acked   atomic.Int64
	trigger atomic.Pointer[trigger]

	statuses map[int]int
	// broken counts requests without an answer, unreached the ones without a connection.
	broken, unreached int
	problems          []string
	wg                sync.WaitGroup
}

// trigger kills the server from within the client whose answer made the number of acknowledged events reach a mark.
type trigger struct {
	at   int64
	once sync.Once
	fire func()
	done chan struct{}
}

func newLoad(ledger *ledger, server *harness.Server) *load {
	l := &load{ledger: ledger, server: server, statuses: map[int]int{}}
	l.wake = sync.NewCond(&l.mu)
	return l
}

// start starts the clients; they end after finish or with the context.
func (l *load) start(ctx context.Context, seed uint64) {
	for n := range clients {
		l.wg.Go(func() { l.client(ctx, rand.New(rand.NewPCG(seed, uint64(n)))) })
	}
}

// allow adds new events to the budget.
func (l *load) allow(events int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh += events
	l.wake.Broadcast()
}

// finish lets the clients end once everything they hold is acknowledged or given up.
func (l *load) finish(ctx context.Context, limit time.Duration) error {
	l.mu.Lock()
	l.closed = true
	l.wake.Broadcast()
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(ended)
	}()
	return harness.Poll(ctx, "the clients' last answers", limit, 10*time.Millisecond, func(context.Context) (bool, string) {
		select {
		case <-ended:
			return true, ""
		default:
			return false, "still retrying"
		}
	})
}

// spend takes up to want events from the budget and waits while it is empty. It returns zero at the end.
func (l *load) spend(want int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.fresh == 0 && !l.closed {
		l.wake.Wait()
	}
	got := min(want, l.fresh)
	l.fresh -= got
	return got
}

// client sends one request after another.
func (l *load) client(ctx context.Context, random *rand.Rand) {
	agent := harness.UserAgents()[random.IntN(len(harness.UserAgents()))]
	single := harness.NewConn(l.server.Address, "/api/v1/events", l.server.Keys["production"].Secret, agent)
	batch := harness.NewConn(l.server.Address, "/api/v1/batch", l.server.Keys["production"].Secret, agent)
	defer single.Close()
	defer batch.Close()
	var body []byte
	for ctx.Err() == nil {
		size := 1
		if random.IntN(2) == 0 {
			size = 2 + random.IntN(maxBatch-1)
		}
		if size = l.spend(size); size == 0 {
			return
		}
		numbers := l.ledger.take(size, time.Now())
		if random.IntN(6) == 0 {
			numbers = l.ledger.again(numbers, 1+random.IntN(4), random)
		}
		conn := batch
		if len(numbers) == 1 {
			conn = single
		}
		body = l.ledger.body(body[:0], numbers)
		l.deliver(ctx, conn, body, numbers, random)
	}
}

// deliver sends a request until it is acknowledged. A client with a broken connection gives up one time in three, like
// a closed page.
func (l *load) deliver(ctx context.Context, conn *harness.Conn, body []byte, numbers []int, random *rand.Rand) {
	for ctx.Err() == nil {
		reply, err := conn.Post(body)
		if !errors.Is(err, harness.ErrNotSent) {
			l.ledger.sent(numbers)
		}
		if l.judge(reply, err, len(numbers)) {
			l.ledger.ack(numbers)
			l.celebrate(int64(len(numbers)))
			return
		}
		if err != nil && !errors.Is(err, harness.ErrNotSent) && random.IntN(3) == 0 {
			return
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// celebrate counts acknowledged events and fires the trigger that they reach.
func (l *load) celebrate(events int64) {
	total := l.acked.Add(events)
	if armed := l.trigger.Load(); armed != nil && total >= armed.at {
		armed.once.Do(func() {
			armed.fire()
			close(armed.done)
		})
	}
}

// judge reports whether an answer acknowledges the whole request. An answer that is neither an acknowledgement nor a
// request to retry is a problem.
func (l *load) judge(reply harness.Reply, err error, size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case errors.Is(err, harness.ErrNotSent):
		l.unreached++
		return false
	case err != nil:
		l.broken++
		return false
	}
	l.statuses[reply.Status]++
	switch reply.Status {
	case http.StatusAccepted:
		var answer struct {
			Accepted int               `json:"accepted"`
			Rejected []json.RawMessage `json:"rejected"`
		}
		if err := json.Unmarshal(reply.Body, &answer); err != nil || answer.Accepted != size || len(answer.Rejected) > 0 {
			l.complain(fmt.Sprintf("a request of %d events was answered 202 %.300s", size, reply.Body))
			return false
		}
		return true
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if reply.RetryAfter == "" {
			l.complain(fmt.Sprintf("status %d without Retry-After: %.200s", reply.Status, reply.Body))
		}
	default:
		l.complain(fmt.Sprintf("status %d: %.300s", reply.Status, reply.Body))
	}
	return false
}

// complain records the first problems.
func (l *load) complain(problem string) {
	const kept = 20
	if len(l.problems) < kept {
		l.problems = append(l.problems, problem)
	}
}
