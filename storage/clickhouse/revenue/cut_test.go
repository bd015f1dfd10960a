package revenue_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-faster/city"

	"svc/domain"
	"svc/domain/person"
	domainrevenue "svc/domain/revenue"
	"svc/storage/clickhouse"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/revenue"
)

// cutter forwards queries to the engine. It returns the answers in small blocks until it cuts the connection.
type cutter struct {
	engine http.RoundTripper
	// left is the number of answer bytes that still pass before a connection is cut.
	left atomic.Int64
	// hold stops an answer with items once, instead of cutting it. It signals that the start of the answer has passed,
	// and passes the rest after resume is closed.
	hold atomic.Pointer[hold]
	// resumed counts the queries that continued after a position.
	resumed atomic.Int64
}

// hold is the point at which an answer stops.
type hold struct {
	after         int64
	begun, resume chan struct{}
	once          sync.Once
}

func newHold(after int64) *hold {
	return &hold{after: after, begun: make(chan struct{}), resume: make(chan struct{})}
}

// unlimited lets everything pass.
const unlimited = 1 << 60

func newCutter(t *testing.T, database string) (*cutter, *clickhouse.Conn) {
	t.Helper()
	c := &cutter{engine: &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
		return clickhousetest.Engine().DialContext(ctx, addr)
	}}}
	c.left.Store(unlimited)
	server := httptest.NewServer(c)
	conn, err := clickhouse.Connect(clickhouse.Config{DSN: server.URL, Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return c, conn
}

func (c *cutter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	asked := r.Clone(r.Context())
	asked.RequestURI, asked.URL.Scheme, asked.URL.Host = "", "http", "engine"
	asked.URL.RawQuery += "&max_block_size=16"
	asked.Body, asked.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
	answer, err := c.engine.RoundTrip(asked)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if subject := asked.URL.Query().Get("param_subject"); subject != "" && subject != "''" {
		c.resumed.Add(1)
	}
	holding := c.hold.Load()
	if !strings.Contains(string(body), "change_ms") {
		holding = nil
	}
	c.pass(r.Context(), w, answer.Body, holding)
}

// pass copies an answer as far as allowed.
func (c *cutter) pass(ctx context.Context, w http.ResponseWriter, from io.Reader, holding *hold) {
	buffer, passed := make([]byte, 512), int64(0)
	for {
		n, err := from.Read(buffer)
		allowed := c.left.Add(-int64(n)) >= 0
		if allowed {
			_, _ = w.Write(buffer[:n]) // a client that has left reads no more
			_ = http.NewResponseController(w).Flush()
		}
		passed += int64(n)
		switch {
		case !allowed:
			panic(http.ErrAbortHandler)
		case err != nil:
			return
		case holding != nil && passed >= holding.after:
			holding.once.Do(func() { close(holding.begun) })
			select {
			case <-holding.resume:
			case <-ctx.Done():
				panic(http.ErrAbortHandler)
			}
		}
	}
}

// filled is an environment with random items.
type filled struct {
	conn     *clickhouse.Conn
	blocks   *block.Store
	random   *rand.Rand
	items    int
	number   uint64
	erasures []person.Erasure
	erased   atomic.Pointer[person.ErasedVisitors]
}

func newFilled(t *testing.T, seed uint64) *filled {
	t.Helper()
	f := &filled{conn: clickhousetest.Open(t), random: rand.New(rand.NewPCG(seed, 9)), number: 1 << 60}
	f.blocks = blocksOf(t, f.conn)
	f.erased.Store(person.NewErasedVisitors(nil))
	for range 8 {
		f.store(t, 100, f.blocks)
	}
	return f
}

func blocksOf(t *testing.T, conn *clickhouse.Conn) *block.Store {
	t.Helper()
	blocks, err := block.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// store stores a block of items, for subjects that already have items and for new ones.
func (f *filled) store(t *testing.T, items int, into *block.Store) {
	t.Helper()
	b := into.NewBlock()
	for range items {
		row := item(f.random, f.items)
		b.AppendBilling(&row)
		f.items++
	}
	f.number += f.random.Uint64N(1 << 45)
	if err := into.Insert(clickhousetest.Deadline(t), fmt.Sprint(f.number), f.number, b); err != nil {
		t.Fatal(err)
	}
}

// erase erases a customer.
func (f *filled) erase() {
	gone := city.CH64([]byte(fmt.Sprint("customer-", f.random.IntN(12))))
	f.erasures = append(f.erasures, person.Erasure{EnvironmentNumber: environment, Visitors: []uint64{gone}, At: day(300).Add(time.Duration(f.items) * time.Second), Life: f.random.Uint64()})
	f.erased.Store(person.NewErasedVisitors(f.erasures))
}

// open returns a store with empty caches.
func (f *filled) open(t *testing.T, conn *clickhouse.Conn) *revenue.Store {
	t.Helper()
	store, err := revenue.New(conn, f.erased.Load)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// whole returns the text of a ledger that is made from all items at once.
func (f *filled) whole(t *testing.T) string {
	t.Helper()
	return shown(t, f.open(t, f.conn))
}

// TestAFirstReadingIsCutOff cuts connections to the store at arbitrary points while several callers request a ledger.
// In between it stores, merges and erases. An answer is the whole ledger or an error, and the first read continues
// after the cut.
func TestAFirstReadingIsCutOff(t *testing.T) {
	var failed, resumed int64
	for seed := range uint64(3) {
		f := newFilled(t, seed)
		cut, conn := newCutter(t, f.conn.Database())
		store := f.open(t, conn)
		store.Chunk(20)
		ask := func(readers int) {
			want, got, errs := f.whole(t), make([]string, readers), make([]error, readers)
			var wg sync.WaitGroup
			for n := range readers {
				wg.Go(func() {
					var ledger *domainrevenue.Ledger
					if ledger, errs[n] = store.RevenueLedger(clickhousetest.Deadline(t), environment, "USD"); errs[n] == nil {
						got[n] = said(ledger)
					}
				})
			}
			wg.Wait()
			for n, err := range errs {
				switch {
				case err != nil && (cut.left.Load() >= 0 || domain.CodeOf(err) != domain.CodeUnavailable):
					t.Fatalf("seed %d, reader %d: %v", seed, n, err)
				case err != nil:
					failed++
				case got[n] != want:
					t.Fatalf("seed %d: reader %d has\n%s, want\n%s", seed, n, got[n], want)
				}
			}
		}
		for range 12 {
			cut.left.Store(f.random.Int64N(40_000))
			ask(1 + f.random.IntN(3))
			switch f.random.IntN(5) {
			case 0:
				f.store(t, 1+f.random.IntN(30), f.blocks)
			case 1:
				f.erase()
			case 2:
				clickhousetest.Exec(t, f.conn, "OPTIMIZE TABLE billing FINAL")
			}
		}
		cut.left.Store(unlimited)
		ask(4)
		resumed += cut.resumed.Load()
	}
	if failed < 10 || resumed < 5 {
		t.Errorf("%d answers were cut off and %d questions went on after a place: this proves nothing", failed, resumed)
	}
}

// TestAFirstReadingOutlivesItsCaller lets one of two callers leave in the middle of the first read. A third caller
// comes after another block.
func TestAFirstReadingOutlivesItsCaller(t *testing.T) {
	f := newFilled(t, 1)
	cut, conn := newCutter(t, f.conn.Database())
	store, middle := f.open(t, conn), newHold(20_000)
	store.Chunk(20)
	before := f.whole(t)
	cut.hold.Store(middle)
	var wg sync.WaitGroup
	ask := func(ctx context.Context, took *string) {
		wg.Go(func() {
			ledger, err := store.RevenueLedger(ctx, environment, "USD")
			if *took = fmt.Sprint(err); err == nil {
				*took = said(ledger)
			}
		})
	}
	leaving, leave := context.WithCancel(clickhousetest.Deadline(t))
	var left, stayed, late string
	ask(leaving, &left)
	ask(clickhousetest.Deadline(t), &stayed)
	<-middle.begun
	leave()
	cut.hold.Store(nil)
	f.store(t, 50, blocksOf(t, conn)) // through the same connection, so that its later reads see the change
	ask(clickhousetest.Deadline(t), &late)
	close(middle.resume)
	wg.Wait()
	after := f.whole(t)
	if !strings.Contains(left, context.Canceled.Error()) {
		t.Errorf("whoever left got %s", left)
	}
	if stayed != before && stayed != after {
		t.Errorf("whoever stayed got\n%s, want\n%s", stayed, before)
	}
	if late != after {
		t.Errorf("whoever came later got\n%s, want\n%s", late, after)
	}
}

// TestAFirstReadingTakesLongerThanARead ends the time of reads in their middle. Each reports its progress, and the next
// continues there.
func TestAFirstReadingTakesLongerThanARead(t *testing.T) {
	f := newFilled(t, 2)
	cut, conn := newCutter(t, f.conn.Database())
	store := f.open(t, conn)
	store.Chunk(20)
	read, known, ended := store.Reading(environment, "USD"), 0, timed{}
	for grown := 0; grown < 3; { // the part of an answer that is applied at that moment varies, and may be empty
		middle := newHold(12_000)
		cut.hold.Store(middle)
		ended = timed{clickhousetest.Deadline(t), make(chan struct{})}
		go func() {
			<-middle.begun
			close(ended.done)
		}()
		_, err := read(ended)
		var items, all int
		if _, scanned := fmt.Sscanf(fmt.Sprint(err), "unavailable: The billing items are being read for the first time since the start: %d of about %d. Ask again.", &items, &all); scanned != nil ||
			domain.CodeOf(err) != domain.CodeUnavailable || items < known || all != f.items {
			t.Fatalf("after %d of %d items: %v", known, f.items, err)
		}
		if items > known {
			grown++
			f.store(t, 5, f.blocks)
		}
		known = items
	}
	if _, err := read(ended); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("who has waited for another reading until there was no time left gets %v", err)
	}
	cut.hold.Store(nil)
	ledger, err := read(clickhousetest.Deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := said(ledger), f.whole(t); got != want {
		t.Errorf("read in parts\n%s, want\n%s", got, want)
	}
}

// timed is a context with a deadline that passes when its channel is closed.
type timed struct {
	context.Context //nolint:containedctx // it is one
	done            chan struct{}
}

func (c timed) Done() <-chan struct{} { return c.done }

func (c timed) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
