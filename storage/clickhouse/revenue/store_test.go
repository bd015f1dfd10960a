package revenue_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-faster/city"

	"svc/domain"
	"svc/domain/person"
	domainrevenue "svc/domain/revenue"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/clickhousetest"
	"svc/storage/clickhouse/revenue"
)

func TestMain(m *testing.M) { os.Exit(clickhousetest.Main(m)) }

const environment = 7

func day(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }

// item returns a random billing item that arrives as the n-th one: of a subscription, a payment, a refund or a rate.
// Its subject may already have items.
func item(random *rand.Rand, n int) domainrevenue.BillingRow {
	row := domainrevenue.BillingRow{
		Environment: environment, ID: fmt.Sprint("item-", n), Ts: day(random.IntN(300)).Add(time.Duration(n) * time.Second), ReceivedAt: day(300).Add(time.Duration(n) * time.Second),
		Currency: []string{"USD", "EUR"}[random.IntN(2)], Cents: int64(random.IntN(50)) * 100, Customer: fmt.Sprint("customer-", random.IntN(12)),
	}
	switch kind := random.IntN(10); {
	case kind < 6:
		row.Kind, row.Subject, row.Plan = domainrevenue.BillingSubscription, fmt.Sprint("sub_", random.IntN(30)), "pro"
		row.Status = []domainrevenue.SubscriptionStatus{domainrevenue.SubscriptionActive, domainrevenue.SubscriptionActive, domainrevenue.SubscriptionCanceled}[random.IntN(3)]
	case kind < 8:
		row.Kind, row.Subject = domainrevenue.BillingPayment, fmt.Sprint("pay_", random.IntN(60))
	case kind < 9:
		row.Kind, row.Subject = domainrevenue.BillingRefund, fmt.Sprint("re_", random.IntN(20))
	default:
		row.Kind, row.Subject, row.Currency, row.Target, row.Customer, row.Cents = domainrevenue.BillingRate, "EUR", "", "USD", "", 0
		row.Rate = domainrevenue.RateUnit + int64(random.IntN(100))*domainrevenue.RateUnit/100
	}
	return row
}

// shown returns the text of a ledger for the year.
func shown(t *testing.T, store *revenue.Store) string {
	t.Helper()
	ledger, err := store.RevenueLedger(clickhousetest.Deadline(t), environment, "USD")
	if err != nil {
		t.Error(err)
		return ""
	}
	return said(ledger)
}

// said returns the same text for a given ledger.
func said(ledger *domainrevenue.Ledger) string {
	window := domain.Window{From: day(0), To: day(365), Interval: domain.Month, Location: time.UTC}
	movements, _ := ledger.Movements(window, day(365), "", nil, 10_000)
	return fmt.Sprintf("%v %+v %+v", ledger.Any, ledger.Overview(window, day(365)), movements)
}

// TestALedgerFollowsTheStore stores random blocks, lets the engine merge them, and erases customers. It compares a
// ledger that followed all of this with one that is computed from the stored items.
func TestALedgerFollowsTheStore(t *testing.T) {
	conn := clickhousetest.Open(t)
	blocks, err := block.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(21, 4))
	var erasures []person.Erasure
	erased := person.NewErasedVisitors(nil)
	open := func() *revenue.Store {
		store, err := revenue.New(conn, func() *person.ErasedVisitors { return erased })
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	following, items := open(), 0
	number := uint64(1) << 60
	for round := range 40 {
		b := blocks.NewBlock()
		for range 1 + random.IntN(12) {
			row := item(random, items)
			b.AppendBilling(&row)
			items++
		}
		number += random.Uint64N(1 << 45) // some blocks are hours apart
		token := fmt.Sprint("round ", round)
		for range 1 + random.IntN(2) { // an insert may be repeated
			if err := blocks.Insert(clickhousetest.Deadline(t), token, number, b); err != nil {
				t.Fatal(err)
			}
		}
		switch random.IntN(6) {
		case 0:
			clickhousetest.Exec(t, conn, "OPTIMIZE TABLE billing FINAL")
		case 1:
			gone := city.CH64([]byte(fmt.Sprint("customer-", random.IntN(12))))
			erasures = append(erasures, person.Erasure{EnvironmentNumber: environment, Visitors: []uint64{gone}, At: day(300).Add(time.Duration(items) * time.Second), Life: random.Uint64()})
			erased = person.NewErasedVisitors(erasures)
		case 2:
			continue // the next read finds several blocks
		}
		var wg sync.WaitGroup
		var got [3]string
		for n := range got {
			wg.Go(func() { got[n] = shown(t, following) })
		}
		wg.Wait()
		want := shown(t, open())
		for n := range got {
			if got[n] != want {
				t.Fatalf("after round %d reader %d has\n%s, want\n%s", round, n, got[n], want)
			}
		}
	}
	clickhousetest.Exec(t, conn, "TRUNCATE TABLE billing")
	if got, want := shown(t, following), shown(t, open()); got != want {
		t.Errorf("of an emptied environment\n%s, want\n%s", got, want)
	}
}
